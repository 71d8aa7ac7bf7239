/** How far back the figures go, and the bars that they are drawn in. Pure. */
import type { StatsAnswer } from '../../../src/client/api-types.ts';
import type { Query } from '../../api/call.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

export const RANGES = [
  {
    value: '24h',
    name: 'Day',
    long: 'the last 24 hours',
    before: 'the 24 hours before',
    ms: DAY,
    interval: 'hour',
    barMs: HOUR,
  },
  {
    value: '7d',
    name: 'Week',
    long: 'the last 7 days',
    before: 'the 7 days before',
    ms: 7 * DAY,
    interval: 'hour',
    barMs: 6 * HOUR,
  },
  {
    value: '30d',
    name: 'Month',
    long: 'the last 30 days',
    before: 'the 30 days before',
    ms: 30 * DAY,
    interval: 'day',
    barMs: DAY,
  },
  {
    value: '90d',
    name: '90 days',
    long: 'the last 90 days',
    before: 'the 90 days before',
    ms: 90 * DAY,
    interval: 'day',
    barMs: DAY,
  },
] as const;

export type RangeName = (typeof RANGES)[number]['value'];
export type Range = (typeof RANGES)[number];

export function rangeOf(name: RangeName): Range {
  return RANGES.find(({ value }) => value === name) ?? RANGES[0];
}

/** Whole bars, the last of them under way. */
export function queryOf({ ms, barMs, interval }: Range, now: number): Query {
  const to = Math.floor(now / barMs) * barMs + barMs;
  return { From: new Date(to - ms).toISOString(), To: new Date(to).toISOString(), Interval: interval };
}

/** The period of the same length before it, up to the hour that now is in this one. */
export function beforeOf(range: Range, now: number): Query {
  const { From } = queryOf(range, now);
  return {
    From: new Date(Date.parse(String(From)) - range.ms).toISOString(),
    To: new Date(Math.round((now - range.ms) / HOUR) * HOUR).toISOString(),
    Interval: 'day',
  };
}

export interface Bars {
  /** When each begins, epoch milliseconds. */
  at: readonly number[];
  /** By kind: a number for each bar. */
  counts(kind: string): readonly number[];
}

/** Times without events are 0. */
export function barsOf({ From, To, Items }: StatsAnswer, { barMs }: Range): Bars {
  const from = Math.floor(Date.parse(From) / barMs) * barMs;
  const size = Math.max(1, Math.ceil((Date.parse(To) - from) / barMs));
  const intervals = Items[0]?.Intervals ?? [];
  return {
    at: Array.from({ length: size }, (_, place) => from + place * barMs),
    counts(kind) {
      const sums = new Array<number>(size).fill(0);
      for (const { At, Counts } of intervals) {
        const place = Math.floor((Date.parse(At) - from) / barMs);
        sums[place] = (sums[place] ?? 0) + (Counts[kind] ?? 0);
      }
      return sums.slice(0, size);
    },
  };
}

const PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 1 });
const SMALL_PERCENT = new Intl.NumberFormat(undefined, { style: 'percent', maximumFractionDigits: 2 });

/** Of small shares the second digit counts: large receivers ask for less than 0.1 % of complaints. Nothing is shown as all or none that is not. */
export function percent(share: number): string {
  if (share > 0 && share < 0.0001) return `<${SMALL_PERCENT.format(0.0001)}`;
  if (share > 0.999 && share < 1) return `>${PERCENT.format(0.999)}`;
  return (share < 0.01 ? SMALL_PERCENT : PERCENT).format(share);
}

/**
 * How `count` compares with `before`, which is not 0: `8% more than`. Both are counted in whole hours, so a difference of 1% means
 * nothing. Only 0 is `100% fewer`.
 */
export function comparison(count: number, before: number): string {
  const ratio = count / before;
  if (Math.abs(ratio - 1) < 0.015) return 'about as many as';
  if (ratio >= 2) return `${ratio.toLocaleString(undefined, { maximumFractionDigits: 1 })} times as many as`;
  const change = count === 0 ? 1 : Math.min(0.99, Math.abs(ratio - 1));
  const percents = change.toLocaleString(undefined, { style: 'percent' });
  return `${percents} ${ratio > 1 ? 'more' : 'fewer'} than`;
}
