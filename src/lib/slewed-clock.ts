/**
 * A clock whose wall time follows that of another machine: in small steps, so that it never goes back and no interval
 * becomes much shorter or longer. Once it follows, a wall clock of this machine that is set changes nothing.
 */
import type { Clock } from './clock.ts';

export interface SlewedClock extends Clock {
  /**
   * How far wall time is behind (+) or ahead of the other's: it is approached from now on, or at once. Returns how far the
   * wall clock of this machine is behind it.
   */
  follow(differenceMs: number, atOnce?: boolean): number;
}

/** Of the time that passes. */
const SLEW = 0.05;
/** Where the wall clock of this machine agrees with the other within this, a larger difference is passed at once. */
const FAR_MS = 60_000;

export function createSlewedClock(base: Clock): SlewedClock {
  /** When monotonic time began; null: it follows nothing. */
  let began: number | null = null;
  let offsetMs = 0;
  let targetMs = 0;
  let steppedMs = base.monotonicMs();

  function step(): void {
    const nowMs = base.monotonicMs();
    const mostMs = (nowMs - steppedMs) * SLEW;
    steppedMs = nowMs;
    offsetMs += Math.max(-mostMs, Math.min(mostMs, targetMs - offsetMs));
  }

  return {
    now() {
      step();
      return Math.round((began === null ? base.now() : began + base.monotonicMs()) + offsetMs);
    },
    monotonicMs: () => base.monotonicMs(),
    setTimer: (delayMs, fire) => base.setTimer(delayMs, fire),
    follow(differenceMs, atOnce = false) {
      step();
      began ??= base.now() - base.monotonicMs();
      targetMs = offsetMs + differenceMs;
      const behindMs = began + base.monotonicMs() + targetMs - base.now();
      // After a suspension, which monotonic time does not count.
      const isLeft = Math.abs(differenceMs) > FAR_MS && Math.abs(behindMs) <= FAR_MS;
      if (atOnce || isLeft) offsetMs = targetMs;
      return behindMs;
    },
  };
}
