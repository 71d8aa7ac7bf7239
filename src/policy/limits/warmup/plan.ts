/**
 * The calendar of a warm-up before it begins: which budget each day has if the provider takes the mail well, how much of
 * the planned volume fits and how much has to wait or go another way. Pure; the same steps as the warm-up itself.
 */
import { budgetOf, levelAfter } from './steps.ts';

export interface PlannedDay {
  /** 1 = the first. */
  day: number;
  /** Midnight UTC, epoch milliseconds. */
  at: number;
  /** null = warm. */
  budget: number | null;
  /** Of the planned volume, what goes by the new source. */
  sends: number;
  /** What is over: another warm source, a relay, or waiting. */
  over: number;
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 366;

/**
 * Days until the whole volume goes by the new source, that day included. `perDay`: messages a day to one provider, at
 * least 1. `stuck`: the volume is too small to climb further (less than 60 % of the last budget); it fits all the same.
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
