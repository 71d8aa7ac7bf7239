/**
 * The system's time moved by an offset: `jump` skips hours in which nothing would happen. Timers that fall due in them fire
 * at once, in the order of their times.
 */
import { type Clock, systemClock } from '../../src/lib/clock.ts';

export interface JumpingClock extends Clock {
  jump(ms: number): void;
}

interface Waiting {
  dueMs: number;
  fire(): void;
  cancelAlarm(): void;
}

/** Begins at this many milliseconds before now, and shows the system's time once all of them were jumped. */
export function createJumpingClock(behindMs: number): JumpingClock {
  const waiting = new Set<Waiting>();
  let jumpedMs = 0;
  const monotonicMs = () => systemClock.monotonicMs() + jumpedMs;

  const arm = (timer: Waiting) => {
    const alarm = systemClock.setTimer(timer.dueMs - monotonicMs(), () => {
      waiting.delete(timer);
      timer.fire();
    });
    timer.cancelAlarm = () => alarm.cancel();
  };

  return {
    now: () => systemClock.now() - behindMs + jumpedMs,
    monotonicMs,
    setTimer(delayMs, fire) {
      const timer: Waiting = { dueMs: monotonicMs() + Math.max(0, delayMs), fire, cancelAlarm() {} };
      waiting.add(timer);
      arm(timer);
      return {
        cancel() {
          timer.cancelAlarm();
          waiting.delete(timer);
        },
      };
    },
    jump(ms) {
      jumpedMs += ms;
      const inOrder = [...waiting].sort((a, b) => a.dueMs - b.dueMs);
      for (const timer of inOrder) timer.cancelAlarm();
      for (const timer of inOrder) if (waiting.has(timer)) arm(timer);
    },
  };
}
