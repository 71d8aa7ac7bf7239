/**
 * The certificate of a listener: from two files, read again when they change, or a given pair. Files that are missing, half
 * written, do not belong together, have ended or are not valid yet are reported once, and the certificate before stays in use,
 * because mail must not stop during a renewal. Files are looked at when a handshake begins, at most once a second, and no
 * handshake waits for a file system that does not answer.
 */
import { stat } from 'node:fs/promises';
import type { SecureContext } from 'node:tls';
import {
  type CertificateFound,
  type CertificatePair,
  contextOf,
  readCertificate,
} from './certificate-files.ts';
import { atMost, type Clock } from './clock.ts';
import { StartRefused } from './errors.ts';
import { dayOf } from './instant.ts';

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

type Usable = Extract<CertificateFound, { kind: 'good' }>;

const LOOK_EVERY_MS = 1_000;
/** A look at the files takes milliseconds. */
const PATIENCE_MS = 1_000;
const RENEW = 'Renew it; the files are read again when they change.';

/**
 * Reads the pair for the first time. Rejects with a sentence if it cannot be used; one that has ended is used, and reported,
 * because a server that does not start takes no mail at all. `report` and `renewed` get sentences for the log. `read`: in place
 * of the file system.
 */
export async function openCertificates(
  deps: {
    clock: Clock;
    report(problem: string): void;
    renewed(news: string): void;
    read?(file: string): Promise<string>;
  },
  source: CertificateSource,
): Promise<Certificates> {
  const { clock, report, renewed } = deps;
  if (source.kind === 'pair') {
    const context = contextOf(source.pair);
    return { current: async () => context, reload: async () => undefined, problem: async () => null };
  }
  let seen = await fingerprint(source);
  const first = await readCertificate(source, deps.read);
  if (first.kind === 'wrong') throw new StartRefused(`${first.why}. ${first.fix}`);
  let inUse: Usable = first;
  /** What is wrong with the files as they are now. */
  let wrong: string | null = null;
  let reported: string | null = null;
  use(source.cert, first);
  let lookedAtMs = clock.monotonicMs();
  let looking: Promise<void> | null = null;

  return {
    async current() {
      if (looking === null && clock.monotonicMs() - lookedAtMs >= LOOK_EVERY_MS) await look();
      return inUse.context;
    },
    reload: () => {
      seen = '';
      reported = null;
      return look();
    },
    async problem() {
      await look();
      return looking === null ? wrong : `${source.cert} cannot be read: its file system does not answer`;
    },
  };

  function look(): Promise<void> {
    looking ??= refresh(source as Extract<CertificateSource, { kind: 'files' }>).finally(() => {
      looking = null;
    });
    return atMost(clock, PATIENCE_MS, looking);
  }

  async function refresh(files: { cert: string; key: string }): Promise<void> {
    lookedAtMs = clock.monotonicMs();
    const now = await fingerprint(files);
    if (now === seen) return;
    // Recorded first: what is wrong is reported once, not at every handshake.
    seen = now;
    const found = await readCertificate(files, deps.read);
    if (found.kind === 'wrong') tell(`${found.why}; ${stays()}. ${found.fix}`);
    else if (use(files.cert, found)) renewed(`${files.cert} was read; it ends on ${dayOf(found.endsAt)}`);
  }

  /** Whether nothing is wrong with it. */
  function use(file: string, found: Usable): boolean {
    const unfit = whyUnfit(found);
    if (unfit === null) {
      inUse = found;
      wrong = reported = null;
      return true;
    }
    // It may be valid at the next look.
    if (!hasEnded(found)) seen = '';
    if (whyUnfit(inUse) === null) tell(`${file} ${unfit.why}; ${stays()}. ${unfit.fix}`);
    else {
      inUse = found;
      tell(`${file} ${unfit.why}: clients refuse it. ${unfit.fix}`);
    }
    return false;
  }

  function tell(problem: string): void {
    wrong = problem;
    if (problem !== reported) report(problem);
    reported = problem;
  }

  function stays(): string {
    return `the certificate before, until ${dayOf(inUse.endsAt)}, stays in use`;
  }

  /** Why clients refuse it, as a clause, and what to do. */
  function whyUnfit(found: Usable): { why: string; fix: string } | null {
    if (hasEnded(found)) return { why: `ended on ${dayOf(found.endsAt)}`, fix: RENEW };
    if (found.beginsAt <= clock.now()) return null;
    const from = new Date(found.beginsAt).toISOString();
    return { why: `is valid only from ${from}`, fix: 'Look at the clock of this machine.' };
  }

  function hasEnded({ endsAt }: Usable): boolean {
    return endsAt < clock.now();
  }
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
