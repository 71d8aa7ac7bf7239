/**
 * Epoch numbers made of the time and a random part, so that no start gets a number again, even if the database lost its
 * last epochs.
 */

/** 2020-01-01. Seconds since then and 12 bits stay below 2^53 until the year 71,000. */
const FIRST_MS = 1_577_836_800_000;
const RANDOM_PARTS = 4096;

/** The least number of an epoch that begins now. `chance`: from 0 to 1, random; undefined = the least number is 1. */
export function leastEpoch(now: number, chance: number | undefined): number {
  if (chance === undefined) return 1;
  return Math.max(1, Math.floor((now - FIRST_MS) / 1000) * RANDOM_PARTS + Math.floor(chance * RANDOM_PARTS));
}
