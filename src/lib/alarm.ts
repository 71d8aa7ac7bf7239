/** One timer for everything with a known time: a token of a rate, a pause, a budget. Nothing is polled. */
import type { Clock, Timer } from './clock.ts';

export interface Alarm {
  /** Rings once, at the latest after this time. */
  after(ms: number): void;
  /** It will not ring again. */
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
