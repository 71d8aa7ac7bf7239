/**
 * How much one sender domain may have: octets on the disk (mail that waits or is scheduled, captured copies, contents that are
 * kept) and recipients in the queue. Without it one tenant could fill the disk or the queue to the point where nothing is taken
 * of anybody. Given what the store counted and what is free, leaves a refusal or nothing. Figures are a second old at most, and what this process took since then is added.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import type { DomainUse } from '../../store/topics/retention.ts';

/**
 * `auto`: four fifths of what the domain has and what is still free together, so that there is always room for others.
 */
export type StorageLimit = number | 'auto' | null;

export interface StorageUse {
  domain: string;
  bytes: number;
  /** null = none. */
  limit: number | null;
  /** That wait or are being sent. */
  recipients: number;
  recipientLimit: number | null;
}

export interface Storage {
  /** Throws AppError quota-exceeded where this much more does not fit; else it counts. Rejects with StoreUnavailable. */
  take(domain: string, more: { bytes: number; recipients: number }): Promise<void>;
  /** What each of the domains has and may have. */
  use(domains: readonly string[]): Promise<readonly StorageUse[]>;
}

/** Of what a domain has and what is free together. */
const AUTO_SHARE = 0.8;
/** However little is free, a domain may have some. */
const LEAST_RECIPIENTS = 1_000;
const FRESH_MS = 1_000;
const MAX_REMEMBERED = 10_000;
/** Room comes as mail is delivered and as what is kept runs out. */
const RETRY_AFTER_SECONDS = 300;

/** `freeBytes`: what is free on the disk above the reserve; null = unknown, then `auto` refuses nothing. */
export function createStorage(
  deps: { store: Pick<Store, 'domainUse' | 'queueCounts'>; clock: Clock; freeBytes(): number | null },
  options: { limit: StorageLimit; recipientLimit: StorageLimit; queueLimit: number },
): Storage {
  const { store, clock } = deps;
  const known = new BoundedMap<string, Figure<DomainUse>>(MAX_REMEMBERED);
  let queued: Figure<{ recipients: number }> | undefined;

  return {
    async take(domain, more) {
      const queue = await queueNow();
      const use = await useNow(domain);
      const limit = limitFor(use.bytes);
      if (limit !== null && use.bytes + more.bytes > limit) {
        throw tooMuch(
          `${domain} has ${use.bytes} bytes stored and may have ${limit} (stored-bytes); room comes as mail is delivered and as what is kept runs out`,
        );
      }
      const recipientLimit = recipientLimitFor(use, queue);
      if (recipientLimit !== null && use.recipients + more.recipients > recipientLimit) {
        throw tooMuch(
          `${domain} has ${use.recipients} recipients in the queue and may have ${recipientLimit} (queue-limit-per-domain); room comes as mail is delivered`,
        );
      }
      use.bytes += more.bytes;
      use.recipients += more.recipients;
      queue.recipients += more.recipients;
    },
    async use(domains) {
      const queue = await queueNow();
      const rows = await store.domainUse({ domains });
      return rows.map((row) => ({
        ...row,
        limit: limitFor(row.bytes),
        recipientLimit: recipientLimitFor(row, queue),
      }));
    },
  };

  function limitFor(bytes: number): number | null {
    if (options.limit !== 'auto') return options.limit;
    const free = deps.freeBytes();
    return free === null ? null : Math.max(0, Math.floor((bytes + free) * AUTO_SHARE));
  }

  function recipientLimitFor(use: { recipients: number }, queue: { recipients: number }): number | null {
    if (options.recipientLimit !== 'auto') return options.recipientLimit;
    const free = Math.max(0, options.queueLimit - queue.recipients);
    return Math.max(LEAST_RECIPIENTS, Math.floor((use.recipients + free) * AUTO_SHARE));
  }

  function useNow(domain: string): Promise<DomainUse> {
    const figure = fresh(known.get(domain), async () => {
      const [row] = await store.domainUse({ domains: [domain] });
      return { domain, bytes: row?.bytes ?? 0, recipients: row?.recipients ?? 0 };
    });
    known.set(domain, figure);
    return figure.value;
  }

  async function queueNow(): Promise<{ recipients: number }> {
    if (options.recipientLimit !== 'auto') return { recipients: 0 };
    queued = fresh(queued, async () => ({
      recipients: (await store.queueCounts({ now: clock.now() })).queued,
    }));
    return queued.value;
  }

  /** The figure that is known, where it may still be believed. All who ask while it is read get the same, and add to it. */
  function fresh<Value>(found: Figure<Value> | undefined, read: () => Promise<Value>): Figure<Value> {
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found;
    const figure = { value: read(), untilMs: clock.monotonicMs() + FRESH_MS };
    figure.value.catch(() => {
      figure.untilMs = Number.NEGATIVE_INFINITY;
    });
    return figure;
  }
}

/** What the store counted, and what was taken since then. */
interface Figure<Value> {
  value: Promise<Value>;
  untilMs: number;
}

function tooMuch(message: string): AppError {
  return new AppError('quota-exceeded', { message, retryAfterSeconds: RETRY_AFTER_SECONDS });
}
