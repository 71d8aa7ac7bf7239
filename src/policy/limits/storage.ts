/**
 * How much one sender domain may store: octets on the disk (waiting and scheduled mail, captured copies, contents that
 * are kept) and recipients in the queue. Without it one tenant could fill the disk or the queue until nothing is
 * accepted from anybody. Figures are a second old, or of the last count while one takes long; what this process accepted since
 * is added.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import { createFigure, type Figure } from './figure.ts';

/**
 * `auto`: four fifths of the sum of what the domain uses and what is still free, so that there is always space for
 * others.
 */
export type StorageLimit = number | 'auto' | null;

export interface StorageUse {
  domain: string;
  bytes: number;
  /** null = none. */
  limit: number | null;
  /** Recipients that wait or are being sent. */
  recipients: number;
  recipientLimit: number | null;
}

export interface Storage {
  /** Throws AppError quota-exceeded if this much more is not allowed; otherwise counts it. Rejects with StoreUnavailable. */
  take(domain: string, more: { bytes: number; recipients: number }): Promise<void>;
  /** The use and limits of each of the domains. */
  use(domains: readonly string[]): Promise<readonly StorageUse[]>;
}

/** Share of what a domain uses and what is free together. */
const AUTO_SHARE = 0.8;
/** A domain may always have at least this many. */
const LEAST_RECIPIENTS = 1_000;
const NOTHING = { bytes: 0, recipients: 0 };
const MAX_REMEMBERED = 10_000;
/** Space becomes free as mail is delivered and kept contents expire. */
const RETRY_AFTER_SECONDS = 300;

/** `freeBytes`: free space on the disk above the reserve; null = unknown, then `auto` refuses nothing. */
export function createStorage(
  deps: { store: Pick<Store, 'domainUse' | 'queueCounts'>; clock: Clock; freeBytes(): number | null },
  options: { limit: StorageLimit; recipientLimit: StorageLimit; queueLimit: number },
): Storage {
  const { store, clock } = deps;
  const known = new BoundedMap<string, Figure>(MAX_REMEMBERED);
  const queue = createFigure(clock, async () => {
    if (options.recipientLimit !== 'auto') return NOTHING;
    return { bytes: 0, recipients: (await store.queueCounts({ now: clock.now() })).queued };
  });

  return {
    async take(domain, more) {
      const figure = figureOf(domain);
      const [queued, use] = [await queue.now(), await figure.now()];
      const limit = limitFor(use.bytes);
      if (limit !== null && use.bytes + more.bytes > limit) {
        throw tooMuch(
          `${domain} has ${use.bytes} bytes stored and may have ${limit} (stored-bytes); room comes as mail is delivered and as what is kept runs out`,
        );
      }
      const recipientLimit = recipientLimitFor(use, queued);
      if (recipientLimit !== null && use.recipients + more.recipients > recipientLimit) {
        throw tooMuch(
          `${domain} has ${use.recipients} recipients in the queue and may have ${recipientLimit} (queue-limit-per-domain); room comes as mail is delivered`,
        );
      }
      figure.add(more);
      queue.add(more);
    },
    async use(domains) {
      const queued = await queue.now();
      const uses: StorageUse[] = [];
      for (const domain of domains) {
        const { bytes, recipients } = await figureOf(domain).now();
        const recipientLimit = recipientLimitFor({ recipients }, queued);
        uses.push({ domain, bytes, limit: limitFor(bytes), recipients, recipientLimit });
      }
      return uses;
    },
  };

  function limitFor(bytes: number): number | null {
    if (options.limit !== 'auto') return options.limit;
    const free = deps.freeBytes();
    return free === null ? null : Math.max(0, Math.floor((bytes + free) * AUTO_SHARE));
  }

  function recipientLimitFor(use: { recipients: number }, queued: { recipients: number }): number | null {
    if (options.recipientLimit !== 'auto') return options.recipientLimit;
    const free = Math.max(0, options.queueLimit - queued.recipients);
    return Math.max(LEAST_RECIPIENTS, Math.floor((use.recipients + free) * AUTO_SHARE));
  }

  function figureOf(domain: string): Figure {
    const figure =
      known.get(domain) ??
      createFigure(clock, async () => (await store.domainUse({ domains: [domain] }))[0] ?? NOTHING);
    known.set(domain, figure);
    return figure;
  }
}

function tooMuch(message: string): AppError {
  return new AppError('quota-exceeded', { message, retryAfterSeconds: RETRY_AFTER_SECONDS });
}
