/**
 * The client's side of TLS: the handshake on a connected socket, and the facts about it. Returns a TLS socket and its
 * facts, or a failure and no socket. The caller decides whether to fall back to plain text. A certificate is always
 * checked; only `verified` and `dane` require a good result, and then before anything is sent.
 */
import { isIP } from 'node:net';
import type { Duplex } from 'node:stream';
import {
  type ConnectionOptions,
  createSecureContext,
  type SecureContext,
  type TLSSocket,
  connect as tlsConnect,
} from 'node:tls';
import type { Clock } from '../lib/clock.ts';
import { OLD_TLS_OPTIONS, TLS_OPTIONS } from '../lib/tls-options.ts';
import { limitHandshake } from '../net/handshake-limit.ts';
import { checkDane, type DaneRequest } from './dane.ts';

/**
 * `off`: never. `opportunistic`: if offered, with any certificate and old protocol versions. `required`: TLS or no
 * session, any certificate. `verified`: TLS or no session, and the certificate must be valid for the server's name.
 * `dane`: TLS or no session, and the certificate must match the TLSA records (RFC 7672).
 */
export type TlsMode = 'off' | 'opportunistic' | 'required' | 'verified' | 'dane';

/**
 * What verified the certificate: nothing, the trusted authorities, the same because MTA-STS requires it, or TLSA
 * records.
 */
export type VerifiedBy = 'none' | 'pkix' | 'mta-sts' | 'dane';

export interface TlsFacts {
  /** For example "TLSv1.3". */
  protocol: string;
  cipher: string;
  /** The certificate is valid for the server's name, or matches the TLSA records with `dane`. */
  authorized: boolean;
  /** Why it is not valid, e.g. "DEPTH_ZERO_SELF_SIGNED_CERT" or "DANE_MISMATCH", or null. */
  authorizationError: string | null;
  /** What verified it; `none` if nothing did. */
  verifiedBy: VerifiedBy;
  /** Common name of the certificate's subject, or null. */
  subject: string | null;
  /** When the certificate expires, in epoch milliseconds, or null. */
  validUntil: number | null;
}

/** TLS contexts by mode, created on first use. */
export interface TlsContexts {
  /** `small`: with few key-exchange groups, for servers that fail with a ClientHello of more than one segment. */
  forMode(mode: TlsMode, small?: boolean): SecureContext;
}

/**
 * Node's own ClientHello has about 1.6 kB, with these groups 0.4 kB (measured). They work only when set in the context.
 */
const FEW_GROUPS = { ecdhCurve: 'X25519:P-256:P-384' } as const;

/** `ca`: PEM certificates to trust instead of the built-in ones. */
export function createTlsContexts(
  options: { ca?: string | readonly string[] | undefined } = {},
): TlsContexts {
  const ca =
    options.ca === undefined ? {} : { ca: typeof options.ca === 'string' ? options.ca : [...options.ca] };
  const made = new Map<string, SecureContext>();
  return {
    forMode(mode, small = false) {
      const isLenient = mode === 'opportunistic';
      const name = `${isLenient ? 'lenient' : 'strict'}${small ? ' small' : ''}`;
      let context = made.get(name);
      if (context === undefined) {
        context = createSecureContext({
          ...(isLenient ? OLD_TLS_OPTIONS : TLS_OPTIONS),
          ...ca,
          ...(small ? FEW_GROUPS : {}),
        });
        made.set(name, context);
      }
      return context;
    },
  };
}

interface HandshakeRequest {
  socket: Duplex;
  /** Name for SNI and for the certificate check; an IP address is checked as such and not sent as SNI. */
  host: string;
  mode: TlsMode;
  /** What `dane` compares the certificate with, and the name for SNI; without it nothing matches. */
  dane: DaneRequest | null;
  /** As what a valid certificate is reported. */
  verifiedAs: 'pkix' | 'mta-sts';
  contexts: TlsContexts;
  timeoutMs: number;
  clock: Clock;
  smallClientHello: boolean;
}

type HandshakeResult =
  | { kind: 'secure'; socket: TLSSocket; facts: TlsFacts }
  | { kind: 'failed'; reason: 'tls' | 'timeout' | 'reset'; detail: string; facts: TlsFacts | null };

const MAX_SUBJECT_CHARS = 200;

function factsOf(socket: TLSSocket): TlsFacts {
  const certificate = socket.getPeerCertificate();
  const subject = certificate.subject?.CN;
  const error: unknown = socket.authorizationError;
  const validUntil = Date.parse(certificate.valid_to ?? '');
  return {
    protocol: socket.getProtocol() ?? 'unknown',
    cipher: socket.getCipher().name,
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : String(error ?? 'unknown').slice(0, MAX_SUBJECT_CHARS),
    verifiedBy: socket.authorized ? 'pkix' : 'none',
    subject: typeof subject === 'string' ? subject.slice(0, MAX_SUBJECT_CHARS) : null,
    validUntil: Number.isNaN(validUntil) ? null : validUntil,
  };
}

