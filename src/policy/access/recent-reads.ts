/**
 * Rows of the store that logins read again and again, cached for five seconds. After a change in this process,
 * `forget` empties the cache; a change by another process takes effect within the five seconds.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { createSharedWork } from '../../lib/shared-work.ts';

const KEPT_MS = 5_000;
const MAX_KEPT = 1_000;

export interface RecentReads<Value> {
  /** The cached value of `key`, otherwise the result of `find`, which runs once for all who ask meanwhile. null is not cached. */
  read(key: string, find: () => Promise<Value | null>): Promise<Value | null>;
  /** Empties the cache; results of running `find` calls are not cached either. */
  forget(): void;
}

export function createRecentReads<Value>(clock: Pick<Clock, 'monotonicMs'>): RecentReads<Value> {
  const kept = new BoundedMap<string, { value: Value; untilMs: number }>(MAX_KEPT);
  const finding = createSharedWork<Value | null>();
  return {
    async read(key, find) {
      const known = kept.get(key);
      if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.value;
      return finding.of(key, find, (value) => {
        if (value !== null) kept.set(key, { value, untilMs: clock.monotonicMs() + KEPT_MS });
      });
    },
    forget() {
      finding.forget();
      kept.clear();
    },
  };
}
