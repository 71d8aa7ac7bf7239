/**
 * A rate kept exactly with one number (generic cell rate algorithm, GCRA): when the next would come if all came evenly. What
 * is asked for is granted now, or the answer is how long to wait, so that nobody polls. Times are milliseconds of one clock;
 * pure but for the state a gate holds.
 */

/** `burst` (≥ 1) may go at once after a rest, then one every `intervalMs`; 0 = no limit. */
export interface EvenRate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** How long the next has to wait; `arrivalMs` is what `arrivalAfter` gave for the last. */
export function waitOf({ intervalMs, burst }: EvenRate, arrivalMs: number, nowMs: number): number {
  return intervalMs === 0 ? 0 : Math.max(0, arrivalMs - (burst - 1) * intervalMs - nowMs);
}

/** The state when `count` more go now, whether they may or not. */
export function arrivalAfter({ intervalMs }: EvenRate, arrivalMs: number, nowMs: number, count = 1): number {
  return intervalMs === 0 ? arrivalMs : Math.max(arrivalMs, nowMs) + count * intervalMs;
}

export interface RateGate {
  /** 0 = a token is there; else milliseconds until one is. Takes nothing. */
  waitMs(nowMs: number): number;
  /** Takes a token, whether there is one or not: a caller that did not ask first owes it. */
  take(nowMs: number): void;
  /** A token that was taken is not used after all. */
  giveBack(): void;
  /** The rate changes; what was used stays used. null = no limit. */
  set(perSecond: number | null, burst: number): void;
}

/** `burst` tokens (≥ 1) may go at once after a rest; then `perSecond` (may be below one; null = no limit). */
export function createRateGate(perSecond: number | null, burst: number): RateGate {
  let rate: EvenRate = { intervalMs: 0, burst };
  let arrivalMs = Number.NEGATIVE_INFINITY;
  const gate: RateGate = {
    waitMs: (nowMs) => waitOf(rate, arrivalMs, nowMs),
    take(nowMs) {
      arrivalMs = arrivalAfter(rate, arrivalMs, nowMs);
    },
    giveBack() {
      arrivalMs -= rate.intervalMs;
    },
    set(each, tokens) {
      rate = { intervalMs: each === null || each <= 0 ? 0 : 1000 / each, burst: Math.max(1, tokens) };
    },
  };
  gate.set(perSecond, burst);
  return gate;
}
