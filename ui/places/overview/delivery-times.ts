/** How long deliveries took, from counts by time (`GroupBy=DeliveryTime`). Pure. */
import type { StatsAnswer } from '../../../src/client/api-types.ts';

/** Seconds within which this share was delivered, Infinity beyond the longest that is counted; null = nothing was. */
export function secondsFor(share: number, { Items }: Pick<StatsAnswer, 'Items'>): number | null {
  const counts = Items.map(({ Group, Counts }) => ({
    within: Group === '' ? Number.POSITIVE_INFINITY : Number(Group),
    n: Counts.Delivered ?? 0,
  })).sort((a, b) => a.within - b.within);
  const all = counts.reduce((sum, { n }) => sum + n, 0);
  let left = all * share;
  for (const { within, n } of counts) {
    left -= n;
    if (all > 0 && left <= 0) return within;
  }
  return null;
}

/** `30 s`, `5 min`, `4 h`, `3 days`. */
export function durationText(seconds: number): string {
  if (seconds < 60) return `${seconds.toLocaleString()} s`;
  if (seconds < 3_600) return `${seconds / 60} min`;
  return seconds < 48 * 3_600 ? `${seconds / 3_600} h` : `${seconds / 86_400} days`;
}
