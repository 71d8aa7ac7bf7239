/**
 * Limits how many answers wait at once, because each uses a connection: in total, per token, and per tenant, who may
 * have any number of tokens: tokens derived from one another count together, and so do those limited to the same
 * domain. Takes a place, to be returned once, or throws 429. Per process, in memory.
 */
import { AppError } from '../../../lib/errors.ts';
import { createTally } from '../../../lib/tally.ts';
import type { Caller } from '../../../model/submission.ts';
import { callerDomains, sharersOf } from '../../../policy/access/rights.ts';

/** Takes a place; returns the function that frees it. Throws AppError rate-limited. */
export type Slots = (caller: Caller) => () => void;

/** Runs `work` in a place of `caller`. */
export async function inSlot<Result>(
  slots: Slots,
  caller: Caller,
  work: () => Promise<Result>,
): Promise<Result> {
  const leave = slots(caller);
  try {
    return await work();
  } finally {
    leave();
  }
}

const RETRY_AFTER_SECONDS = 5;

/** `what` is a part of the message: "… wait already". */
export function createSlots(options: {
  perToken: number;
  perTenant: number;
  total: number;
  what: string;
}): Slots {
  const taken = createTally();
  let total = 0;

  return (caller) => {
    const places = [
      { key: `token ${caller.tokenId}`, max: options.perToken },
      // Tokens of all domains belong to the operator.
      ...(callerDomains(caller) === undefined
        ? []
        : sharersOf(caller).map((key) => ({ key, max: options.perTenant }))),
    ];
    if (total >= options.total || places.some(({ key, max }) => taken.of(key) >= max)) {
      throw new AppError('rate-limited', {
        message: `Too many ${options.what} at once`,
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      });
    }
    for (const { key } of places) taken.add(key, 1);
    total += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      total -= 1;
      for (const { key } of places) taken.add(key, -1);
    };
  };
}
