/** One timer for everything whose time is known: a token of a rate, a pause, a budget. Nothing is polled for. */
import type { Clock, Timer } from '../../../lib/clock.ts';

export interface Alarm {
  /** Rings at the latest after so long, once. */
  after(ms: number): void;
  /** It never rings again. */
  stop(): void;
}

export function createAlarm(clock: Clock, ring: () => void): Alarm {
  let timer: Timer | null = null;
  let atMs = Number.POSITIVE_INFINITY;
  let stopped = false;
  return {
    after(ms) {
      const wantedMs = clock.monotonicMs() + ms;
      if (stopped || wantedMs >= atMs) return;
      timer?.cancel();
      atMs = wantedMs;
      timer = clock.setTimer(ms, () => {
        atMs = Number.POSITIVE_INFINITY;
        ring();
      });
    },
    stop() {
      stopped = true;
      timer?.cancel();
    },
  };
}
