/**
 * How many answers may be kept waiting at once: so many in all, so many of one token, because each holds a connection.
 * Given a caller it takes a place, to be given back once, or throws 429. Per process, in memory.
 */
import { AppError } from '../../lib/errors.ts';
import type { Caller } from '../../model/submission.ts';

/** Takes a place and gives back how to leave it. Throws AppError rate-limited. */
export type Slots = (caller: Caller) => () => void;

const RETRY_AFTER_SECONDS = 5;

/** `what` stands in the sentence: "… wait already". */
export function createSlots(options: { perToken: number; total: number; what: string }): Slots {
  const taken = new Map<string, number>();
  let total = 0;

  return ({ tokenId }) => {
    const own = taken.get(tokenId) ?? 0;
    if (own >= options.perToken || total >= options.total) {
      throw new AppError('rate-limited', {
        message: `Too many ${options.what} at once`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    taken.set(tokenId, own + 1);
    total += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      total -= 1;
      const now = (taken.get(tokenId) ?? 1) - 1;
      if (now === 0) taken.delete(tokenId);
      else taken.set(tokenId, now);
    };
  };
}
