/**
 * What slows, stops or keeps back delivery: overrides, the state of paths, holds. Part of the Store (`../store.ts` says
 * what all its operations promise).
 */

import type { Lane } from '../../model/message.ts';
import type { IdempotencyEntry } from './acceptance.ts';

export interface StoredOverride {
  id: string;
  scope: string;
  key: string;
  param: string;
  rule: string;
  value: number | string;
  until: number;
  why: string;
  createdAt: number;
}

export interface StoredPathState {
  /** Names the path; unique. */
  key: string;
  source: string;
  site: string;
  /** Nothing goes out before; null = it may go. */
  blockedUntil: number | null;
  /** Why it is blocked, or ''. */
  reason: string;
  /** The receiver named the time; otherwise the pause is our own. */
  asked: boolean;
  /** Of the way it goes (source, targets, logins): what it came to holds for this way alone. '' = not known. */
  fingerprint: string;
  /** Failed openings in a row. */
  failures: number;
  /** Connections that experience allows. */
  concurrency: number;
  /** Days since the epoch (UTC) that `sent` counts; 0 = nothing was counted. */
  day: number;
  /** Messages of that day, and of the day before it. */
  sent: number;
  sentBefore: number;
  updatedAt: number;
}

/** A path closed, or opened again. */
export interface StoredPathChange {
  source: string;
  site: string;
  at: number;
  /** Closed until then; null = it opened. */
  until: number | null;
  /** Why it closed; null = it opened. */
  reason: string | null;
}

/** Something that delivery has learned and goes by until then. */
export interface StoredEgressFact {
  kind: string;
  /** Unique within its kind. */
  key: string;
  /** JSON. */
  value: string;
  until: number;
}

/** Keeps back what fits every member that is not null. */
export interface StoredHold {
  id: string;
  senderDomain: string | null;
  recipientDomain: string | null;
  site: string | null;
  lane: Lane | null;
  reason: string;
  /** Ends by itself then; null = when it is released. */
  until: number | null;
  createdAt: number;
  /** Token that asked for it. */
  createdBy: string;
}

/** A hold that may be over. */
export interface StoredHoldTime extends StoredHold {
  /** When it was released; null = it is in force, or ends or ended by itself at `until`. */
  releasedAt: number | null;
}

export interface LimitStore {
  /** Stores overrides; one of the same scope, key, param and rule is replaced, its id included. Not synced. */
  putOverrides(params: { overrides: readonly StoredOverride[] }): Promise<void>;
  /** Newest first. */
  listOverrides(params: { now: number }): Promise<readonly StoredOverride[]>;
  /** Synced; false where there is none of that id. */
  removeOverride(params: { id: string }): Promise<boolean>;
  /**
   * Stores the state of paths by their keys. Not synced. What was observed under an epoch that has ended is passed over: what
   * its successor stored since is newer.
   */
  putPathStates(params: { states: readonly (StoredPathState & { epoch: number })[] }): Promise<void>;
  /** Last changed first, at most `limit`. */
  listPathStates(params: { limit: number }): Promise<readonly StoredPathState[]>;
  /** Appends. Not synced. */
  addPathChanges(params: { changes: readonly StoredPathChange[] }): Promise<void>;
  /** Of paths towards one of these sites, newest first, at most `limit`. */
  listPathChanges(params: {
    sites: readonly string[];
    since: number;
    until: number;
    limit: number;
  }): Promise<readonly StoredPathChange[]>;
  /** Stores facts by kind and key. Not synced. */
  putEgressFacts(params: { facts: readonly StoredEgressFact[] }): Promise<void>;
  /** Those that have not ended, those that last longest first, at most so many of each kind. */
  listEgressFacts(params: { now: number; perKind: number }): Promise<readonly StoredEgressFact[]>;
  /** Synced. */
  addHold(params: { hold: StoredHold; idempotency?: IdempotencyEntry }): Promise<void>;
  /** Those that have not ended, oldest first. */
  listHolds(params: { now: number }): Promise<readonly StoredHold[]>;
  /** Ends holds. Synced; how many of the ids were in force. */
  releaseHolds(params: { ids: readonly string[]; now: number }): Promise<number>;
  /** In force at some time from `since` on and before `until` for mail of that sender domain and lane, newest first. */
  listPastHolds(params: {
    senderDomain: string;
    lane: Lane;
    since: number;
    until: number;
    limit: number;
  }): Promise<readonly StoredHoldTime[]>;
  /**
   * Forgets what is over, at most `limit` of each kind: overrides and facts that ended by `now`, states of paths last changed
   * before `unusedSince` that block nothing, changes of paths and holds from before `before`. How many of the kind of which
   * most went.
   */
  purgeLimits(params: { now: number; before: number; unusedSince: number; limit: number }): Promise<number>;
}
