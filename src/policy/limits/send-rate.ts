/**
 * Sends per second of each token (api.md §8): a token bucket with a burst of twice the rate, off where neither the
 * token nor the instance sets one. Given a caller it takes one send, or refuses with 429 and how long to wait, and
 * leaves the `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) for the answer. Per process, in memory,
 * bounded: a bucket that was forgotten was full.
 */
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';

const BURST_SECONDS = 2;
const MAX_BUCKETS = 10_000;

export interface SendRate {
  /**
   * Takes `sends` (default 1; 0 only looks). The headers to answer with, null where no limit is on. `refused` is an
   * AppError rate-limited to throw, or null. Who takes more than a full bucket holds needs a full one, and owes the rest.
   */
  take(
    caller: Caller,
    sends?: number,
  ): { headers: Readonly<Record<string, string>>; refused: AppError | null } | null;
}

/** `perSecond`: the instance's rule for tokens without an own one, null = none. */
export function createSendRate(clock: Clock, options: { perSecond: number | null }): SendRate {
  const buckets = new Map<string, { left: number; atMs: number }>();

  return {
    take(caller, sends = 1) {
      const rate = caller.rateLimit ?? options.perSecond;
      if (rate === null) return null;
      const capacity = Math.max(1, rate * BURST_SECONDS);
      const nowMs = clock.monotonicMs();
      const known = buckets.get(caller.tokenId);
      const left =
        known === undefined
          ? capacity
          : Math.min(capacity, known.left + ((nowMs - known.atMs) / 1000) * rate);
      const needed = Math.min(Math.max(1, sends), Math.floor(capacity));
      const allowed = left >= needed;
      const after = allowed ? left - sends : left;
      buckets.delete(caller.tokenId);
      buckets.set(caller.tokenId, { left: after, atMs: nowMs });
      forgetOldest();
      const waitSeconds = Math.max(0, ((allowed ? 1 : needed) - after) / rate);
      return {
        headers: {
          'ratelimit-policy': `"send";q=${Math.floor(capacity)};w=${BURST_SECONDS}`,
          ratelimit: `"send";r=${Math.max(0, Math.floor(after))};t=${Math.max(1, Math.ceil(waitSeconds))}`,
        },
        refused: allowed
          ? null
          : new AppError('rate-limited', {
              message: `This token may send ${rate} requests a second`,
              retryAfterSeconds: waitSeconds,
            }),
      };
    },
  };

  function forgetOldest(): void {
    if (buckets.size <= MAX_BUCKETS) return;
    const oldest = buckets.keys().next();
    if (!oldest.done) buckets.delete(oldest.value);
  }
}
