/**
 * The certificate of an SMTP listener: from two files, read again when they change, or a given pair. If key and
 * certificate do not match, that is reported and the pair before stays in use, because mail must not stop during a
 * renewal. Files are checked when a handshake begins, at most once a second.
 */
import { readFile, stat } from 'node:fs/promises';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock } from './clock.ts';

export interface Certificates {
  /** The context for the next handshake. */
  current(): Promise<SecureContext>;
  /** Reads the files now (SIGHUP). Never rejects. */
  reload(): Promise<void>;
}

/** PEM. */
export interface CertificatePair {
  cert: string | Buffer;
  key: string | Buffer;
}

export type CertificateSource =
  | { kind: 'pair'; pair: CertificatePair }
  | { kind: 'files'; cert: string; key: string };

const LOOK_EVERY_MS = 1_000;

/** Reads the pair for the first time. Rejects if it cannot be read or does not match. */
export async function openCertificates(
  deps: { clock: Clock; report(message: string, error: unknown): void },
  source: CertificateSource,
): Promise<Certificates> {
  const { clock, report } = deps;
  if (source.kind === 'pair') {
    const context = contextOf(source.pair);
    return { current: async () => context, reload: async () => undefined };
  }
  let seen: string;
  let context: SecureContext;
  try {
    seen = await fingerprint();
    context = await load();
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`the certificate ${source.cert} with the key ${source.key} cannot be used: ${why}`, {
      cause,
    });
  }
  let lookedAtMs = clock.monotonicMs();
  let looking: Promise<void> | null = null;

  return {
    async current() {
      if (clock.monotonicMs() - lookedAtMs >= LOOK_EVERY_MS) await look();
      return context;
    },
    reload: () => {
      seen = '';
      return look();
    },
  };

  function look(): Promise<void> {
    looking ??= refresh().finally(() => {
      looking = null;
    });
    return looking;
  }

  async function refresh(): Promise<void> {
    lookedAtMs = clock.monotonicMs();
    try {
      const now = await fingerprint();
      if (now === seen) return;
      // Recorded first: a bad pair is reported once, not at every handshake.
      seen = now;
      context = await load();
    } catch (error) {
      report('the certificate could not be read; the one before stays in use', error);
    }
  }

  async function fingerprint(): Promise<string> {
    if (source.kind !== 'files') return '';
    const facts = await Promise.all([stat(source.cert), stat(source.key)]);
    return facts.map(({ ino, size, mtimeMs }) => `${ino}:${size}:${mtimeMs}`).join(' ');
  }

  async function load(): Promise<SecureContext> {
    if (source.kind !== 'files') throw new TypeError('there are no files to read');
    const [cert, key] = await Promise.all([readFile(source.cert), readFile(source.key)]);
    return contextOf({ cert, key });
  }
}

function contextOf({ cert, key }: CertificatePair): SecureContext {
  // TLS 1.2 is the minimum (RFC 8997, RFC 8314 §4.1).
  return createSecureContext({ cert, key, minVersion: 'TLSv1.2' });
}
