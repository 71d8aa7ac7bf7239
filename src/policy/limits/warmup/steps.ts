/**
 * The daily budgets of a new source at each provider, and when they change: one step up after a day that used the
 * budget well and had few deferrals, two steps down when the provider refuses because of reputation, half way down
 * after a month without mail, because by then providers have forgotten the source.
 */

/** Messages to one provider within any 24 hours, step by step. After the last step the source is warm there. */
export const STEPS: readonly number[] = [
  50, 100, 250, 500, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 40_000, 55_000, 70_000,
  100_000,
];

/** The counters of one day. */
export interface WarmupDay {
  used: number;
  deferred: number;
  blocked: number;
}

/** Share of a day's budget that must have been used before the next step. */
const USED_SHARE = 0.6;
/** Share of a day's messages; with more deferrals the provider is asking for less mail. */
const DEFERRED_SHARE = 0.05;
const IDLE_DAYS = 30;
const STEPS_BACK = 2;

/** Budget of a level; null = warm, no budget. */
export function budgetOf(level: number): number | null {
  return STEPS[level] ?? null;
}

/** The level after a day with these counters. A warm source stays warm. */
export function levelAfter(level: number, day: WarmupDay): number {
  const budget = budgetOf(level);
  if (budget === null || day.blocked > 0) return level;
  const wellUsed = day.used >= budget * USED_SHARE;
  const wellReceived = day.deferred < day.used * DEFERRED_SHARE;
  return wellUsed && wellReceived ? level + 1 : level;
}

/** The level after a refusal because of the source's reputation. A warm source is then no longer warm. */
export function levelAfterBlock(level: number): number {
  return Math.max(0, Math.min(level, STEPS.length) - STEPS_BACK);
}

/** The level after `idleDays` without a message. */
export function levelAfterSilence(level: number, idleDays: number): number {
  return idleDays >= IDLE_DAYS ? Math.floor(Math.min(level, STEPS.length) / 2) : level;
}
