/**
 * Whether something that is done often has become slow. Given how long each took, by kind; says so in a sentence while all of
 * the last few of a kind took long, and says nothing of what was not done for a minute.
 */
import type { Clock } from './clock.ts';

const SLOW_MS = 1_000;
const LAST = 5;
const FORGOTTEN_MS = 60_000;

export interface SlowWatch {
  /** `what`: in the plural, such as "commits of the database". */
  took(what: string, durationMs: number): void;
  /** null: nothing is slow, or was done lately. */
  slow(): string | null;
}

export function createSlowWatch(clock: Clock): SlowWatch {
  const last = new Map<string, { atMs: number; durationMs: number }[]>();
  return {
    took(what, durationMs) {
      const before = last.get(what) ?? [];
      last.set(what, [...before.slice(-LAST + 1), { atMs: clock.monotonicMs(), durationMs }]);
    },
    slow() {
      const sinceMs = clock.monotonicMs() - FORGOTTEN_MS;
      for (const [what, each] of last) {
        const slow = each.filter(({ atMs, durationMs }) => atMs > sinceMs && durationMs >= SLOW_MS);
        const longestMs = Math.max(...slow.map(({ durationMs }) => durationMs));
        if (slow.length === LAST)
          return `the last ${LAST} ${what} took a second or longer each, up to ${(longestMs / 1000).toFixed(1)} s`;
      }
      return null;
    },
  };
}
