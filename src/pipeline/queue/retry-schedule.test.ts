/** The table of waits, hints, the last attempt moved up, and what holds for every question. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Random } from '../../lib/random.ts';
import type { Lane } from '../../model/message.ts';
import { createRetrySchedule, LANE_MAX_AGE, LEAST_TIME_LEFT_MS } from './retry-schedule.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const T0 = 1_800_000_000_000;

/** Draws that leave a jittered value as it is, or move it to the given place in its range. */
const random = (draw = 0.5): Random => ({ bytes: (count) => new Uint8Array(count), float: () => draw });
const schedule = createRetrySchedule(random(), null);
const question = { now: T0, attempts: 1, lane: 'normal' as Lane, expiresAt: T0 + 72 * HOUR, hintMs: null };

describe('the retry schedule', () => {
  it.each<[Lane, number[]]>([
    ['critical', [10, 20, 30, 60, 120, 180, 300, 300, 300]],
    ['normal', [60, 240, 600, 1200, 1800, 3600, 7200, 14_400, 14_400]],
    ['bulk', [900, 1800, 3600, 7200, 14_400, 14_400]],
  ])('waits in lane %s as the table says', (lane, seconds) => {
    const waits = seconds.map((_, i) => {
      const at = schedule.nextAttemptAt({ ...question, lane, attempts: i + 1 });
      return ((at ?? Number.NaN) - T0) / SECOND;
    });
    expect(waits).toEqual(seconds);
  });

  it.each<[Lane, number]>([
    ['critical', 18],
    ['normal', 25],
    ['bulk', 23],
  ])('makes about as many attempts in lane %s as promised', (lane, about) => {
    const expiresAt = T0 + LANE_MAX_AGE[lane];
    let attempts = 1;
    for (let now: number | null = T0; now !== null; attempts++) {
      now = schedule.nextAttemptAt({ ...question, lane, now, attempts, expiresAt });
    }
    expect(Math.abs(attempts - 1 - about)).toBeLessThanOrEqual(2);
  });

  it('spreads the waits by a tenth', () => {
    const low = createRetrySchedule(random(0), null).nextAttemptAt(question);
    const high = createRetrySchedule(random(1), null).nextAttemptAt(question);
    expect([low, high]).toEqual([T0 + 54 * SECOND, T0 + 66 * SECOND]);
  });

  it('follows a hint within 15 s and 30 min, and a little more', () => {
    const waits = [1, 60 * SECOND, 10 * HOUR].map(
      (hintMs) => (schedule.nextAttemptAt({ ...question, hintMs }) ?? Number.NaN) - T0,
    );
    expect(waits).toEqual([25 * SECOND, 70 * SECOND, 30 * MINUTE + 10 * SECOND]);
    expect(schedule.nextAttemptAt({ ...question, hintMs: 10 * HOUR, hintExact: true })).toBe(T0 + 10 * HOUR);
  });

  it('moves the last attempt up instead of leaving it out', () => {
    const expiresAt = T0 + 2 * MINUTE;
    expect(schedule.nextAttemptAt({ ...question, attempts: 3, expiresAt })).toBe(expiresAt - 30 * SECOND);
    expect(
      schedule.nextAttemptAt({ ...question, attempts: 3, expiresAt, now: expiresAt - 30 * SECOND }),
    ).toBeNull();
    expect(schedule.nextAttemptAt({ ...question, expiresAt: T0 - 1 })).toBeNull();
  });

  it('takes configured waits exactly, the last again and again', () => {
    const configured = createRetrySchedule(random(0), [1000, 2000]);
    const waits = [1, 2, 3].map((attempts) =>
      configured.nextAttemptAt({ ...question, attempts, hintMs: 5 * HOUR }),
    );
    expect(waits).toEqual([T0 + 1000, T0 + 2000, T0 + 2000]);
    expect(configured.breakerWaitMs(2)).toBe(2000);
    expect(configured.fixedWaitMs(HOUR, 1)).toBe(1000);
    expect(configured.relayWaitMs(2)).toBe(2000);
  });

  it('opens a failing path in growing steps', () => {
    const seconds = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) => schedule.breakerWaitMs(failures) / SECOND);
    expect(seconds).toEqual([30, 60, 120, 300, 600, 900, 1800, 1800]);
    expect(schedule.fixedWaitMs(HOUR, 1)).toBe(HOUR);
    const ofRelay = [1, 2, 3, 4, 5, 6, 7, 8].map((failures) => schedule.relayWaitMs(failures) / SECOND);
    expect(ofRelay).toEqual([30, 60, 120, 300, 600, 900, 900, 900]);
  });

  it('always answers with a time ahead and before the expiry, or not at all', () => {
    fc.assert(
      fc.property(
        fc.record({
          lane: fc.constantFrom<Lane>('critical', 'normal', 'bulk'),
          attempts: fc.integer({ min: 1, max: 100 }),
          left: fc.integer({ min: -HOUR, max: 80 * HOUR }),
          hintMs: fc.option(fc.integer({ min: 0, max: 100 * HOUR })),
          hintExact: fc.boolean(),
          draw: fc.double({ min: 0, max: 1, noNaN: true }),
        }),
        ({ lane, attempts, left, hintMs, hintExact, draw }) => {
          const expiresAt = T0 + left;
          const at = createRetrySchedule(random(draw), null).nextAttemptAt({
            now: T0,
            attempts,
            lane,
            expiresAt,
            hintMs,
            hintExact,
          });
          if (at === null) {
            // Given up only where not even the last chance lies ahead.
            expect(expiresAt - 30 * SECOND).toBeLessThanOrEqual(T0);
          } else {
            expect(at).toBeGreaterThanOrEqual(T0);
            expect(at).toBeLessThanOrEqual(expiresAt - LEAST_TIME_LEFT_MS);
          }
        },
      ),
    );
  });
});
