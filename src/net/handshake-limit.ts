/**
 * Limits what a server may send before its TLS handshake has ended. OpenSSL verifies each certificate of a chain in the
 * thread of the event loop, and Node has no limit for the chain: one of 50 certificates with slow keys takes 200 ms. So
 * octets are counted before TLS gets them. The stream below has no handle of its own, which costs 10 µs per round trip.
 */
import { Duplex } from 'node:stream';
import { readBeforeFailing } from '../lib/read-before-failing.ts';

/**
 * Usual chains have 3 to 6 KiB. A server that asks for a client's certificate also names whose it takes: 12 to 15 KiB where
 * these are all that its system trusts. Of certificates with the slowest keys, this holds two dozen (80 ms).
 */
const MAX_HANDSHAKE_KIB = 32;

export interface LimitedSocket {
  /** What TLS runs on instead of the socket; it ends with the error if the limit is passed. */
  stream: Duplex;
  /** The handshake has ended: nothing is counted any more. */
  lift(): void;
}

/** `socket`: connected, or still connecting. It belongs to the stream from now on. */
export function limitHandshake(socket: Duplex): LimitedSocket {
  let left = MAX_HANDSHAKE_KIB * 1024;
  const stream = new Duplex({
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
  socket.on('data', (chunk) => {
    left -= chunk.length;
    if (left < 0) stream.destroy(new Error(`its handshake takes more than ${MAX_HANDSHAKE_KIB} KiB`));
    else if (!stream.push(chunk)) socket.pause();
  });
  socket.on('end', () => void stream.push(null));
  socket.on('error', (error) => void stream.destroy(error));
  socket.on('close', () => void stream.destroy());
  return {
    stream,
    lift() {
      left = Number.POSITIVE_INFINITY;
    },
  };
}
