import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { closest, meantOrKnown, probablyMeant } from './closest.ts';

describe('closest', () => {
  it.each([
    ['POSTRIDER_ROUT', 'POSTRIDER_ROUTE'],
    ['POSTRIDER_HTTPS', 'POSTRIDER_HTTP'],
    ['POSTRIDER_MAXAGE', 'POSTRIDER_MAX_AGE'],
    ['x'.repeat(100_000), 'POSTRIDER_HTTP'],
  ])('of %s is %s', (word, found) => {
    expect(closest(word, ['POSTRIDER_HTTP', 'POSTRIDER_ROUTE', 'POSTRIDER_MAX_AGE'])).toBe(found);
  });

  it('is nothing among none', () => {
    expect(closest('a', [])).toBe('');
  });
});

describe('probablyMeant', () => {
  it.each([
    ['requiretl', 'RequireTls'],
    ['Quata', 'Quota'],
    ['Foo', ''],
    ['RequireTls'.repeat(7), ''],
  ])('by %s is "%s"', (word, meant) => {
    expect(probablyMeant(word, ['RequireTls', 'Quota', 'Tracking'])).toBe(meant);
  });

  it('costs little for the names that a request of many messages may hold, which are nowhere near', () => {
    const known = Array.from({ length: 25 }, (_, n) => 'PlainContent'.slice(0, 4 + (n % 9)));
    const words = Array.from({ length: 2_500 }, (_, n) => `${n}`.padEnd(64, 'abcdefgh'));
    expect(cpuMsOf(() => void words.map((word) => probablyMeant(word, known)))).toBeLessThan(100);
  });
});

describe('an unknown name', () => {
  it('is answered with the one that was meant, else with those that there are', () => {
    expect(meantOrKnown('perday', ['PerDay', 'PerHour'])).toBe('; did you mean PerDay?');
    expect(meantOrKnown('colour', ['PerDay', 'PerHour'])).toBe('; known: PerDay, PerHour');
    expect(meantOrKnown('colour', [])).toBe('');
  });
});
