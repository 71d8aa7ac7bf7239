/**
 * Counts how often something happened to a key lately, and says when that is too often. Bounded; times are monotonic
 * milliseconds. Nothing is kept over a restart.
 */
export interface Trips {
  /** It happened once more; true from the `times`-th time within the span on, which begins the count anew. */
  happened(key: string, nowMs: number): boolean;
}

const MAX_KEYS = 10_000;

export function createTrips({ times, withinMs }: { times: number; withinMs: number }): Trips {
  const seen = new Map<string, number[]>();
  return {
    happened(key, nowMs) {
      const lately = (seen.get(key) ?? []).filter((at) => nowMs - at < withinMs);
      lately.push(nowMs);
      // To the end: who was quiet for longest is forgotten first.
      seen.delete(key);
      if (lately.length >= times) return true;
      seen.set(key, lately);
      if (seen.size > MAX_KEYS) {
        const oldest = seen.keys().next();
        if (!oldest.done) seen.delete(oldest.value);
      }
      return false;
    },
  };
}
