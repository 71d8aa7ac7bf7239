/**
 * A clock whose wall time follows that of another machine: in small steps, so that it never goes back and no interval
 * becomes much shorter or longer.
 */
import type { Clock } from './clock.ts';

export interface SlewedClock extends Clock {
  /** How far wall time is behind (+) or ahead of the other's: it is approached from now on, or at once. */
  follow(differenceMs: number, atOnce?: boolean): void;
}

/** Of the time that passes. */
const SLEW = 0.05;

export function createSlewedClock(base: Clock): SlewedClock {
  let offsetMs = 0;
  let targetMs = 0;
  let steppedMs = base.monotonicMs();

  function step(): void {
    if (offsetMs === targetMs) return;
    const nowMs = base.monotonicMs();
    const mostMs = (nowMs - steppedMs) * SLEW;
    steppedMs = nowMs;
    offsetMs += Math.max(-mostMs, Math.min(mostMs, targetMs - offsetMs));
  }

  return {
    now() {
      step();
      return Math.round(base.now() + offsetMs);
    },
    monotonicMs: () => base.monotonicMs(),
    setTimer: (delayMs, fire) => base.setTimer(delayMs, fire),
    follow(differenceMs, atOnce = false) {
      step();
      steppedMs = base.monotonicMs();
      targetMs = offsetMs + differenceMs;
      if (atOnce) offsetMs = targetMs;
    },
  };
}
