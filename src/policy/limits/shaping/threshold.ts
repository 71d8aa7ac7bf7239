/**
 * Counts recent occurrences per key, and tells when a threshold is reached. Limited in size; times are monotonic
 * milliseconds. Nothing is kept over a restart.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';

export interface Threshold {
  /**
   * Counts one occurrence, of those with the same `from` only the last; returns true from the `times`-th within the time
   * span, and then starts counting again.
   */
  happened(key: string, nowMs: number, from?: string): boolean;
}

const MAX_KEYS = 10_000;

export function createThreshold({ times, withinMs }: { times: number; withinMs: number }): Threshold {
  const seen = new BoundedMap<string, { at: number; from: string | undefined }[]>(MAX_KEYS);
  return {
    happened(key, nowMs, from) {
      const lately = (seen.get(key) ?? []).filter(
        (one) => nowMs - one.at < withinMs && (from === undefined || one.from !== from),
      );
      lately.push({ at: nowMs, from });
      if (lately.length < times) {
        seen.set(key, lately);
        return false;
      }
      seen.delete(key);
      return true;
    },
  };
}
