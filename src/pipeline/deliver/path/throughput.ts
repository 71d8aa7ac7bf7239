/**
 * How many messages a path sent recently, which decides how many rows are claimed ahead for it. Pure except for two
 * counters.
 */
import type { Clock } from '../../../lib/clock.ts';

export interface Throughput {
  ended(): void;
  /** Within the last five to ten seconds. */
  lately(): number;
  /** Per second, recently; correct soon after a burst began. */
  perSecond(): number;
}

const SPAN_MS = 5_000;

export function createThroughput(clock: Clock): Throughput {
  let startedAtMs = clock.monotonicMs();
  let now = 0;
  let before = 0;

  const turn = (): void => {
    const passed = clock.monotonicMs() - startedAtMs;
    if (passed < SPAN_MS) return;
    before = passed < 2 * SPAN_MS ? now : 0;
    now = 0;
    startedAtMs = clock.monotonicMs();
  };

  return {
    ended() {
      turn();
      now += 1;
    },
    perSecond() {
      turn();
      const passedMs = clock.monotonicMs() - startedAtMs;
      return Math.max((before / SPAN_MS) * 1000, (now / Math.max(1000, passedMs)) * 1000);
    },
    lately() {
      turn();
      return Math.max(now, before);
    },
  };
}
