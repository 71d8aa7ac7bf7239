/** Where a search for old rows ends, which goes by their numbers. */

/**
 * The row is too young, and so is what follows. One from after `now` was made while the clock was ahead, and says nothing of
 * those.
 */
export function isYoung(at: number, { before, now }: { before: number; now: number }): boolean {
  return at >= before && at <= now;
}
