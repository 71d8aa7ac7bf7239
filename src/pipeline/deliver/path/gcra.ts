/**
 * A rate kept exactly with one number (generic cell rate algorithm): what is asked for is granted now, or the answer is
 * how long to wait, so that nobody polls. Pure but for the state it holds; times are monotonic milliseconds.
 */

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
  let intervalMs = 0;
  let slackMs = 0;
  /** Theoretical arrival time of the next token. */
  let arrivalMs = Number.NEGATIVE_INFINITY;
  const gate: RateGate = {
    waitMs: (nowMs) => (intervalMs === 0 ? 0 : Math.max(0, arrivalMs - slackMs - nowMs)),
    take(nowMs) {
      if (intervalMs > 0) arrivalMs = Math.max(arrivalMs, nowMs) + intervalMs;
    },
    giveBack() {
      arrivalMs -= intervalMs;
    },
    set(rate, tokens) {
      intervalMs = rate === null || rate <= 0 ? 0 : 1000 / rate;
      slackMs = intervalMs * (Math.max(1, tokens) - 1);
    },
  };
  gate.set(perSecond, burst);
  return gate;
}
