/**
 * How a refusal is dealt with, as types and the few shapes that the table of categories is made of:
 * what is done with the recipient, how long is waited, when it is given up, and whether an address may be suppressed.
 */
import type { BounceScope } from '../../../../model/bounce.ts';

/**
 * What is done with the recipient:
 * `retry` tried again, one attempt is charged · `bounce` refused for good · `path` the path is blocked, nothing is
 * charged · `defer` a permanent reply about our address: the path is blocked, the mail is kept for `giveUp.afterMs`.
 */
export type Action = 'retry' | 'bounce' | 'path' | 'defer';

/** `hard` without an end, `inactive` 90 days, `soft` counted only. */
export type Suppress = 'no' | 'hard' | 'inactive' | 'soft';

/** Whom the trouble lies with. `next_host`: the receiver's server or a relay, whichever a message is handed to. */
export type Fault = 'recipient' | 'receiver' | 'next_host' | 'sender' | 'operator' | 'content' | 'nobody';

/** Given up once both are reached: so many finished attempts, and so long since it was first deferred. */
export interface GiveUp {
  tries: number;
  afterMs: number;
}

/** What is done about a refusal. */
export interface Handling {
  action: Action;
  /** Wait prescribed, ms; null = the lane's schedule, or the path's own growing waits. */
  waitMs: number | null;
  giveUp: GiveUp | null;
}

/** What is known of a category of replies. */
export interface CategoryFacts {
  scope: BounceScope;
  /** On 4xx. */
  temporary: Handling;
  /** On 5xx. */
  permanent: Handling;
  /** On 5xx of high confidence about the recipient; everything else never suppresses. */
  suppress: Suppress;
  /** On 4xx of high confidence. */
  suppressTemporary: Suppress;
  /** A refusal that may well change: `Transient` in the bounce object. */
  soft: boolean;
  fault: Fault;
  /** What it means: a sentence. */
  means: string;
  /** The same where the reply is temporary and says less; absent: `means`. */
  meansTemporary?: string;
  /** What happens next, where the general words would say it wrongly; absent: told from the handling. */
  next?: string;
  /** Who can do what about it: a sentence. */
  fix: string;
  /** The same where nothing is tried again; absent: `fix`. */
  fixFinal?: string;
}

/** Milliseconds. */
export const MINUTE = 60_000;
/** Milliseconds. */
export const HOUR = 60 * MINUTE;
const DEFER_LIMIT_MS = 4 * HOUR;

/** Refused for good. */
export const BOUNCE: Handling = { action: 'bounce', waitMs: null, giveUp: null };
/** Tried again by the lane's schedule until the message's time is over. */
export const RETRY: Handling = { action: 'retry', waitMs: null, giveUp: null };
/** The path is blocked for its own growing waits. */
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
