/**
 * How much one sender domain may store: octets on the disk (waiting and scheduled mail, captured copies, contents that
 * are kept) and recipients in the queue. Without it one tenant could fill the disk or the queue until nothing is
 * accepted from anybody. Figures are at most a second old; what this process accepted since is added.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';
import type { DomainUse } from '../../store/topics/retention.ts';

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
const FRESH_MS = 1_000;
const MAX_REMEMBERED = 10_000;
/** Space becomes free as mail is delivered and kept contents expire. */
const RETRY_AFTER_SECONDS = 300;

/** `freeBytes`: free space on the disk above the reserve; null = unknown, then `auto` refuses nothing. */
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

  /** The cached figure while it is valid. All callers during a read get the same, and add to it. */
  function fresh<Value>(found: Figure<Value> | undefined, read: () => Promise<Value>): Figure<Value> {
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found;
    const figure = { value: read(), untilMs: clock.monotonicMs() + FRESH_MS };
    figure.value.catch(() => {
      figure.untilMs = Number.NEGATIVE_INFINITY;
    });
    return figure;
  }
}

/** What the store counted, and what was accepted since then. */
interface Figure<Value> {
  value: Promise<Value>;
  untilMs: number;
}

function tooMuch(message: string): AppError {
  return new AppError('quota-exceeded', { message, retryAfterSeconds: RETRY_AFTER_SECONDS });
}
