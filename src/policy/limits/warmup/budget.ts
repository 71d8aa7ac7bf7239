/**
 * One source's budget at one provider: how many messages were sent within the last 24 hours, and when the next is
 * allowed. Functions over a small state that is stored as it is.
 *
 * Two rules apply together. The *window*: at no send do the 24 hours before it contain more than the budget, counted in
 * quarter hours, of which the oldest counts in full. The *even rate* (rate-gate.ts) spreads the budget over the day and
 * allows an hour's worth at once, so that a newsletter does not use it up in the morning. Critical mail ignores the
 * even rate, and may exceed the window by a fifth.
 */
import { arrivalAfter, type EvenRate, waitOf } from '../../../lib/rate-gate.ts';
import type { Lane } from '../../../model/message.ts';
import { budgetOf, levelAfter, levelAfterBlock, levelAfterSilence, type WarmupDay } from './steps.ts';

/** As stored. Times are epoch milliseconds. */
export interface WarmupState extends WarmupDay {
  level: number;
  /** Day number (UTC) of the counters `used`, `deferred` and `blocked`. */
  day: number;
  /** Time of the last message, 0 = none yet. */
  lastUsedAt: number;
  /** State of the even rate (`arrivalAfter` of rate-gate.ts). */
  paceAt: number;
  /** Messages by quarter hour: [number of the quarter since 1970, count], oldest first. */
  quarters: (readonly [quarter: number, count: number])[];
}

export type WarmupAnswer = { kind: 'go' } | { kind: 'wait'; until: number; why: 'budget' | 'pace' };

const DAY_MS = 86_400_000;
const QUARTER_MS = 900_000;
const BURSTS_A_DAY = 24;
const CRITICAL_OVER = 1.2;

/** The state before the first message to this provider. */
export function newWarmup(now: number): WarmupState {
  return {
    level: 0,
    day: Math.floor(now / DAY_MS),
    used: 0,
    deferred: 0,
    blocked: 0,
    lastUsedAt: 0,
    paceAt: 0,
    quarters: [],
  };
}

/**
 * Advances the days to `now`: a step up if yesterday allows it, down after a long pause. A clock set back changes
 * nothing, unless it was more than a day ahead.
 */
export function rollTo(state: WarmupState, now: number): void {
  const today = Math.floor(now / DAY_MS);
  if (state.day > today + 1) setRight(state, now);
  if (today <= state.day) return;
  const idleDays = state.lastUsedAt === 0 ? 0 : today - Math.floor(state.lastUsedAt / DAY_MS);
  const climbed = levelAfter(state.level, state);
  const level = levelAfterSilence(climbed, idleDays);
  if (level !== state.level) state.paceAt = Math.min(state.paceAt, now);
  state.level = level;
  state.day = today;
  state.used = 0;
  state.deferred = 0;
  state.blocked = 0;
}

/**
 * What was counted while the clock was ahead counts as sent now: otherwise nothing could be sent until that time.
 * `lastUsedAt` stays: if the clock is behind now instead, this was no long pause.
 */
function setRight(state: WarmupState, now: number): void {
  const quarter = Math.floor(now / QUARTER_MS);
  const past = state.quarters.filter(([one]) => one < quarter);
  const ahead = total(state.quarters) - total(past);
  state.quarters = [...past, [quarter, ahead]];
  state.day = Math.floor(now / DAY_MS);
  const budget = budgetOf(state.level);
  const latest = budget === null ? now : arrivalAfter(pace(budget), now, now, ahead);
  state.paceAt = Math.min(state.paceAt, latest);
}

/** Whether a message may be sent now; counts nothing. */
export function mayGo(state: WarmupState, lane: Lane, now: number): WarmupAnswer {
  const budget = budgetOf(state.level);
  if (budget === null) return { kind: 'go' };
  const critical = lane === 'critical';
  const bound = critical ? Math.floor(budget * CRITICAL_OVER) : budget;
  const quarters = recent(state, now);
  let excess = total(quarters) + 1 - bound;
  if (excess > 0) {
    // Quarters leave the window one after the other; the one that frees a place gives the time.
    for (const [quarter, count] of quarters) {
      excess -= count;
      if (excess <= 0) return { kind: 'wait', until: (quarter + 1) * QUARTER_MS + DAY_MS, why: 'budget' };
    }
    return { kind: 'wait', until: now + DAY_MS, why: 'budget' };
  }
  if (critical) return { kind: 'go' };
  const waitMs = waitOf(pace(budget), state.paceAt, now);
  return waitMs === 0 ? { kind: 'go' } : { kind: 'wait', until: Math.ceil(now + waitMs), why: 'pace' };
}

/** Counts `n` messages as sent now. */
export function count(state: WarmupState, n: number, now: number): void {
  const quarter = Math.floor(now / QUARTER_MS);
  const quarters = recent(state, now);
  const last = quarters.at(-1);
  state.quarters =
    last !== undefined && last[0] >= quarter
      ? [...quarters.slice(0, -1), [last[0], last[1] + n]]
      : [...quarters, [quarter, n]];
  state.used += n;
  state.lastUsedAt = Math.max(state.lastUsedAt, now);
  const budget = budgetOf(state.level);
  if (budget !== null) state.paceAt = arrivalAfter(pace(budget), state.paceAt, now, n);
}

/** Takes back one message, which counts for `n`, that did not reach the provider. */
export function uncount(state: WarmupState, n = 1): void {
  const last = state.quarters.at(-1);
  if (last === undefined || last[1] === 0) return;
  state.quarters = [...state.quarters.slice(0, -1), [last[0], Math.max(0, last[1] - n)]];
  state.used = Math.max(0, state.used - n);
  const budget = budgetOf(state.level);
  if (budget !== null) state.paceAt -= n * pace(budget).intervalMs;
}

/** The provider refused because of the source's reputation: two steps down at once, at most once a day. */
export function fallBack(state: WarmupState): boolean {
  state.blocked += 1;
  if (state.blocked > 1) return false;
  state.level = levelAfterBlock(state.level);
  return true;
}

/** Messages within the last 24 hours, as the window counts them. */
export function usedInWindow(state: WarmupState, now: number): number {
  return total(recent(state, now));
}

function recent(state: WarmupState, now: number): WarmupState['quarters'] {
  return state.quarters.filter(([quarter]) => (quarter + 1) * QUARTER_MS > now - DAY_MS);
}

function total(quarters: WarmupState['quarters']): number {
  return quarters.reduce((sum, [, n]) => sum + n, 0);
}

/** Burst and interval whose sum over any 24 hours is the budget: burst + 24 h / interval. */
function pace(budget: number): EvenRate {
  const burst = Math.max(1, Math.ceil(budget / BURSTS_A_DAY));
  return { burst, intervalMs: DAY_MS / (budget - burst) };
}
