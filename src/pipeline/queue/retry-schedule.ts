/**
 * When a deferred delivery is tried again (RFC 5321 §4.5.4.1); it is given up at its expiry, never before. Depends on
 * the number of attempts, the lane, the remote's own hint and the configuration.
 */
import { jitter, type Random } from '../../lib/random.ts';
import type { Lane } from '../../model/message.ts';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Waits after the 1st, 2nd, … attempt; the last one repeats. */
const LANE_WAITS: Readonly<Record<Lane, readonly number[]>> = {
  critical: [10, 20, 30, 60, 120, 180, 300].map((s) => s * SECOND),
  normal: [1, 4, 10, 20, 30, 60, 120, 240].map((m) => m * MINUTE),
  bulk: [15, 30, 60, 120, 240].map((m) => m * MINUTE),
};

/** Default maximum age of a delivery. */
export const LANE_MAX_AGE: Readonly<Record<Lane, number>> = {
  critical: HOUR,
  normal: 72 * HOUR,
  bulk: 72 * HOUR,
};

/** Waits of a path whose connections fail: 30 s, 1, 2, 5, 10, 15, then 30 min. */
const BREAKER_WAITS: readonly number[] = [0.5, 1, 2, 5, 10, 15, 30].map((m) => m * MINUTE);

/** Waits of a relay that fails, and of its path: 30 s, 1, 2, 5, 10, then 15 min. */
export const RELAY_WAITS: readonly number[] = [0.5, 1, 2, 5, 10, 15].map((m) => m * MINUTE);

const HINT_MIN_MS = 15 * SECOND;
const HINT_MAX_MS = 30 * MINUTE;
/** Given waits become up to this much longer. */
const LATER_SHARE = 0.1;
const HINT_SLACK_MS = 10 * SECOND;
/** No attempt starts with less than this left before expiry. */
export const LEAST_TIME_LEFT_MS = 5 * SECOND;
const LAST_CHANCE_MS = 30 * SECOND;
/** The reason of a delivery that only waits for its expiry. */
export const NO_TIME_LEFT = 'no time is left for another try before it is given up';

/** A wait that a remote asked for, limited to 15 s to 30 min, and slightly longer, because clocks differ. */
export function clampHintMs(hintMs: number): number {
  return Math.min(Math.max(hintMs, HINT_MIN_MS), HINT_MAX_MS) + HINT_SLACK_MS;
}

interface RetryQuestion {
  now: number;
  /** Finished attempts, including this one; ≥ 1. */
  attempts: number;
  lane: Lane;
  expiresAt: number;
  /** Wait that the remote asked for, or of the category; null = none. */
  hintMs: number | null;
  /** true: `hintMs` is the category's own rule and is not limited. */
  hintExact?: boolean;
}

export interface RetrySchedule {
  /** Time of the next attempt, or null if none fits before expiry. */
  nextAttemptAt(question: RetryQuestion): number | null;
  /** Wait of a path after its `failures`-th consecutive failure (1 = first), in ms. */
  breakerWaitMs(failures: number): number;
  /** The same for the path of a relay: not shorter than the relay is passed over. */
  relayWaitMs(failures: number): number;
  /**
   * The wait for a case with a fixed default (unknown outcome, second NXDOMAIN), in ms; a configured list replaces it.
   */
  fixedWaitMs(engineMs: number, attempts: number): number;
}

/** `configuredWaits` (config `retry`) replaces every computed wait, exactly and without jitter; its last repeats. */
export function createRetrySchedule(
  random: Random,
  configuredWaits: readonly number[] | null,
): RetrySchedule {
  const configured = (attempts: number): number | null =>
    configuredWaits === null ? null : waitOf(configuredWaits, attempts);

  return {
    nextAttemptAt(question) {
      const { now, attempts, lane, expiresAt, hintMs } = question;
      let waitMs = configured(attempts);
      if (waitMs === null) {
        if (hintMs !== null && question.hintExact) waitMs = later(random, hintMs);
        else if (hintMs !== null) waitMs = later(random, clampHintMs(hintMs));
        else waitMs = jitter(random, waitOf(LANE_WAITS[lane], attempts), 0.1);
      }
      const at = Math.round(now + waitMs);
      if (at <= expiresAt - LEAST_TIME_LEFT_MS) return at;
      // The last attempt is moved forward rather than skipped.
      const lastChance = expiresAt - LAST_CHANCE_MS;
      return lastChance > now ? lastChance : null;
    },
    breakerWaitMs(failures) {
      return Math.round(configured(failures) ?? jitter(random, waitOf(BREAKER_WAITS, failures), 0.2));
    },
    relayWaitMs: (failures) =>
      Math.round(configured(failures) ?? later(random, waitOf(RELAY_WAITS, failures))),
    fixedWaitMs: (engineMs, attempts) =>
      configured(Math.max(1, attempts)) ?? Math.round(later(random, engineMs)),
  };
}

/** Never earlier than requested, and spread, because messages with the same time would come together. */
function later(random: Random, ms: number): number {
  return ms * (1 + Math.abs(jitter(random, 1, LATER_SHARE) - 1));
}

function waitOf(waits: readonly number[], attempts: number): number {
  return waits[Math.min(Math.max(attempts, 1), waits.length) - 1] ?? MINUTE;
}
