/**
 * TLS of a server over a connection whose input is taken in turns. Any message of a client may be costly to answer: the first
 * one of a handshake, another one after it (a client that names another group, RSA in TLS 1.2), and later each change of keys.
 */
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { TLSSocket, type TLSSocketOptions } from 'node:tls';
import type { Clock } from './clock.ts';
import { streamOver } from './stream-over.ts';

/** The first octet of a connection that begins with TLS (RFC 8446 §5.1). */
export const TLS_HANDSHAKE = 0x16;

/**
 * How much TLS reads at once: as much as takes about this time, estimated from the piece before. A change of keys (26 octets) costs
 * 10 to 25 µs, and so does any other small record; 16 KiB of a usual connection take less than the limit.
 */
const MAX_PIECE_BYTES = 16 * 1024;
const MIN_PIECE_BYTES = 512;
const PIECE_MS = 1;

/**
 * Calls back once, with the first octet. The socket can be read from its beginning then. One that ends or is destroyed before is
 * destroyed.
 */
export function onFirstOctet(socket: Duplex, then: (first: number) => void): void {
  const left = () => socket.destroy();
  socket.on('readable', look);
  socket.once('end', left);

  function look(): void {
    const chunk: Buffer | null = socket.read();
    const first = chunk?.[0];
    if (chunk === null || first === undefined) return;
    socket.off('readable', look);
    socket.off('end', left);
    socket.unshift(chunk);
    then(first);
  }
}

/**
 * TLS over `plain`, for its server; it is destroyed with it, and at once if the client leaves before it is `secured`. `turn` runs
 * work now or later, in the order in which it was given.
 */
export function beginTls(
  plain: Socket,
  clock: Pick<Clock, 'monotonicMs'>,
  options: TLSSocketOptions & { highWaterMark?: number },
  turn: (work: () => void) => void,
  secured: (socket: TLSSocket) => void,
): TLSSocket {
  let pieceBytes = MAX_PIECE_BYTES;
  const stream = streamOver(plain, (received) => {
    let chunk = received;
    if (chunk !== null && chunk.length > pieceBytes) {
      plain.pause();
      plain.unshift(chunk.subarray(pieceBytes));
      chunk = chunk.subarray(0, pieceBytes);
    }
    let isTaken = false;
    turn(() => {
      isTaken = true;
      const beganMs = clock.monotonicMs();
      if (!stream.destroyed && !stream.push(chunk)) plain.pause();
      if (chunk === null) return;
      const octetsInTime = (chunk.length * PIECE_MS) / (clock.monotonicMs() - beganMs);
      pieceBytes = Math.floor(Math.min(Math.max(octetsInTime, MIN_PIECE_BYTES), MAX_PIECE_BYTES));
    });
    // It is resumed when the stream asks for more.
    if (!isTaken) plain.pause();
  });
  const socket = new TLSSocket(stream, { ...options, isServer: true });
  // The stream has none, since it has no handle.
  Object.defineProperty(socket, 'remoteAddress', { value: plain.remoteAddress });
  const left = () => socket.destroy();
  // After what came before the end, which may complete the handshake.
  socket.once('end', left);
  socket.once('close', () => plain.destroy());
  // A broken record: Node leaves a socket open that no tls.Server made. Its alert is written within this turn.
  socket.on('_tlsError', (error: Error) => void setImmediate(() => socket.destroy(error)));
  socket.once('secure', () => {
    socket.off('end', left);
    secured(socket);
  });
  return socket;
}
