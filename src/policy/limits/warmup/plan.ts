/**
 * The expected calendar of a warm-up before it begins: the budget of each day if the provider accepts the mail well,
 * how much of the planned volume fits, and how much has to wait or use another route. Uses the same steps as the
 * warm-up itself.
 */
import { budgetOf, levelAfter } from './steps.ts';

export interface PlannedDay {
  /** 1 = the first. */
  day: number;
  /** Midnight UTC, epoch milliseconds. */
  at: number;
  /** null = warm. */
  budget: number | null;
  /** The part of the planned volume that the new source sends. */
  sends: number;
  /** The rest: another warm source, a relay, or waiting. */
  over: number;
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;

/**
 * Days up to and including the day on which the new source sends the whole volume. `perDay`: messages per day to one
 * provider, at least 1. `stuck`: the volume is too small to climb further (less than 60 % of the last budget), but it
 * fits.
 */
export function warmupPlan(params: { perDay: number; startAt: number }): {
  days: readonly PlannedDay[];
  stuck: boolean;
} {
  const first = Math.floor(params.startAt / DAY_MS) * DAY_MS;
  const days: PlannedDay[] = [];
  let level = 0;
  for (let day = 1; day <= MAX_DAYS; day += 1) {
    const budget = budgetOf(level);
    const sends = Math.min(params.perDay, budget ?? params.perDay);
    days.push({ day, at: first + (day - 1) * DAY_MS, budget, sends, over: params.perDay - sends });
    const next = levelAfter(level, { used: sends, deferred: 0, blocked: 0 });
    if (sends === params.perDay) return { days, stuck: budget !== null && next === level };
    level = next;
  }
  return { days, stuck: false };
}
