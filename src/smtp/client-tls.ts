/**
 * The client's side of TLS: the handshake on a connected socket, and what is to be remembered of it.
 * Given: a socket on which both sides are ready to begin, and a mode. Leaves behind: a TLS socket and its facts, or a
 * failure and no socket at all. Whether to fall back to clear text is the caller's decision, never made here.
 * A certificate is always checked; only `verified` insists on the outcome, and then before anything is sent.
 */
import type { Socket } from 'node:net';
import { isIP } from 'node:net';
import {
  type ConnectionOptions,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls';
import type { Clock } from '../lib/clock.ts';

/**
 * `off`: never. `opportunistic`: if offered, any certificate, old protocol versions too. `required`: or nothing, any
 * certificate. `verified`: or nothing, and the certificate must be valid for the server's name.
 */
export type TlsMode = 'off' | 'opportunistic' | 'required' | 'verified';

export interface TlsFacts {
  /** "TLSv1.3". */
  protocol: string;
  cipher: string;
  /** The certificate is valid for the server's name. */
  authorized: boolean;
  /** Why it is not, e.g. "DEPTH_ZERO_SELF_SIGNED_CERT", or null. */
  authorizationError: string | null;
  /** SHA-256 of the certificate, "AB:CD:…", or null. */
  fingerprint256: string | null;
  /** Common name of the certificate's subject, or null. */
  subject: string | null;
}

/** TLS contexts by mode, made on first use. */
export interface TlsContexts {
  forMode(mode: TlsMode): SecureContext;
}

/** `ca`: PEM certificates to trust instead of the built-in ones. */
export function createTlsContexts(
  options: { ca?: string | readonly string[] | undefined } = {},
): TlsContexts {
  const ca =
    options.ca === undefined ? {} : { ca: typeof options.ca === 'string' ? options.ca : [...options.ca] };
  let strict: SecureContext | null = null;
  let lenient: SecureContext | null = null;
  return {
    forMode(mode) {
      if (mode === 'opportunistic') {
        // Old TLS is better than none; OpenSSL 3 hides it behind its security level.
        lenient ??= createSecureContext({ ...ca, minVersion: 'TLSv1', ciphers: 'DEFAULT@SECLEVEL=0' });
        return lenient;
      }
      strict ??= createSecureContext({ ...ca, minVersion: 'TLSv1.2' });
      return strict;
    },
  };
}

export interface HandshakeRequest {
  socket: Socket;
  /** Name for SNI and for the certificate check; an IP literal is checked as such and not sent. */
  host: string;
  mode: TlsMode;
  contexts: TlsContexts;
  timeoutMs: number;
  clock: Clock;
  /** Few key-exchange groups: Node's own ClientHello is about 1.6 kB, this one 0.4. */
  smallClientHello: boolean;
}

export type HandshakeResult =
  | { kind: 'secure'; socket: TLSSocket; facts: TlsFacts }
  | { kind: 'failed'; reason: 'tls' | 'timeout' | 'reset'; detail: string; facts: TlsFacts | null };

const MAX_SUBJECT_CHARS = 200;

function factsOf(socket: TLSSocket): TlsFacts {
  const certificate = socket.getPeerCertificate();
  const subject = certificate.subject?.CN;
  const error: unknown = socket.authorizationError;
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().name,
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : String(error ?? 'unknown').slice(0, MAX_SUBJECT_CHARS),
    fingerprint256: certificate.fingerprint256 ?? null,
    subject: typeof subject === 'string' ? subject.slice(0, MAX_SUBJECT_CHARS) : null,
  };
}

/** Shakes hands within `timeoutMs`. Never throws; after `failed` the connection is destroyed. */
export function startTls(request: HandshakeRequest): Promise<HandshakeResult> {
  const { socket, host, mode, contexts, timeoutMs, clock } = request;
  return new Promise((resolve) => {
    const options: ConnectionOptions = {
      socket,
      host,
      servername: isIP(host) === 0 ? host : '',
      secureContext: contexts.forMode(mode),
      // Checked below: a refusal shall come with the certificate's facts.
      rejectUnauthorized: false,
      ...(request.smallClientHello ? { ecdhCurve: 'X25519:P-256:P-384' } : {}),
    };
    const secure = tlsConnect(options);
    // Stays for good: an error after the end of this function belongs to the next owner, or to nobody.
    const settle = (result: HandshakeResult) => {
      timer.cancel();
      secure.off('secureConnect', onSecure);
      secure.off('close', onClose);
      if (result.kind === 'failed') {
        secure.destroy();
        socket.destroy();
      }
      resolve(result);
    };
    const onSecure = () => {
      const facts = factsOf(secure);
      if (mode === 'verified' && !facts.authorized) {
        const detail = `certificate not acceptable: ${facts.authorizationError}`;
        settle({ kind: 'failed', reason: 'tls', detail, facts });
      } else settle({ kind: 'secure', socket: secure, facts });
    };
    const onClose = () =>
      settle({ kind: 'failed', reason: 'reset', detail: 'closed during the TLS handshake', facts: null });
    const timer = clock.setTimer(timeoutMs, () => {
      settle({ kind: 'failed', reason: 'timeout', detail: 'the TLS handshake took too long', facts: null });
    });
    secure.on('error', (error: NodeJS.ErrnoException) => {
      const detail = `TLS handshake failed: ${error.code ?? error.message}`.slice(0, MAX_SUBJECT_CHARS);
      settle({ kind: 'failed', reason: error.code === 'ECONNRESET' ? 'reset' : 'tls', detail, facts: null });
    });
    secure.once('secureConnect', onSecure);
    secure.once('close', onClose);
  });
}
