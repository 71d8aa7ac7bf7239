/**
 * How a refusal is handled: what happens to the recipient, how long it waits, when it is given up, and whether its
 * address may be suppressed. Types, and the few forms that the table of categories uses.
 */
import type { BounceScope } from '../../../../model/bounce.ts';

/**
 * What happens to the recipient: `retry` is tried again and counts as an attempt · `bounce` is refused permanently ·
 * `path` blocks the path and counts nothing · `defer`, for a permanent reply about our address, blocks the path and
 * keeps the mail for `giveUp.afterMs`.
 */
export type Action = 'retry' | 'bounce' | 'path' | 'defer';

/** `hard` without an end, `inactive` 90 days, `soft` is only counted. */
export type Suppress = 'no' | 'hard' | 'inactive' | 'soft';

/** Who has the problem. `next_host`: the receiver's server or a relay, whichever the message was given to. */
export type Fault = 'recipient' | 'receiver' | 'next_host' | 'sender' | 'operator' | 'content' | 'nobody';

/** Given up when both are reached: this many finished attempts, and this long since the first deferral. */
export interface GiveUp {
  tries: number;
  afterMs: number;
}

/** The handling of a refusal. */
export interface Handling {
  action: Action;
  /** Wait in ms; null = the lane's schedule, or the path's own increasing waits. */
  waitMs: number | null;
  giveUp: GiveUp | null;
}

/** The properties of a category. */
export interface CategoryFacts {
  scope: BounceScope;
  /** For 4xx. */
  temporary: Handling;
  /** For 5xx. */
  permanent: Handling;
  /** For 5xx of high confidence about the recipient; other replies never suppress. */
  suppress: Suppress;
  /** For 4xx of high confidence. */
  suppressTemporary: Suppress;
  /** A refusal that may change: `Transient` in the bounce object. */
  soft: boolean;
  fault: Fault;
  /** What it means, as a sentence. */
  means: string;
  /** The same if the reply is temporary and less is certain; absent: `means`. */
  meansTemporary?: string;
  /** What happens next, if the general sentence would be wrong; absent: derived from the handling. */
  next?: string;
  /** Who can do what about it, as a sentence. */
  fix: string;
  /** The same if nothing is tried again; absent: `fix`. */
  fixFinal?: string;
}

/** Milliseconds. */
export const MINUTE = 60_000;
/** Milliseconds. */
export const HOUR = 60 * MINUTE;
const DEFER_LIMIT_MS = 4 * HOUR;

/** Refused permanently. */
export const BOUNCE: Handling = { action: 'bounce', waitMs: null, giveUp: null };
/** Tried again by the lane's schedule until the message expires. */
export const RETRY: Handling = { action: 'retry', waitMs: null, giveUp: null };
/** The path is blocked for its own increasing waits. */
export const PATH: Handling = { action: 'path', waitMs: null, giveUp: null };

/** Tried again after `waitMs` (null: the lane's schedule); given up after `tries` and `afterMs`. */
export function retry(waitMs: number | null, tries: number, afterMs: number): Handling {
  return { action: 'retry', waitMs, giveUp: { tries, afterMs } };
}
/** The path is blocked for `waitMs`. */
export function path(waitMs: number): Handling {
  return { action: 'path', waitMs, giveUp: null };
}
/** The path is blocked for `waitMs`; the mail is kept for four hours. */
export function defer(waitMs: number): Handling {
  return { action: 'defer', waitMs, giveUp: { tries: 0, afterMs: DEFER_LIMIT_MS } };
}
