/**
 * Keeps a rate exactly with one number (generic cell rate algorithm, GCRA): the time at which the next token would be
 * due if all were spaced evenly. A request is granted now, or the answer is how long to wait, so no caller polls. Times
 * are milliseconds of one clock.
 */

/** After a pause, `burst` (≥ 1) are allowed at once, then one every `intervalMs`; 0 = no limit. */
export interface EvenRate {
  readonly intervalMs: number;
  readonly burst: number;
}

/** How long the next one has to wait; `arrivalMs` is the last result of `arrivalAfter`. */
export function waitOf({ intervalMs, burst }: EvenRate, arrivalMs: number, nowMs: number): number {
  return intervalMs === 0 ? 0 : Math.max(0, arrivalMs - (burst - 1) * intervalMs - nowMs);
}

/** The state after `count` more are taken, whether the rate allows them or not. */
export function arrivalAfter({ intervalMs }: EvenRate, arrivalMs: number, nowMs: number, count = 1): number {
  return intervalMs === 0 ? arrivalMs : Math.max(arrivalMs, nowMs) + count * intervalMs;
}

export interface RateGate {
  /** 0 = a token is available; otherwise milliseconds until one is. Takes none. */
  waitMs(nowMs: number): number;
  /** Takes a token even if none is available; a caller that did not ask first makes the next ones wait longer. */
  take(nowMs: number): void;
  /** Returns a token that was taken but not used. */
  giveBack(): void;
  /** Changes the rate; what was used stays used. null = no limit. */
  set(perSecond: number | null, burst: number): void;
}

/** After a pause, `burst` tokens (≥ 1) are available at once, then `perSecond` (may be below one; null = no limit). */
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
