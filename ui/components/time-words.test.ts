import { describe, expect, it } from 'vitest';
import { age, ago, ahead, since } from './time-words.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const day = (ms: number) =>
  new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }).format(NOW + ms);

describe('the words of a time', () => {
  it.each([
    [10_000, 'now', 'just now', 'for < 1 min'],
    [5 * MINUTE, '5 min', '5 min ago', 'for 5 min'],
    [59.9 * MINUTE, '59 min', '59 min ago', 'for 59 min'],
    [3.9 * HOUR, '3 h', '3 h ago', 'for 3 h'],
    [2 * DAY, day(-2 * DAY), day(-2 * DAY), `since ${day(-2 * DAY)}`],
  ])('say %i ms as a column, a sentence and a state do', (ms, column, sentence, state) => {
    const words = [age, ago, since].map((say) => say(NOW - ms, NOW));
    expect(words).toEqual([column, sentence, state]);
  });

  it('take a clock that is behind for now', () => {
    expect([age, ago, since].map((say) => say(NOW + HOUR, NOW))).toEqual(['now', 'just now', 'for < 1 min']);
  });

  it('name the year of a day that is long ago', () => {
    expect(ago(NOW - 400 * DAY, NOW)).toContain('2025');
    expect(since(NOW - 400 * DAY, NOW)).toMatch(/^since .*2025/);
  });

  it.each([
    [-1, 'now'],
    [1, 'in < 1 min'],
    [4 * MINUTE, 'in 4 min'],
    [59.6 * MINUTE, 'in 1 h'],
    [23.6 * HOUR, `on ${day(DAY)}`],
    [2 * DAY, `on ${day(2 * DAY)}`],
  ])('say what is %i ms ahead', (ms, words) => {
    expect(ahead(NOW + ms, NOW)).toBe(words);
  });
});
