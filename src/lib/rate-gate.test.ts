import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRateGate } from './rate-gate.ts';

describe('a rate', () => {
  it('lets a burst go, then one at a time, and says how long to wait', () => {
    const gate = createRateGate(2, 3);
    for (let n = 0; n < 3; n++) {
      expect(gate.waitMs(0)).toBe(0);
      gate.take(0);
    }
    expect(gate.waitMs(0)).toBe(500);
    expect(gate.waitMs(499)).toBe(1);
    gate.take(500);
    expect(gate.waitMs(500)).toBe(500);
  });

  it('can be slower than one a second, and none at all', () => {
    const gate = createRateGate(1 / 60, 1);
    gate.take(0);
    expect(gate.waitMs(0)).toBe(60_000);
    gate.set(null, 1);
    expect(gate.waitMs(0)).toBe(0);
  });

  it('is never exceeded, whoever asks and when', () => {
    const rate = fc.double({ min: 0.01, max: 200, noNaN: true });
    const pauses = fc.array(fc.double({ min: 0, max: 2_000, noNaN: true }), { maxLength: 300 });
    fc.assert(
      fc.property(rate, fc.integer({ min: 1, max: 20 }), pauses, (perSecond, burst, steps) => {
        const gate = createRateGate(perSecond, burst);
        const times: number[] = [];
        let now = 0;
        for (const step of steps) {
          now += step;
          if (gate.waitMs(now) > 0) continue;
          gate.take(now);
          times.push(now);
        }
        // In any stretch of time: the burst, and what the rate gives for its length.
        for (let from = 0; from < times.length; from += 7) {
          for (let to = from; to < times.length; to += 5) {
            const length = ((times[to] ?? 0) - (times[from] ?? 0)) / 1000;
            expect(to - from + 1).toBeLessThanOrEqual(burst + length * perSecond + 1e-6);
          }
        }
      }),
    );
  });
});
