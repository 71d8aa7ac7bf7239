/**
 * Waits for what a client says first: with TLS, for the whole message with which its handshake begins (RFC 8446 §4.1.2). Only
 * the answer to that is costly, so that who begins handshakes in turns can know that a turn is not spent waiting.
 */
import type { Duplex } from 'node:stream';

/** The first octet of a connection that begins with TLS (RFC 8446 §5.1). */
export const TLS_HANDSHAKE = 0x16;

const RECORD_HEADER_BYTES = 5;
const MESSAGE_HEADER_BYTES = 4;
/** A usual one has 2 KiB at most. What is longer is left to TLS at once. */
const MAX_HELLO_BYTES = 16 * 1024;

/**
 * Calls back once, with the first octet, when the message has come, or anything else that is no beginning of TLS. The socket can
 * be read from its beginning then. One that ends or is destroyed before is destroyed.
 */
export function onHello(socket: Duplex, then: (first: number) => void): void {
  let held = Buffer.alloc(0);
  const left = () => socket.destroy();
  socket.on('readable', look);
  socket.once('end', left);

  function look(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    held = Buffer.concat([held, chunk]);
    const [first] = held;
    if (first === undefined || !isWhole(held)) return;
    socket.off('readable', look);
    socket.off('end', left);
    socket.unshift(held);
    then(first);
  }
}

/** The message may be divided among several records (RFC 8446 §5.1). */
function isWhole(held: Buffer): boolean {
  if (held.length >= MAX_HELLO_BYTES) return true;
  const parts: Buffer[] = [];
  for (let at = 0; at < held.length; ) {
    if (held[at] !== TLS_HANDSHAKE) return true;
    if (at + RECORD_HEADER_BYTES > held.length) return false;
    const start = at + RECORD_HEADER_BYTES;
    at = start + held.readUInt16BE(at + 3);
    parts.push(held.subarray(start, at));
  }
  const message = Buffer.concat(parts);
  return (
    message.length >= MESSAGE_HEADER_BYTES &&
    message.length >= MESSAGE_HEADER_BYTES + message.readUIntBE(1, 3)
  );
}
