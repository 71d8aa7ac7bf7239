/**
 * The ladder of daily budgets a new source climbs at each provider, and when it climbs or falls: a
 * step up after a day that was well used and well received, two down when the provider names the source's reputation,
 * half way down after a month of silence, for then nobody remembers it. Pure.
 */

/** Messages to one provider within any 24 hours, step by step. Past the last step the source is warm there. */
export const STEPS: readonly number[] = [
  50, 100, 250, 500, 1_000, 2_500, 5_000, 7_500, 10_000, 15_000, 20_000, 30_000, 40_000, 55_000, 70_000,
  100_000,
];

/** What one day brought. */
export interface WarmupDay {
  used: number;
  deferred: number;
  blocked: number;
}

/** Of a day's budget that must have been used before the next step is known to be borne. */
export const USED_SHARE = 0.6;
/** Of a day's messages; from there on the provider is asking for less. */
export const DEFERRED_SHARE = 0.05;
export const IDLE_DAYS = 30;
const STEPS_BACK = 2;

/** Budget of a level; null = warm, no budget. */
export function budgetOf(level: number): number | null {
  return STEPS[level] ?? null;
}

/** The level after a day on which `day` happened. A warm source stays warm. */
export function levelAfter(level: number, day: WarmupDay): number {
  const budget = budgetOf(level);
  if (budget === null || day.blocked > 0) return level;
  const wellUsed = day.used >= budget * USED_SHARE;
  const wellReceived = day.deferred < day.used * DEFERRED_SHARE;
  return wellUsed && wellReceived ? level + 1 : level;
}

/** The level once the provider has named the source's reputation. Warm sources fall too: they are warm no more. */
export function levelAfterBlock(level: number): number {
  return Math.max(0, Math.min(level, STEPS.length) - STEPS_BACK);
}

/** The level after `idleDays` without a message. */
export function levelAfterSilence(level: number, idleDays: number): number {
  return idleDays >= IDLE_DAYS ? Math.floor(Math.min(level, STEPS.length) / 2) : level;
}
