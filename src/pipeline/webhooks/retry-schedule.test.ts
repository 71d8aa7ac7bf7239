import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Random } from '../../lib/random.ts';
import { DEFAULT_RETRY_DELAYS_MS, MAX_RETRY_AFTER_MS, retryAfterMs, retryDelayMs } from './retry-schedule.ts';

const NOW = Date.parse('2026-11-21T00:00:00Z');
const at = (float: number): Random => ({ bytes: (n) => new Uint8Array(n), float: () => float });

describe('when a webhook call is tried again', () => {
  it('makes ten tries over 75 h 35 min and 5 s', () => {
    expect(DEFAULT_RETRY_DELAYS_MS).toHaveLength(9);
    const total = DEFAULT_RETRY_DELAYS_MS.reduce((sum, ms) => sum + ms, 0);
    expect(total).toBe((75 * 60 + 35) * 60_000 + 5_000);
    expect(retryDelayMs(DEFAULT_RETRY_DELAYS_MS, 9, null, at(0.5))).toBe(86_400_000);
    expect(retryDelayMs(DEFAULT_RETRY_DELAYS_MS, 10, null, at(0.5))).toBeNull();
  });

  it('spreads each wait by 20 % either way', () => {
    expect(retryDelayMs([10_000], 1, null, at(0))).toBe(8_000);
    expect(retryDelayMs([10_000], 1, null, at(0.999_999))).toBe(12_000);
  });

  it('ends after the last wait of a list that the operator gave', () => {
    expect(retryDelayMs([1_000, 2_000], 2, null, at(0.5))).toBe(2_000);
    expect(retryDelayMs([1_000, 2_000], 3, null, at(0.5))).toBeNull();
    expect(retryDelayMs([], 1, null, at(0.5))).toBeNull();
  });

  it('waits longer where the receiver asks, never shorter', () => {
    expect(retryDelayMs([5_000], 1, 60_000, at(0.5))).toBe(60_000);
    expect(retryDelayMs([300_000], 1, 60_000, at(0.5))).toBe(300_000);
  });
});

describe('Retry-After', () => {
  it.each([
    [429, '120', 120_000],
    [503, ' 0 ', 0],
    [502, '999999', MAX_RETRY_AFTER_MS],
    [504, 'Sat, 21 Nov 2026 00:01:00 GMT', 60_000],
    [503, 'Fri, 20 Nov 2026 00:00:00 GMT', 0],
    [500, '120', null],
    [200, '120', null],
    [503, '-5', null],
    [503, '1.5', null],
    [503, 'soon', null],
    [503, '', null],
    [503, `${' '.repeat(64)}5`, null],
    [503, undefined, null],
  ])('%i with %j asks for %j ms', (status, header, expected) => {
    expect(retryAfterMs(status, header, NOW)).toBe(expected);
  });

  it('is within 0 and 24 h or nothing, whatever the text', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 100 }), (text) => {
        const ms = retryAfterMs(503, text, NOW);
        expect(ms === null || (ms >= 0 && ms <= MAX_RETRY_AFTER_MS)).toBe(true);
      }),
    );
  });
});
