/**
 * Overrides, the states of paths, holds, and what delivery has observed. Part of the Store (`../store.ts` has the
 * promises of all its operations).
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
  /** Nothing is sent before; null = not blocked. */
  blockedUntil: number | null;
  /** Why it is blocked, or ''. */
  reason: string;
  /** The receiver named the time; otherwise the pause is our own. */
  asked: boolean;
  /** Of its route (source, targets, logins): the state applies only to this route. '' = unknown. */
  fingerprint: string;
  /** Consecutive failed openings. */
  failures: number;
  /** Connections that have proved possible. */
  concurrency: number;
  /** Day of `sent`, in days since the epoch (UTC); 0 = nothing was counted. */
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

/** A fact that delivery has observed and uses until then. */
export interface StoredEgressFact {
  kind: string;
  /** Unique within its kind. */
  key: string;
  /** JSON. */
  value: string;
  until: number;
}

/** Holds mail that matches every member that is not null. */
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
  /** Id of the token that created it. */
  createdBy: string;
}

/** A hold that may have ended. */
export interface StoredHoldTime extends StoredHold {
  /** When it was released; null = it is in force, or ends or ended by itself at `until`. */
  releasedAt: number | null;
}

export interface LimitStore {
  /** Stores overrides; one with the same scope, key, param and rule is replaced, including its id. Not synced. */
  putOverrides(params: { overrides: readonly StoredOverride[] }): Promise<void>;
  /** Newest first. */
  listOverrides(params: { now: number }): Promise<readonly StoredOverride[]>;
  /** Synced; false if there is none with this id. */
  removeOverride(params: { id: string }): Promise<boolean>;
  /**
   * Stores the states of paths by their keys. Not synced. A state observed in an epoch that has ended is ignored,
   * because its successor has stored a newer one.
   */
  putPathStates(params: { states: readonly (StoredPathState & { epoch: number })[] }): Promise<void>;
  /** Last changed first, at most `limit`. */
  listPathStates(params: { limit: number }): Promise<readonly StoredPathState[]>;
  /** Appends. Not synced. */
  addPathChanges(params: { changes: readonly StoredPathChange[] }): Promise<void>;
  /** Of paths to one of these sites, newest first, at most `limit`. */
  listPathChanges(params: {
    sites: readonly string[];
    since: number;
    until: number;
    limit: number;
  }): Promise<readonly StoredPathChange[]>;
  /** Stores facts by kind and key. Not synced. */
  putEgressFacts(params: { facts: readonly StoredEgressFact[] }): Promise<void>;
  /** Those that have not ended, with the latest end first, limited per kind. */
  listEgressFacts(params: { now: number; perKind: number }): Promise<readonly StoredEgressFact[]>;
  /** Synced. false: the `epoch` in which a node decided it has ended, and nothing was stored. */
  addHold(params: {
    hold: StoredHold;
    epoch?: number | undefined;
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<boolean>;
  /** Those that have not ended, oldest first. */
  listHolds(params: { now: number }): Promise<readonly StoredHold[]>;
  /** Ends holds. Synced; returns how many of the ids were in force; none if the `epoch` has ended. */
  releaseHolds(params: { ids: readonly string[]; epoch?: number | undefined; now: number }): Promise<number>;
  /** In force at some time between `since` and `until` for mail of this sender domain and lane, newest first. */
  listPastHolds(params: {
    senderDomain: string;
    lane: Lane;
    since: number;
    until: number;
    limit: number;
  }): Promise<readonly StoredHoldTime[]>;
  /**
   * Deletes what has ended, at most `limit` of each kind: overrides and facts that ended by `now`, states of paths last
   * changed before `unusedSince` that block nothing, changes of paths and holds from before `before`. Returns the
   * largest number deleted of one kind.
   */
  purgeLimits(params: { now: number; before: number; unusedSince: number; limit: number }): Promise<number>;
}
