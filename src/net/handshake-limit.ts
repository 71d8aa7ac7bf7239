/**
 * Limits what a server may send in its TLS handshake, and later beside the data. OpenSSL verifies each certificate of a
 * chain in the thread of the event loop, and Node has no limit for the chain: one of 50 certificates with slow keys takes
 * 200 ms. After the handshake a server may send session tickets without end: those that arrive at once hold the loop for
 * half a second. So octets are counted before TLS gets them.
 */
import type { Duplex } from 'node:stream';
import { streamOver } from '../lib/stream-over.ts';

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
  const stream = streamOver(socket, (chunk) => {
    received += chunk?.length ?? 0;
    const besideKib = (received - WIRE_PER_OCTET * (secure?.bytesRead ?? 0)) / 1024;
    if (secure === null && besideKib > MAX_HANDSHAKE_KIB)
      stream.destroy(new Error(`its handshake takes more than ${MAX_HANDSHAKE_KIB} KiB`));
    else if (besideKib > MAX_BESIDE_KIB)
      stream.destroy(new Error(`its TLS takes more than ${MAX_BESIDE_KIB} KiB beside the data`));
    else if (!stream.push(chunk)) socket.pause();
  });
  return {
    stream,
    opened(connection) {
      secure = connection;
    },
  };
}
