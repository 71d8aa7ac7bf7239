/**
 * When a failed webhook call is tried again: ten tries over 75 h 35 min (the example of Standard Webhooks), each wait
 * ±20 % so that a receiver that is available again does not get everything at once. `Retry-After` can make a wait
 * longer, never shorter.
 */
import { jitter, type Random } from '../../lib/random.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;

/** Wait after the n-th failed try, in ms; after the last one there is no further try. */
export const DEFAULT_RETRY_DELAYS_MS: readonly number[] = [
  5 * SECOND,
  5 * MINUTE,
  30 * MINUTE,
  2 * HOUR,
  5 * HOUR,
  10 * HOUR,
  14 * HOUR,
  20 * HOUR,
  24 * HOUR,
];

/** The longest wait that `Retry-After` can cause. */
export const MAX_RETRY_AFTER_MS = 24 * HOUR;
const JITTER = 0.2;
const WAITING_STATUSES: ReadonlySet<number> = new Set([429, 502, 503, 504]);

/** Milliseconds until the try after `failedTry` (1 = first), or null after the last. */
export function retryDelayMs(
  delaysMs: readonly number[],
  failedTry: number,
  retryAfterMs: number | null,
  random: Random,
): number | null {
  const delay = delaysMs[failedTry - 1];
  if (delay === undefined) return null;
  return Math.max(Math.round(jitter(random, delay, JITTER)), retryAfterMs ?? 0);
}

/**
 * The wait in a `Retry-After` header in ms, 0 … 24 h (RFC 9110 §10.2.3: seconds or an HTTP date). null if the status
 * does not allow one, or the text is neither.
 */
export function retryAfterMs(status: number, header: string | undefined, nowMs: number): number | null {
  if (!WAITING_STATUSES.has(status) || header === undefined || header.length > 64) return null;
  const text = header.trim();
  const ms = /^\d{1,10}$/.test(text) ? Number(text) * SECOND : httpDateMs(text) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(0, ms), MAX_RETRY_AFTER_MS) : null;
}

/** NaN unless the text looks like an HTTP date: `Date.parse` alone accepts far too much. */
function httpDateMs(text: string): number {
  return /^[A-Z][a-z]{2,8},? [\w: -]+$/.test(text) ? Date.parse(text) : Number.NaN;
}