/** The facts with DANE: only the TLSA records decide, whether the certificate is valid otherwise or not. */
function daneFacts(
  socket: TLSSocket,
  dane: DaneRequest | null,
  nowMs: number,
): { facts: TlsFacts; detail: string } {
  const facts = factsOf(socket);
  const verdict = checkDane(dane ?? { records: [], names: [] }, chainOf(socket), nowMs);
  if (verdict.kind === 'matched') {
    return {
      facts: { ...facts, authorized: true, authorizationError: null, verifiedBy: 'dane' },
      detail: '',
    };
  }
  const refused = {
    ...facts,
    authorized: false,
    authorizationError: 'DANE_MISMATCH',
    verifiedBy: 'none',
  } as const;
  return { facts: refused, detail: verdict.detail };
}

/** DER of the certificates that the server sent, its own first. */
function chainOf(socket: TLSSocket): Uint8Array[] {
  const chain: Uint8Array[] = [];
  const seen = new Set<string>();
  let each = socket.getPeerCertificate(true);
  while (each?.raw !== undefined && !seen.has(each.fingerprint256)) {
    seen.add(each.fingerprint256);
    chain.push(each.raw);
    each = each.issuerCertificate;
  }
  return chain;
}

/** OpenSSL's name for a certificate problem, with an explanation. */
function certificateTrouble(code: string | null): string {
  switch (code) {
    case 'CERT_HAS_EXPIRED':
      return 'it has expired (CERT_HAS_EXPIRED)';
    case 'CERT_NOT_YET_VALID':
      return 'it is not valid yet (CERT_NOT_YET_VALID)';
    case 'ERR_TLS_CERT_ALTNAME_INVALID':
      return 'it is for another name (ERR_TLS_CERT_ALTNAME_INVALID)';
    case 'DEPTH_ZERO_SELF_SIGNED_CERT':
    case 'SELF_SIGNED_CERT_IN_CHAIN':
      return `it is self-signed (${code})`;
    case 'UNABLE_TO_VERIFY_LEAF_SIGNATURE':
    case 'UNABLE_TO_GET_ISSUER_CERT':
    case 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY':
      return `no trusted authority vouches for it (${code})`;
    default:
      return String(code);
  }
}

/** Performs the handshake within `timeoutMs`. Never throws; after `failed` the connection is destroyed. */
export function startTls(request: HandshakeRequest): Promise<HandshakeResult> {
  const { socket, host, mode, dane, contexts, timeoutMs, clock } = request;
  const name = (mode === 'dane' ? dane?.names[0] : undefined) ?? host;
  return new Promise((resolve) => {
    const limited = limitHandshake(socket);
    const options: ConnectionOptions = {
      socket: limited.stream,
      host,
      servername: isIP(name) === 0 ? name : '',
      secureContext: contexts.forMode(mode, request.smallClientHello),
      // Checked below, so that a refusal includes the certificate's facts.
      rejectUnauthorized: false,
    };
    const secure = tlsConnect(options);
    // This listener stays: an error after this function ended concerns the next owner, or nobody.
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
      limited.opened(secure);
      if (mode === 'dane') {
        const { facts, detail } = daneFacts(secure, dane, clock.now());
        if (facts.authorized) settle({ kind: 'secure', socket: secure, facts });
        else
          settle({
            kind: 'failed',
            reason: 'tls',
            detail: `certificate not acceptable (DANE): ${detail}`,
            facts,
          });
        return;
      }
      const checked = factsOf(secure);
      const facts = checked.authorized ? { ...checked, verifiedBy: request.verifiedAs } : checked;
      if (mode === 'verified' && !facts.authorized) {
        const detail = `certificate not acceptable: ${certificateTrouble(facts.authorizationError)}`;
        settle({ kind: 'failed', reason: 'tls', detail, facts });
      } else settle({ kind: 'secure', socket: secure, facts });
    };
    const onClose = () =>
      settle({ kind: 'failed', reason: 'reset', detail: 'closed during the TLS handshake', facts: null });
    const timer = clock.setTimer(timeoutMs, () => {
      const detail = `the TLS handshake took longer than ${timeoutMs / 1000} s`;
      settle({ kind: 'failed', reason: 'timeout', detail, facts: null });
    });
    secure.on('error', (error: NodeJS.ErrnoException) => {
      const detail = `TLS handshake failed: ${error.code ?? error.message}`.slice(0, MAX_SUBJECT_CHARS);
      settle({ kind: 'failed', reason: error.code === 'ECONNRESET' ? 'reset' : 'tls', detail, facts: null });
    });
    secure.once('secureConnect', onSecure);
    secure.once('close', onClose);
  });
}
