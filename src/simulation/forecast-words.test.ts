import { describe, expect, it } from 'vitest';
import type { Forecast, GroupForecast } from './forecast.ts';
import { conclusion, duration, mailTable, method, time, waitText } from './forecast-words.ts';

const HOUR = 3_600_000;
const GROUP: GroupForecast = {
  ...{ provider: 'google', lane: 'bulk', sender: 'a.example', recipients: 10, delivered: 10 },
  ...{ bounced: 0, expired: 0, refused: 0, waiting: 0, lastAtMs: HOUR },
  ...{ delivery: { halfMs: 500, mostMs: 90_000, longestMs: HOUR }, peak: { waiting: 4, atMs: HOUR } },
};
const FORECAST = {
  ...{ startAt: 0, days: 1, nodes: 1, recipients: 10, simulated: 10, weight: 1, exactToMs: 0 },
  ...{ doneAtMs: HOUR, untilMs: HOUR, interrupted: false, groups: [GROUP], tookMs: 0 },
} as unknown as Forecast;

it.each([
  [380, '380 ms'],
  [1500, '1.5 s'],
  [90_000, '90 s'],
  [120_000, '2 min'],
  [2 * HOUR, '2 h'],
  [12.4 * HOUR, '12 h'],
  [60 * HOUR, '2.5 days'],
])('%i milliseconds are %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it('a time names the day only where there are several', () => {
  expect(time(1.5 * HOUR, { days: 1 })).toBe('01:30');
  expect(time(25 * HOUR, { days: 1 })).toBe('day 2, 01:00');
  expect(time(1.5 * HOUR, { days: 2 })).toBe('day 1, 01:30');
});

describe('the conclusion', () => {
  const told = (more: Partial<Forecast>) => conclusion({ ...FORECAST, ...more });

  it.each([
    ['everything is delivered by 01:00.', {}],
    ['everything has ended by 01:00; 1 are not delivered.', { groups: [{ ...GROUP, bounced: 1 }] }],
    ['everything has ended by 01:00; 2 are not delivered.', { groups: [{ ...GROUP, expired: 2 }] }],
    ['everything has ended by 01:00; 3 are not delivered.', { groups: [{ ...GROUP, refused: 3 }] }],
    ['4 still wait', { doneAtMs: null, groups: [{ ...GROUP, waiting: 4 }] }],
    ['stopped at 01:00 of the plan', { interrupted: true, doneAtMs: null }],
  ])('says: %s', (text, more) => {
    expect(told(more)).toContain(text);
  });
});

it('the method names the exactness of a sample', () => {
  expect(method(FORECAST)).toBe('Each of 10 recipients was simulated. It took 0 ms.');
  const sample = method({ ...FORECAST, recipients: 1000, weight: 100, exactToMs: 272_000 });
  expect(sample).toContain('10 of 1,000 recipients were simulated, each for 100');
  expect(sample).toContain('times are exact to 5 min');
});

it('the table of mail has the columns that say something', () => {
  const { head, rows } = mailTable({
    ...FORECAST,
    groups: [GROUP, { ...GROUP, refused: 5, sender: 'b.example' }],
  });
  expect(head).toEqual(['MAIL', 'RECIPIENTS', 'DELIVERED', 'REFUSED', 'HALF IN', '99 % IN', 'LAST AT']);
  expect(rows[1]).toEqual(['google bulk b.example', '10', '10', '5', '500 ms', '90 s', '01:00']);
});

it('a wait that was seen once has no span', () => {
  const wait = { peak: 1200, peakAtMs: HOUR, fromMs: HOUR, untilMs: HOUR } as Forecast['waits'][number];
  expect(waitText(wait, FORECAST)).toBe('1,200 at 01:00');
  expect(waitText({ ...wait, untilMs: 2 * HOUR }, FORECAST)).toBe('1,200 at 01:00, from 01:00 to 02:00');
});
