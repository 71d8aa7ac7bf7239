/**
 * Limits the calls per second of an expensive operation, per token together with all tokens derived from it; after a
 * pause, `BURST_SECONDS` worth at once, because one page of the dashboard asks several times. Takes one call or throws 429 with the time to wait. Per process, in memory,
 * limited.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import { createRateGate, type RateGate } from '../../lib/rate-gate.ts';
import type { Caller } from '../../model/submission.ts';
import { lineOf } from '../../policy/access/rights.ts';

const MAX_CALLERS = 10_000;
const BURST_SECONDS = 4;

/** Throws AppError rate-limited if the caller has used up its calls. */
export type CallRate = (caller: Caller) => void;

/** `what` is a part of the message: "This token may ask for … 5 times a second". */
export function createCallRate(clock: Clock, options: { perSecond: number; what: string }): CallRate {
  const { perSecond, what } = options;
  const gates = new BoundedMap<string, RateGate>(MAX_CALLERS);

  return (caller) => {
    const line = lineOf(caller);
    const gate = gates.get(line) ?? createRateGate(perSecond, perSecond * BURST_SECONDS);
    gates.set(line, gate);
    const nowMs = clock.monotonicMs();
    const waitMs = gate.waitMs(nowMs);
    if (waitMs === 0) return gate.take(nowMs);
    throw new AppError('rate-limited', {
      message: `${caller.session === undefined ? 'This token' : 'You'} may ask for ${what} ${perSecond} times a second`,
      retryAfterSeconds: waitMs / 1000,
    });
  };
}
