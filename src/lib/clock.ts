/**
 * The only access to time. Code that waits or takes timestamps gets a `Clock`; tests and simulations pass a virtual
 * one, so that days pass in milliseconds. Wall time is for timestamps, monotonic time for intervals and leases.
 */

/** A pending timer. `cancel` after it fired does nothing. */
export interface Timer {
  cancel(): void;
}

export interface Clock {
  /** Wall clock, milliseconds since the Unix epoch (whole). */
  now(): number;
  /** Monotonic milliseconds (fractional) from an arbitrary start. */
  monotonicMs(): number;
  /** Calls `fire` once after `delayMs` (clamped to ≥ 0). Does not keep the process alive by itself. */
  setTimer(delayMs: number, fire: () => void): Timer;
}

/** The longest delay of a timer in Node; a longer one would fire at once. */
const MAX_DELAY_MS = 2_147_483_647;

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer(delayMs, fire) {
    const handle = setTimeout(fire, Math.min(Math.max(0, delayMs), MAX_DELAY_MS));
    handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs` on `clock`. */
export function sleep(clock: Clock, delayMs: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(delayMs, resolve);
  });
}

/** Resolves when `work` has, after `ms` at the latest. */
export function atMost(clock: Pick<Clock, 'setTimer'>, ms: number, work: Promise<unknown>): Promise<void> {
  return new Promise((resolve, reject) => {
    const limit = clock.setTimer(ms, resolve);
    work.then(() => resolve(), reject).finally(() => limit.cancel());
  });
}

/** Keeps the process alive until the returned function is called, for times when only timers are pending. */
export function keepProcess(): () => void {
  const handle = setInterval(() => {}, MAX_DELAY_MS);
  return () => clearInterval(handle);
}
