/** Counts by time become the times within which half and almost all mail was delivered. */
import { describe, expect, it } from 'vitest';
import { durationText, secondsFor } from './delivery-times.ts';

const answer = (counts: Record<string, number>) => ({
  Items: Object.entries(counts).map(([Group, Delivered]) => ({
    ...{ Group, IsProvider: false, Counts: { Delivered }, Intervals: [] },
    Rates: {
      Delivered: null,
      Bounced: null,
      Failed: null,
      Opened: null,
      Clicked: null,
      Complained: null,
      Unsubscribed: null,
    },
  })),
});

describe('delivery times', () => {
  it('names the time within which a share was delivered', () => {
    const counts = answer({ 300: 8, 0.25: 90, '': 2 });
    expect([0.5, 0.9, 0.91, 0.98, 0.99].map((share) => secondsFor(share, counts))).toEqual([
      0.25,
      0.25,
      300,
      300,
      Number.POSITIVE_INFINITY,
    ]);
    expect(secondsFor(0.5, answer({}))).toBeNull();
  });

  it('is written in the unit that people use', () => {
    expect([0.1, 30, 60, 900, 14_400, 259_200].map(durationText)).toEqual([
      ...['0.1 s', '30 s', '1 min', '15 min', '4 h', '3 days'],
    ]);
  });
});
