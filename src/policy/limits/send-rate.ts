/**
 * Sends per second of each token: a token bucket with a burst of twice the rate; no limit if neither the token nor the
 * server sets one. Takes one send, or refuses with 429 and the time to wait; returns the `RateLimit` fields
 * (draft-ietf-httpapi-ratelimit-headers) of the tightest rate, if a token shares those of its creators. Per process, in
 * memory, limited: a bucket that was dropped starts full.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
import type { Clock } from '../../lib/clock.ts';
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';

const BURST_SECONDS = 2;
const MAX_BUCKETS = 10_000;

export interface SendRate {
  /**
   * Takes `sends` (default 1; 0 only asks). Returns the headers for the answer, null without a limit, and `refused`, an
   * AppError rate-limited to throw, or null. A request for more than a full bucket needs a full one, and the rest
   * delays the next sends.
   */
  take(
    caller: Caller,
    sends?: number,
  ): { headers: Readonly<Record<string, string>>; refused: AppError | null } | null;
}

/** `perSecond`: the server's setting for tokens without their own, null = none. */
export function createSendRate(clock: Clock, options: { perSecond: number | null }): SendRate {
  const buckets = new BoundedMap<string, { left: number; atMs: number }>(MAX_BUCKETS);

  return {
    take(caller, sends = 1) {
      const rates = ratesOf(caller);
      if (rates.length === 0) return null;
      const nowMs = clock.monotonicMs();
      const states = rates.map(({ key, rate }) => {
        const capacity = Math.max(1, rate * BURST_SECONDS);
        const known = buckets.get(key);
        const left =
          known === undefined
            ? capacity
            : Math.min(capacity, known.left + ((nowMs - known.atMs) / 1000) * rate);
        const needed = Math.min(Math.max(1, sends), Math.floor(capacity));
        return { key, rate, capacity, left, needed };
      });
      const allowed = states.every(({ left, needed }) => left >= needed);
      let tightest: { rate: number; capacity: number; after: number; waitSeconds: number } | null = null;
      for (const { key, rate, capacity, left, needed } of states) {
        const after = allowed ? left - sends : left;
        buckets.set(key, { left: after, atMs: nowMs });
        const waitSeconds = Math.max(0, ((allowed ? 1 : needed) - after) / rate);
        const isTighter =
          tightest === null ||
          waitSeconds > tightest.waitSeconds ||
          (waitSeconds === tightest.waitSeconds && after < tightest.after);
        if (isTighter) tightest = { rate, capacity, after, waitSeconds };
      }
      if (tightest === null) return null;
      const { rate, capacity, after, waitSeconds } = tightest;
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

  /**
   * Its own rate, and those of its creators that it shares. Tokens that replace one another have one owner, and one
   * rate.
   */
  function ratesOf({ owner, rateLimit, bounds }: Caller): { key: string; rate: number }[] {
    const own = { key: owner, perSecond: rateLimit };
    return [own, ...(bounds?.rateShares ?? [])].flatMap(({ key, perSecond }) => {
      const rate = perSecond ?? options.perSecond;
      return rate === null ? [] : [{ key, rate }];
    });
  }
}
