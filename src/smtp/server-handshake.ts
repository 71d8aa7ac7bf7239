/**
 * The server's side of a TLS handshake over one socket, which begins with TLS or after STARTTLS. Takes a certificate; returns the
 * socket inside TLS, or null where the handshake failed or took too long. It tells who spoke no TLS from who only looked whether
 * the port is open.
 */
import type { Socket } from 'node:net';
import type { SecureContext, TLSSocket } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { beginTls } from '../lib/server-tls.ts';
import { formatReply, REPLIES } from './server-reply.ts';

const HANDSHAKE_MS = 30_000;
/** Who says nothing in this time waits for a greeting without TLS; who only looks whether the port is open is gone by then. */
const AWAITS_GREETING_MS = 5_000;
/** Who has said nothing by then is told why there is no greeting: before common clients give up waiting for one (30 s). */
const TELL_SILENT_MS = 20_000;
/** What OpenSSL calls a beginning that is no record of TLS. */
const NO_TLS = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
]);
/** What a connection reads ahead while its session waits. Each piece that comes, also one of an octet, takes 400 octets of memory. */
export const MAX_AHEAD_BYTES = 1024;

export interface HandshakeDeps {
  clock: Clock;
  log: Logger;
  /** Runs work in the turns of the peer's address. */
  turn(work: () => void): void;
  /** The same for handshakes: who is connected does not wait for those who want to be. */
  handshakeTurn(work: () => void): void;
}

/**
 * TLS over a paused socket, read in the turns of its peer; null if it fails, and the socket is destroyed then. `speaksNone`:
 * the peer began without.
 */
export function handshake(
  plain: Socket,
  secureContext: SecureContext,
  { clock, log, turn, handshakeTurn }: HandshakeDeps,
  speaksNone?: () => void,
): Promise<TLSSocket | null> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(HANDSHAKE_MS, () => plain.destroy());
    const silent = clock.setTimer(TELL_SILENT_MS, () => {
      if (plain.bytesRead > 0) return;
      plain.write(formatReply(REPLIES.notTls));
      plain.destroySoon();
    });
    const beganMs = clock.monotonicMs();
    let isDone = false;
    let isNone = false;
    plain.once('close', () => {
      timer.cancel();
      silent.cancel();
      const isSilent = plain.bytesRead === 0 && clock.monotonicMs() - beganMs >= AWAITS_GREETING_MS;
      if (!isDone && (isNone || isSilent)) speaksNone?.();
      resolve(null);
    });
    const take = (work: () => void) => (isDone ? turn : handshakeTurn)(work);
    const socket = beginTls(plain, clock, { secureContext, highWaterMark: MAX_AHEAD_BYTES }, take, () => {
      isDone = true;
      timer.cancel();
      silent.cancel();
      socket.pause();
      resolve(socket);
    });
    socket.on('error', (error: NodeJS.ErrnoException) => {
      isNone ||= !isDone && NO_TLS.has(error.code ?? '');
      log.debug({ err: error }, 'a TLS connection failed');
    });
    // It must be read, or a peer that closes now is not noticed; there is no data before it is secure.
    socket.resume();
  });
}
