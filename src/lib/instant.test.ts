import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseInstant } from './instant.ts';

describe('parseInstant', () => {
  it.each([
    ['2026-11-20T08:00:00Z', Date.UTC(2026, 10, 20, 8)],
    ['2026-11-20T08:00Z', Date.UTC(2026, 10, 20, 8)],
    ['2026-11-20 08:00:00.5+01:00', Date.UTC(2026, 10, 20, 7, 0, 0, 500)],
    ['2026-11-20T08:00:00-0530', Date.UTC(2026, 10, 20, 13, 30)],
    ['2028-02-29t00:00:00z', Date.UTC(2028, 1, 29)],
    [1_790_000_000, 1_790_000_000_000],
    [1_790_000_000.25, 1_790_000_000_250],
    [0, 0],
  ])('reads %s', (given, at) => {
    expect(parseInstant(given)).toBe(at);
  });

  it.each([
    '2026-11-20T08:00:00',
    '2026-11-20',
    '2026-02-31T00:00:00Z',
    '2027-02-29T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-11-20T24:00:00Z',
    '2026-11-20T08:60:00Z',
    '2026-11-20T08:00:00+24:00',
    '0099-01-01T00:00:00Z',
    'tomorrow',
    '1790000000',
    '',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    253_402_300_800,
    null,
    undefined,
    {},
    [1_790_000_000],
    true,
  ])('refuses %s', (given) => {
    expect(parseInstant(given)).toBeNull();
  });

  it('takes digits for seconds only where it is told to', () => {
    expect(parseInstant(' 1790000000 ', true)).toBe(1_790_000_000_000);
    expect(parseInstant('1e9', true)).toBeNull();
  });

  it('reads back every instant that Date writes, in every offset', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 86_400_000, max: 253_402_200_000_000 }),
        fc.integer({ min: -839, max: 839 }),
        (at, minutes) => {
          expect(parseInstant(new Date(at).toISOString())).toBe(at);
          const [h, m] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
          const offset = `${minutes < 0 ? '-' : '+'}${String(h).padStart(2, '0')}:${String(m).padStart(2, '0')}`;
          const local = new Date(at + minutes * 60_000).toISOString().replace('Z', offset);
          expect(parseInstant(local)).toBe(at);
        },
      ),
    );
  });

  it('never throws, and gives whole milliseconds in range or nothing', () => {
    fc.assert(
      fc.property(fc.anything(), fc.boolean(), (value, digits) => {
        const at = parseInstant(value, digits);
        expect(at === null || (Number.isInteger(at) && at >= 0)).toBe(true);
      }),
    );
  });
});
