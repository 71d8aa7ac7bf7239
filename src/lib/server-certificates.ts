/**
 * The certificate of a listener: from two files, read again when they change, or a given pair. Files that are missing, half
 * written, do not belong together or have ended are reported once, and the certificate before stays in use, because mail
 * must not stop during a renewal. Files are looked at when a handshake begins, at most once a second.
 */
import { stat } from 'node:fs/promises';
import type { SecureContext } from 'node:tls';
import { type CertificatePair, contextOf, readCertificate } from './certificate-files.ts';
import type { Clock } from './clock.ts';

export interface Certificates {
  /** The context for the next handshake. */
  current(): Promise<SecureContext>;
  /** Reads the files now (SIGHUP). Never rejects. */
  reload(): Promise<void>;
  /** Looks at the files, and says what is wrong with them, as sentences; null = nothing. Never rejects. */
  problem(): Promise<string | null>;
}

export type CertificateSource =
  | { kind: 'pair'; pair: CertificatePair }
  | { kind: 'files'; cert: string; key: string };

const LOOK_EVERY_MS = 1_000;
const RENEW = 'Renew it; the files are read again when they change.';

/**
 * Reads the pair for the first time. Rejects with a sentence if it cannot be used; one that has ended is used, and reported,
 * because a server that does not start takes no mail at all. `report` and `renewed` get sentences for the log.
 */
export async function openCertificates(
  deps: { clock: Clock; report(problem: string): void; renewed(news: string): void },
  source: CertificateSource,
): Promise<Certificates> {
  const { clock, report, renewed } = deps;
  if (source.kind === 'pair') {
    const context = contextOf(source.pair);
    return { current: async () => context, reload: async () => undefined, problem: async () => null };
  }
  let seen = await fingerprint(source);
  const first = await readCertificate(source);
  if (first.kind === 'wrong') throw new Error(`${first.why}. ${first.fix}`);
  let inUse = first;
  /** What is wrong with the files as they are now. */
  let wrong: string | null = null;
  if (hasEnded(inUse)) tell(`${source.cert} ended on ${day(inUse)}: clients refuse it. ${RENEW}`);
  let lookedAtMs = clock.monotonicMs();
  let looking: Promise<void> | null = null;

  return {
    async current() {
      if (clock.monotonicMs() - lookedAtMs >= LOOK_EVERY_MS) await look();
      return inUse.context;
    },
    reload: () => {
      seen = '';
      return look();
    },
    async problem() {
      await look();
      return wrong;
    },
  };

  function look(): Promise<void> {
    looking ??= refresh(source as Extract<CertificateSource, { kind: 'files' }>).finally(() => {
      looking = null;
    });
    return looking;
  }

  async function refresh(files: { cert: string; key: string }): Promise<void> {
    lookedAtMs = clock.monotonicMs();
    const now = await fingerprint(files);
    if (now === seen) return;
    // Recorded first: what is wrong is reported once, not at every handshake.
    seen = now;
    const found = await readCertificate(files);
    if (found.kind === 'wrong') tell(`${found.why}; ${stays()}. ${found.fix}`);
    else if (hasEnded(found) && !hasEnded(inUse))
      tell(`${files.cert} ended on ${day(found)}; ${stays()}. ${RENEW}`);
    else {
      inUse = found;
      wrong = null;
      renewed(`${files.cert} was read; it ends on ${day(found)}`);
    }
  }

  function tell(problem: string): void {
    wrong = problem;
    report(problem);
  }

  function stays(): string {
    return `the certificate before, until ${day(inUse)}, stays in use`;
  }

  function hasEnded({ endsAt }: { endsAt: number }): boolean {
    return endsAt < clock.now();
  }
}

function day({ endsAt }: { endsAt: number }): string {
  return new Date(endsAt).toISOString().slice(0, 10);
}

/** Differs when a file was replaced or written, became readable, is missing, or is there again. */
async function fingerprint(files: { cert: string; key: string }): Promise<string> {
  const facts = [files.cert, files.key].map((file) =>
    stat(file).then(
      ({ ino, size, ctimeMs }) => `${ino}:${size}:${ctimeMs}`,
      (cause: NodeJS.ErrnoException) => cause.code ?? 'unknown',
    ),
  );
  return (await Promise.all(facts)).join(' ');
}
