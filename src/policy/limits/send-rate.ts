/**
 * Sends per second of each token: a token bucket with a burst of twice the rate, off where neither the
 * token nor the instance sets one. Given a caller it takes one send, or refuses with 429 and how long to wait, and
 * leaves the `RateLimit` fields (draft-ietf-httpapi-ratelimit-headers) for the answer: of the tightest rate, where a token
 * shares those of its makers. Per process, in memory, bounded: a bucket that was forgotten was full.
 */
import { BoundedMap } from '../../lib/bounded-map.ts';
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

  /** Its own rate, and those of its makers that it shares. Tokens that replace one another have one owner, and one rate. */
  function ratesOf({ owner, rateLimit, bounds }: Caller): { key: string; rate: number }[] {
    const own = { key: owner, perSecond: rateLimit };
    return [own, ...(bounds?.rateShares ?? [])].flatMap(({ key, perSecond }) => {
      const rate = perSecond ?? options.perSecond;
      return rate === null ? [] : [{ key, rate }];
    });
  }
}
