/**
 * How much one sender domain may have on the disk: mail that waits or is scheduled, captured copies, contents that are kept.
 * Without it one tenant could bring the disk to the point where nothing is taken of anybody. Given what the store counted and
 * what is free, leaves a refusal or nothing. Figures are a second old at most, and what this process took since then is added.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Store } from '../../store/store.ts';

/** `auto`: a domain may have four times as much as is still free, so that a fifth of the room is always there for others. */
export type StorageLimit = number | 'auto' | null;

export interface StorageUse {
  domain: string;
  bytes: number;
  /** null = none. */
  limit: number | null;
}

export interface Storage {
  /** Throws AppError quota-exceeded where `bytes` more do not fit; else they count. Rejects with StoreUnavailable. */
  take(domain: string, bytes: number): Promise<void>;
  /** What each of the domains has and may have. */
  use(domains: readonly string[]): Promise<readonly StorageUse[]>;
}

/** Of what a domain has and what is free together. */
const AUTO_SHARE = 0.8;
const FRESH_MS = 1_000;
const MAX_REMEMBERED = 10_000;
/** Room comes as mail is delivered and as what is kept runs out. */
const RETRY_AFTER_SECONDS = 300;

/** `freeBytes`: what is free on the disk above the reserve; null = unknown, then `auto` refuses nothing. */
export function createStorage(
  deps: { store: Pick<Store, 'storedBytes'>; clock: Clock; freeBytes(): number | null },
  options: { limit: StorageLimit },
): Storage {
  const { store, clock } = deps;
  const known = new BoundedMap<string, { bytes: number; untilMs: number }>(MAX_REMEMBERED);

  return {
    async take(domain, bytes) {
      if (options.limit === null) return;
      const entry = await current(domain);
      const limit = limitFor(entry.bytes);
      if (limit !== null && entry.bytes + bytes > limit) {
        throw new AppError('quota-exceeded', {
          message: `${domain} has ${entry.bytes} bytes stored and may have ${limit}; room comes as mail is delivered and as what is kept runs out`,
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
      entry.bytes += bytes;
    },
    async use(domains) {
      const rows = await store.storedBytes({ domains });
      return rows.map(({ domain, bytes }) => ({ domain, bytes, limit: limitFor(bytes) }));
    },
  };

  function limitFor(bytes: number): number | null {
    if (options.limit !== 'auto') return options.limit;
    const free = deps.freeBytes();
    return free === null ? null : Math.max(0, Math.floor((bytes + free) * AUTO_SHARE));
  }

  async function current(domain: string): Promise<{ bytes: number; untilMs: number }> {
    const found = known.get(domain);
    if (found !== undefined && found.untilMs > clock.monotonicMs()) return found;
    const [row] = await store.storedBytes({ domains: [domain] });
    const entry = { bytes: row?.bytes ?? 0, untilMs: clock.monotonicMs() + FRESH_MS };
    known.set(domain, entry);
    return entry;
  }
}
