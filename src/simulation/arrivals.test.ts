import { expect, it } from 'vitest';
import { arrivalsOf } from './arrivals.ts';
import { readPlan } from './plan/read-plan.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;

function arrivals(plan: object, weight = 1) {
  const read = readPlan(JSON.stringify(plan), 'p', null);
  if (read.kind === 'refused') throw new Error(read.problems.join('\n'));
  return [...arrivalsOf(read.plan, weight)];
}

it('mail comes evenly between its hours, in order of time, on its days, and is numbered through', () => {
  const found = arrivals({
    days: 2,
    mail: [
      { provider: 'google', recipients: 2, lane: 'normal', from: '08:00', until: '10:00' },
      { provider: 'gmx', recipients: 1, lane: 'normal', from: '09:00', until: '09:00', days: [2] },
    ],
  });
  expect(found.map(({ atMs, mail, count, n }) => [atMs, mail.provider, count, n])).toEqual([
    [8.5 * HOUR, 'google', 1, 0],
    [9.5 * HOUR, 'google', 1, 1],
    [DAY + 8.5 * HOUR, 'google', 1, 2],
    [DAY + 9 * HOUR, 'gmx', 1, 1],
    [DAY + 9.5 * HOUR, 'google', 1, 3],
  ]);
});

it('only bulk mail has several recipients in a message, at most 50, and never fewer than 200 messages a day', () => {
  const counts = (recipients: number, lane: string) => {
    const found = arrivals({ mail: [{ provider: 'google', recipients, lane }] });
    expect(found.reduce((sum, { count }) => sum + count, 0)).toBe(recipients);
    return [found.length, Math.max(...found.map(({ count }) => count))];
  };
  expect(counts(300, 'bulk')).toEqual([300, 1]);
  expect(counts(1000, 'bulk')).toEqual([200, 5]);
  expect(counts(20_010, 'bulk')).toEqual([401, 50]);
  expect(counts(1000, 'normal')).toEqual([1000, 1]);
});

it('a sample has at least one recipient of every kind of mail', () => {
  const found = arrivals(
    {
      mail: [
        { provider: 'google', recipients: 1000 },
        { provider: 'gmx', recipients: 3 },
      ],
    },
    100,
  );
  expect(found.filter(({ mail }) => mail.provider === 'google')).toHaveLength(10);
  expect(found.filter(({ mail }) => mail.provider === 'gmx')).toHaveLength(1);
});
