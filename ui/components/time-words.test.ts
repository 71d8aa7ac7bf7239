import { describe, expect, it } from 'vitest';
import { age, ago, ahead, due, since } from './time-words.ts';

const NOW = Date.parse('2026-11-23T12:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const day = (ms: number) =>
  new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric' }).format(NOW + ms);

describe('the words of a time', () => {
  it.each([
    [9_000, 'just now', 'just now', 'for < 1 min'],
    [12_000, '12 s', '12 s ago', 'for < 1 min'],
    [59_999, '59 s', '59 s ago', 'for < 1 min'],
    [5 * MINUTE, '5 min', '5 min ago', 'for 5 min'],
    [59.9 * MINUTE, '59 min', '59 min ago', 'for 59 min'],
    [3.9 * HOUR, '3 h', '3 h ago', 'for 3 h'],
    [2 * DAY, day(-2 * DAY), day(-2 * DAY), `since ${day(-2 * DAY)}`],
  ])('say %i ms as a column, a sentence and a state do', (ms, column, sentence, state) => {
    const words = [age, ago, since].map((say) => say(NOW - ms, NOW));
    expect(words).toEqual([column, sentence, state]);
  });

  it('take a clock that is behind for no time', () => {
    const words = [age, ago, since].map((say) => say(NOW + HOUR, NOW));
    expect(words).toEqual(['just now', 'just now', 'for < 1 min']);
  });

  it('name the year of a day that is long ago', () => {
    expect(ago(NOW - 400 * DAY, NOW)).toContain('2025');
    expect(since(NOW - 400 * DAY, NOW)).toMatch(/^since .*2025/);
  });

  it.each([
    [-2 * DAY, day(-2 * DAY)],
    [-3 * MINUTE, '3 min ago'],
    [-12_000, '12 s ago'],
    [-1, 'just now'],
    [1, 'in < 1 min'],
    [4 * MINUTE, 'in 4 min'],
    [59.6 * MINUTE, 'in 1 h'],
    [23.6 * HOUR, `on ${day(DAY)}`],
    [2 * DAY, `on ${day(2 * DAY)}`],
  ])('say what is %i ms ahead', (ms, words) => {
    expect(ahead(NOW + ms, NOW)).toBe(words);
  });

  it('say that the next try of what waits is due', () => {
    const words = [-3 * MINUTE, 0, 1, 4 * MINUTE].map((ms) => due(NOW + ms, NOW));
    expect(words).toEqual(['due now', 'due now', 'in < 1 min', 'in 4 min']);
  });
});
