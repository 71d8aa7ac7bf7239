/**
 * Limits what a server may send in its TLS handshake, and later beside the data. OpenSSL verifies each certificate of a
 * chain in the thread of the event loop, and Node has no limit for the chain: one of 50 certificates with slow keys takes
 * 200 ms. After the handshake a server may send session tickets without end: those that arrive at once hold the loop for
 * half a second. So octets are counted before TLS gets them. The stream below has no handle of its own, which costs 10 µs
 * per round trip.
 */
import { Duplex } from 'node:stream';
import { readBeforeFailing } from '../lib/read-before-failing.ts';

/**
 * Usual chains have 3 to 6 KiB. A server that asks for a client's certificate also names whose it takes: 12 to 15 KiB where
 * these are all that its system trusts. Of certificates with the slowest keys, this holds two dozen (80 ms).
 */
const MAX_HANDSHAKE_KIB = 32;
/**
 * The same for the whole connection, beside its data: also holds what TLS has not read yet. A record of one octet takes at
 * most 85.
 */
const MAX_BESIDE_KIB = 256;
const WIRE_PER_OCTET = 100;

interface LimitedSocket {
  /** What TLS runs on instead of the socket; it ends with the error if the limit is passed. */
  stream: Duplex;
  /** The handshake has ended; `secure` has the data. */
  opened(secure: { readonly bytesRead: number }): void;
}

/** `socket`: connected, or still connecting. It belongs to the stream from now on. */
export function limitHandshake(socket: Duplex): LimitedSocket {
  let received = 0;
  let secure: { readonly bytesRead: number } | null = null;
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
    received += chunk.length;
    const besideKib = (received - WIRE_PER_OCTET * (secure?.bytesRead ?? 0)) / 1024;
    if (secure === null && besideKib > MAX_HANDSHAKE_KIB)
      stream.destroy(new Error(`its handshake takes more than ${MAX_HANDSHAKE_KIB} KiB`));
    else if (besideKib > MAX_BESIDE_KIB)
      stream.destroy(new Error(`its TLS takes more than ${MAX_BESIDE_KIB} KiB beside the data`));
    else if (!stream.push(chunk)) socket.pause();
  });
  socket.on('end', () => void stream.push(null));
  socket.on('error', (error) => void stream.destroy(error));
  socket.on('close', () => void stream.destroy());
  return {
    stream,
    opened(connection) {
      secure = connection;
    },
  };
}
