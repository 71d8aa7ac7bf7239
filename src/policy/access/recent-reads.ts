/**
 * Rows of the store that a login reads again and again, kept for five seconds. A change in this process calls `forget` and
 * shows at once; a change by another process shows when the five seconds are over.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';

const KEPT_MS = 5_000;
const MAX_KEPT = 1_000;

export interface RecentReads<Value> {
  /** What is kept under `key`, else what `find` gives. null is not kept. */
  read(key: string, find: () => Promise<Value | null>): Promise<Value | null>;
  /** Nothing is kept any more, nor is what a `find` that has begun will give. */
  forget(): void;
}

export function createRecentReads<Value>(clock: Pick<Clock, 'monotonicMs'>): RecentReads<Value> {
  const kept = new BoundedMap<string, { value: Value; untilMs: number }>(MAX_KEPT);
  let changes = 0;
  return {
    async read(key, find) {
      const known = kept.get(key);
      if (known !== undefined && known.untilMs > clock.monotonicMs()) return known.value;
      const changesBefore = changes;
      const value = await find();
      if (value !== null && changes === changesBefore) {
        kept.set(key, { value, untilMs: clock.monotonicMs() + KEPT_MS });
      }
      return value;
    },
    forget() {
      changes += 1;
      kept.clear();
    },
  };
}
