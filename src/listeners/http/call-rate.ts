/**
 * Calls per second of one token, and of all that it made, to a costly operation (api.md §8, always on): a token bucket that holds one second's
 * worth. Given a caller it takes one call or throws 429 with how long to wait. Per process, in memory, bounded: a bucket
 * that was forgotten was full.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';
import { lineOf } from '../../policy/access/access.ts';

const MAX_BUCKETS = 10_000;

/** Throws AppError rate-limited where the caller has used up its calls. */
export type CallRate = (caller: Caller) => void;

/** `what` stands in the sentence: "This token may ask for … 5 times a second". */
export function createCallRate(clock: Clock, options: { perSecond: number; what: string }): CallRate {
  const { perSecond, what } = options;
  const buckets = new BoundedMap<string, { left: number; atMs: number }>(MAX_BUCKETS);

  return (caller) => {
    const line = lineOf(caller);
    const nowMs = clock.monotonicMs();
    const known = buckets.get(line);
    const left =
      known === undefined
        ? perSecond
        : Math.min(perSecond, known.left + ((nowMs - known.atMs) / 1000) * perSecond);
    buckets.set(line, { left: left >= 1 ? left - 1 : left, atMs: nowMs });
    if (left >= 1) return;
    throw new AppError('rate-limited', {
      message: `This token may ask for ${what} ${perSecond} times a second`,
      retryAfterSeconds: (1 - left) / perSecond,
    });
  };
}
