/** Numbers of epochs that no start gets twice, also where the data lost the last ones: of the time and of chance. */

/** 2020-01-01. Seconds since then and 12 bits stay below 2^53 until the year 71,000. */
const FIRST_MS = 1_577_836_800_000;
const CHANCES = 4096;

/** The least number of an epoch that begins now; 1 where no chance is given. */
export function leastEpoch(now: number, chance: number | undefined): number {
  if (chance === undefined) return 1;
  return Math.max(1, Math.floor((now - FIRST_MS) / 1000) * CHANCES + Math.floor(chance * CHANCES));
}
