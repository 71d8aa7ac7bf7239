/** Warm-up budgets: the window, the rate within a day, going up and back a step, and the calendar shown in advance. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { count, fallBack, mayGo, newWarmup, rollTo, uncount, usedInWindow } from './budget.ts';
import { warmupPlan } from './plan.ts';
import { budgetOf, levelAfter, levelAfterBlock, levelAfterSilence, STEPS } from './steps.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2026, 10, 21, 9);

describe('a budget', () => {
  it('lets an hour of it go at once and the rest spread over the day', () => {
    const state = newWarmup(T0);
    let now = T0;
    const gone: number[] = [];
    while (gone.length < 50) {
      const answer = mayGo(state, 'normal', now);
      if (answer.kind === 'go') {
        count(state, 1, now);
        gone.push(now);
      } else {
        expect(answer.until).toBeGreaterThan(now);
        now = answer.until;
      }
    }
    expect(gone.filter((at) => at === T0)).toHaveLength(3);
    expect((gone.at(-1) ?? 0) - T0).toBeGreaterThan(22 * HOUR);
    expect((gone.at(-1) ?? 0) - T0).toBeLessThanOrEqual(DAY);
  });

  it('lets critical mail skip the pace and go a fifth over, no more', () => {
    const state = newWarmup(T0);
    for (let i = 0; i < 60; i++) {
      expect(mayGo(state, 'critical', T0)).toEqual({ kind: 'go' });
      count(state, 1, T0);
    }
    expect(mayGo(state, 'critical', T0)).toMatchObject({ kind: 'wait', why: 'budget' });
    expect(mayGo(state, 'normal', T0)).toMatchObject({ kind: 'wait', why: 'budget' });
  });

  it('says the moment at which the window has room again', () => {
    const state = newWarmup(T0);
    count(state, 50, T0);
    const answer = mayGo(state, 'normal', T0 + HOUR);
    if (answer.kind !== 'wait') throw new Error('the budget was used');
    state.paceAt = 0;
    expect(mayGo(state, 'normal', answer.until - 1)).toMatchObject({ kind: 'wait' });
    expect(mayGo(state, 'normal', answer.until)).toEqual({ kind: 'go' });
  });

  it('takes back what never went', () => {
    const state = newWarmup(T0);
    const before = structuredClone(state);
    count(state, 1, T0);
    uncount(state);
    expect(usedInWindow(state, T0)).toBe(0);
    expect(state.used).toBe(before.used);
  });

  it('holds in every sliding 24 hours, whatever is asked when', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 4 }),
        fc.array(
          fc.tuple(fc.integer({ min: 0, max: 3 * HOUR }), fc.constantFrom('normal', 'critical', 'bulk')),
          { minLength: 100, maxLength: 600 },
        ),
        (level, asked) => {
          const state = { ...newWarmup(T0), level };
          const budget = budgetOf(level) ?? 0;
          const gone: number[] = [];
          let now = T0;
          for (const [wait, lane] of asked) {
            now += wait;
            if (mayGo(state, lane as 'normal', now).kind !== 'go') continue;
            count(state, 1, now);
            gone.push(now);
            const within = gone.filter((at) => at > now - DAY).length;
            expect(within).toBeLessThanOrEqual(lane === 'critical' ? budget * 1.2 : budget);
          }
        },
      ),
      { numRuns: 60 },
    );
  });

  it('does not move when the clock is set back', () => {
    const state = newWarmup(T0);
    count(state, 40, T0);
    rollTo(state, T0 - 3 * DAY);
    expect(state.used).toBe(40);
    expect(mayGo(state, 'critical', T0 - 3 * DAY)).toEqual({ kind: 'go' });
    expect(usedInWindow(state, T0 - 3 * DAY)).toBe(40);
  });

  it('is no smaller when a clock that was far behind is set right', () => {
    const state = { ...newWarmup(T0), level: 9 };
    count(state, 40, T0);
    for (const now of [T0 - 400 * DAY, T0 + HOUR]) {
      rollTo(state, now);
      expect(state.level).toBeGreaterThanOrEqual(9);
    }
  });

  it('is free again a day after a clock that was far ahead is set right', () => {
    const state = newWarmup(T0);
    rollTo(state, T0 + 300 * DAY);
    count(state, 50, T0 + 300 * DAY);
    rollTo(state, T0);
    expect(mayGo(state, 'normal', T0)).toEqual({
      kind: 'wait',
      until: T0 + 15 * 60_000 + DAY,
      why: 'budget',
    });
    rollTo(state, T0 + 15 * 60_000 + DAY);
    expect(mayGo(state, 'normal', T0 + 15 * 60_000 + DAY)).toEqual({ kind: 'go' });
    expect(state.used).toBe(0);
  });
});

describe('the ladder', () => {
  it('climbs after a day well used and well received, and only then', () => {
    expect(levelAfter(2, { used: 150, deferred: 7, blocked: 0 })).toBe(3);
    expect(levelAfter(2, { used: 149, deferred: 0, blocked: 0 })).toBe(2);
    expect(levelAfter(2, { used: 200, deferred: 10, blocked: 0 })).toBe(2);
    expect(levelAfter(2, { used: 250, deferred: 0, blocked: 1 })).toBe(2);
    expect(levelAfter(STEPS.length - 1, { used: 100_000, deferred: 0, blocked: 0 })).toBe(STEPS.length);
    expect(budgetOf(STEPS.length)).toBeNull();
  });

  it('falls two steps when the reputation is named, once a day, and half way after a month of silence', () => {
    expect([0, 1, 5, STEPS.length].map(levelAfterBlock)).toEqual([0, 0, 3, STEPS.length - 2]);
    expect(levelAfterSilence(9, 29)).toBe(9);
    expect(levelAfterSilence(9, 30)).toBe(4);
    const state = { ...newWarmup(T0), level: 8 };
    expect([fallBack(state), fallBack(state), state.level]).toEqual([true, false, 6]);
    count(state, 1, T0);
    rollTo(state, T0 + DAY);
    expect(state.level).toBe(6);
    expect(fallBack(state)).toBe(true);
    rollTo(state, T0 + 40 * DAY);
    expect(state.level).toBe(2);
  });
});

describe('the plan', () => {
  it('tells the days until the whole volume goes by the new source', () => {
    const { days, stuck } = warmupPlan({ perDay: 2_000, startAt: T0 });
    expect(days.map(({ budget, sends, over }) => [budget, sends, over])).toEqual([
      [50, 50, 1_950],
      [100, 100, 1_900],
      [250, 250, 1_750],
      [500, 500, 1_500],
      [1_000, 1_000, 1_000],
      [2_500, 2_000, 0],
    ]);
    expect(days[0]?.at).toBe(Date.UTC(2026, 10, 21));
    expect(stuck).toBe(false);
    expect(warmupPlan({ perDay: 30, startAt: T0 })).toMatchObject({ stuck: false, days: [{ over: 0 }] });
    expect(warmupPlan({ perDay: 1_200, startAt: T0 }).stuck).toBe(true);
  });
});
