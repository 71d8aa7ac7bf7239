/**
 * Checks the certificate that a host presents over TLS, without sending a request. Takes the host's name and one of its
 * addresses (checked by the caller's filter); returns whether a browser would accept it and when it expires. No socket
 * stays open. One time limit covers everything.
 */
import { type ConnectionOptions, type TLSSocket, connect as tlsConnect } from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { TLS_OPTIONS } from '../lib/tls-options.ts';
import { limitHandshake } from './handshake-limit.ts';
import { connectTcp } from './sockets.ts';

export type CertificateFacts =
  /** `issuer`: the issuer's organization, if the certificate names one. */
  | { kind: 'valid'; validUntil: number; issuer?: string }
  /** `detail`: the reason in a few words or as OpenSSL names it. */
  | { kind: 'invalid'; detail: string }
  | { kind: 'unreachable'; detail: string };

/** For connecting, and again for the handshake. */
const TIMEOUT_MS = 5_000;

/** `ca`: for tests, authorities instead of the built-in ones. Never rejects. */
export async function probeCertificate(params: {
  clock: Clock;
  host: string;
  address: string;
  port?: number;
  ca?: readonly string[];
}): Promise<CertificateFacts> {
  const { clock, host, address, port = 443, ca } = params;
  const connected = await connectTcp({ clock, address, port, timeoutMs: TIMEOUT_MS });
  if (connected.kind !== 'connected') return { kind: 'unreachable', detail: connected.detail };
  const { socket } = connected;
  const options: ConnectionOptions = {
    ...TLS_OPTIONS,
    socket: limitHandshake(socket).stream,
    servername: host,
    // A bad certificate must be examined, not refused.
    rejectUnauthorized: false,
    ...(ca === undefined ? {} : { ca: [...ca] }),
  };
  return new Promise((resolve) => {
    const tls = tlsConnect(options);
    const finish = (facts: CertificateFacts) => {
      timer.cancel();
      tls.destroy();
      socket.destroy();
      resolve(facts);
    };
    const timer = clock.setTimer(TIMEOUT_MS, () =>
      finish({ kind: 'unreachable', detail: `no TLS within ${TIMEOUT_MS} ms` }),
    );
    tls.on('error', (error: NodeJS.ErrnoException) =>
      finish({ kind: 'unreachable', detail: error.code ?? error.message }),
    );
    tls.once('close', () => finish({ kind: 'unreachable', detail: 'closed during the handshake' }));
    tls.once('secureConnect', () => finish(factsOf(tls)));
  });
}

function factsOf(tls: TLSSocket): CertificateFacts {
  if (!tls.authorized) {
    const reason = tls.authorizationError;
    return { kind: 'invalid', detail: String(reason ?? 'not trusted').slice(0, 200) };
  }
  const shown = tls.getPeerCertificate();
  const until = Date.parse(shown.valid_to);
  if (Number.isNaN(until)) return { kind: 'invalid', detail: 'its end cannot be read' };
  const { O: named } = shown.issuer;
  const issuer = Array.isArray(named) ? named[0] : named;
  return {
    kind: 'valid',
    validUntil: until,
    ...(issuer === undefined ? {} : { issuer: issuer.slice(0, 200) }),
  };
}
