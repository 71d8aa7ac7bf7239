/** Figures of the API become bars without gaps. */
import { describe, expect, it } from 'vitest';
import type { StatsAnswer } from '../../../src/client/api-types.ts';
import { barsOf, beforeOf, comparison, percent, queryOf, rangeOf } from './ranges.ts';

const NOW = Date.parse('2026-11-22T12:34:56Z');

describe('a range', () => {
  it('asks for whole bars, the last under way, in at most a hundred', () => {
    for (const name of ['24h', '7d', '30d', '90d'] as const) {
      const range = rangeOf(name);
      const { From, To } = queryOf(range, NOW);
      expect(Date.parse(String(To))).toBeGreaterThan(NOW);
      expect((Date.parse(String(To)) - Date.parse(String(From))) / range.barMs).toBeLessThan(100);
    }
    expect(queryOf(rangeOf('24h'), NOW)).toEqual({
      From: '2026-11-21T13:00:00.000Z',
      To: '2026-11-22T13:00:00.000Z',
      Interval: 'hour',
    });
  });

  it('is compared with the period before, up to the same hour', () => {
    expect(beforeOf(rangeOf('7d'), NOW)).toEqual({
      From: '2026-11-08T18:00:00.000Z',
      To: '2026-11-15T13:00:00.000Z',
      Interval: 'day',
    });
    expect([1_204, 1_120, 1_010, 990, 500, 3_000, 4, 0].map((count) => comparison(count, 1_000))).toEqual([
      ...['20% more than', '12% more than', 'about as many as', 'about as many as', '50% fewer than'],
      ...['3 times as many as', '99% fewer than', '100% fewer than'],
    ]);
  });

  it('puts hours into the bars of a week, and 0 where nothing was', () => {
    const range = rangeOf('7d');
    const interval = (At: string, Accepted: number) => ({ At, Counts: { Accepted }, Rates: {} });
    const answer = {
      ...queryOf(range, NOW),
      Items: [
        {
          Intervals: [
            interval('2026-11-22T12:00:00.000Z', 3),
            interval('2026-11-22T13:00:00.000Z', 4),
            interval('2026-11-22T11:00:00.000Z', 9),
          ],
        },
      ],
    } as unknown as StatsAnswer;
    const bars = barsOf(answer, range);
    expect(bars.at).toHaveLength(28);
    expect(bars.counts('Accepted').slice(-3)).toEqual([0, 9, 7]);
    expect(bars.counts('Bounced').every((count) => count === 0)).toBe(true);
  });
});

describe('a share', () => {
  it('has two digits below one per cent, and is all or nothing only where it is', () => {
    expect([0, 0.00002, 0.00018, 0.0011, 0.022, 0.959, 0.9995, 1].map(percent)).toEqual([
      '0%',
      '<0.01%',
      '0.02%',
      '0.11%',
      '2.2%',
      '95.9%',
      '>99.9%',
      '100%',
    ]);
  });
});
