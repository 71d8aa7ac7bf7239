/**
 * Waits for what a client says first: with TLS, for the whole message with which its handshake begins (RFC 8446 §4.1.2). Only
 * the answer to that is costly, so that who begins handshakes in turns can know that a turn is not spent waiting. Then makes the
 * handshake.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket, type TLSSocketOptions } from 'node:tls';

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
  const isWhole = createHelloReader();
  const left = () => socket.destroy();
  socket.on('readable', look);
  socket.once('end', left);

  function look(): void {
    const chunk: Buffer | null = socket.read();
    if (chunk === null) return;
    held = Buffer.concat([held, chunk]);
    const [first] = held;
    if (first === undefined || !isWhole(chunk)) return;
    socket.off('readable', look);
    socket.off('end', left);
    socket.unshift(held);
    then(first);
  }
}

/** TLS over `plain`, for its server; it is destroyed with it, and at once if the client leaves before it is `secured`. */
export function beginTls(
  plain: Socket,
  options: TLSSocketOptions,
  secured: (socket: TLSSocket) => void,
): TLSSocket {
  const socket = new TLSSocket(plain, { ...options, isServer: true });
  const left = () => socket.destroy();
  socket.once('end', left);
  // Where the client had left by now, this one ends, and TLS hears nothing of it.
  plain.once('end', left);
  socket.once('close', () => plain.destroy());
  socket.once('secure', () => {
    socket.off('end', left);
    plain.off('end', left);
    secured(socket);
  });
  return socket;
}

/**
 * Whether there is nothing more to wait for, with what came now. The message may be divided among several records (RFC 8446
 * §5.1). Each octet is looked at once, for each may come alone.
 */
function createHelloReader(): (chunk: Uint8Array) => boolean {
  let read = 0;
  /** Of the record: octets of its header that have come, and octets of its content that have not. */
  let header = 0;
  let content = 0;
  /** Of the message: octets that have come, and its length as far as that has come. */
  let message = 0;
  let length = 0;

  return (chunk) => {
    for (const octet of chunk) if (isLast(octet)) return true;
    return false;
  };

  function isLast(octet: number): boolean {
    read += 1;
    if (read >= MAX_HELLO_BYTES) return true;
    if (header < RECORD_HEADER_BYTES) {
      if (header === 0 && octet !== TLS_HANDSHAKE) return true;
      header += 1;
      if (header >= RECORD_HEADER_BYTES - 1) content = content * 256 + octet;
    } else {
      content -= 1;
      // Its first octet says what kind of message it is.
      if (message > 0 && message < MESSAGE_HEADER_BYTES) length = length * 256 + octet;
      message += 1;
    }
    if (header === RECORD_HEADER_BYTES && content === 0) header = 0;
    return message >= MESSAGE_HEADER_BYTES + length;
  }
}
