/**
 * Counts how often something happened to a key recently, and says when a threshold is reached. Limited in size; times
 * are monotonic milliseconds. Nothing is kept over a restart.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';

export interface Threshold {
  /** It happened once more; true from the `times`-th time within the span on, which begins the count anew. */
  happened(key: string, nowMs: number): boolean;
}

const MAX_KEYS = 10_000;

export function createThreshold({ times, withinMs }: { times: number; withinMs: number }): Threshold {
  const seen = new BoundedMap<string, number[]>(MAX_KEYS);
  return {
    happened(key, nowMs) {
      const lately = (seen.get(key) ?? []).filter((at) => nowMs - at < withinMs);
      lately.push(nowMs);
      if (lately.length < times) {
        seen.set(key, lately);
        return false;
      }
      seen.delete(key);
      return true;
    },
  };
}
