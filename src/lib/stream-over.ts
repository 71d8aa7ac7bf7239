/**
 * A stream over a socket, for TLS whose input is looked at, or waits, before TLS gets it. It has no handle of its own, which
 * costs 10 µs per round trip.
 */
import { Duplex } from 'node:stream';
import { readBeforeFailing } from './read-before-failing.ts';

/**
 * `socket`: connected, or still connecting. It belongs to the stream from now on. `take` gets what comes, and null at the end; it pushes
 * that to the stream, and pauses the socket where the stream has enough.
 */
export function streamOver(socket: Duplex, take: (chunk: Buffer | null) => void): Duplex {
  const stream = new Duplex({
    // While TLS does not read. Each piece that comes, also one of an octet, takes 400 octets of memory.
    readableHighWaterMark: 1024,
    read: () => void socket.resume(),
    write: (chunk, _encoding, done) => void socket.write(chunk, done),
    writev(chunks, done) {
      socket.cork();
      for (const [i, { chunk }] of chunks.entries()) {
        if (i === chunks.length - 1) socket.write(chunk, done);
        else socket.write(chunk);
      }
      socket.uncork();
    },
    final: (done) => void socket.end(done),
    destroy(error, done) {
      socket.destroy();
      done(error);
    },
  });
  readBeforeFailing(socket, () => {});
  socket.on('data', take);
  // What a paused socket passed on before may still wait.
  socket.on('end', () => take(null));
  socket.on('error', (error) => void stream.destroy(error));
  socket.on('close', () => void stream.destroy());
  return stream;
}
