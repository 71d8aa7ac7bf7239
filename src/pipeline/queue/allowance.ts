/**
 * How many rows a site may have in memory: what it can use soon, less while the window is nearly full, so that slow sites
 * leave places for others. Rows that do not fit are read back from the store, and all later mail waits behind them: a fast
 * site holds about what it sends in a second, so that a burst stays in memory.
 */
import type { WindowLimits } from './ready-window.ts';

/** The most rows of a site that sends this many per second. */
const FAST_SITE_ROWS = 1024;
/** If more than this share of all rows is used, a site gets what it sends in a second, but not fewer than these. */
const BUSY_SHARE = 1 / 2;
const SLOW_ROWS = 4;
/** If more than this share is used, every site gets few. */
const CROWDED_SHARE = 3 / 4;
const CROWDED_ROWS = 32;

/** `demand`: rows that the site can use within the next seconds; `perSecond`: those that it sent in the last one. */
export function rowsAllowed(
  limits: WindowLimits,
  usedRows: number,
  demand: number,
  perSecond: number,
): number {
  const quick = Math.min(FAST_SITE_ROWS, limits.maxRows / 4, perSecond);
  const most = Math.max(limits.maxRowsPerSite, Math.floor(quick));
  const useful = Math.max(1, Math.min(most, demand));
  const used = usedRows / limits.maxRows;
  if (used <= BUSY_SHARE) return useful;
  const soon = Math.min(useful, Math.max(SLOW_ROWS, Math.ceil(perSecond)));
  return used > CROWDED_SHARE ? Math.min(soon, CROWDED_ROWS) : soon;
}
