/** Suppressions of each sender domain. Part of the Store (`../store.ts` has the promises of all its operations). */
import type { Suppression, SuppressionReason, SuppressionSource } from '../../model/suppression.ts';
import type { IdempotencyEntry } from './acceptance.ts';
import type { NewEvent } from './events.ts';

export interface NewSuppression {
  address: string;
  reason: SuppressionReason;
  note: string;
  expiresAt: number | null;
  source: SuppressionSource | null;
}

export interface SuppressionSignal {
  reason: SuppressionReason;
  expiresAt: number | null;
  /** ≤ 512 characters. */
  reply: string;
  rule: string;
  /**
   * null: at once. Otherwise signals of this reason are counted, once per UTC day, and the entry is made when there are
   * this many days and this much time between the first and the last; a delivery to the address resets the count.
   */
  needs: { days: number; spanMs: number } | null;
  /** Stored only if the entry is new. */
  event: NewEvent;
}

/** An address that was suppressed, or is no longer. */
export interface SuppressionChange {
  senderDomain: string;
  /** `suppressionKey` of the address. */
  key: string;
  reason: SuppressionReason;
  /** The entry was removed, or has expired; absent = it was added. */
  lifted?: true;
}

export interface SuppressionStore {
  /**
   * Calls the listener with entries that this process added or removed (also expired ones, when they are purged), whatever the
   * cause, in order, after their commit and before the operation resolves, until the returned function is called. Where stores
   * tell each other hints, also soon with those of others; of a large import with the first ones, and a hint that there are more.
   */
  onSuppressed(listener: (changes: readonly SuppressionChange[]) => void): () => void;
  /** Entries in force for any of the addresses, each with the address as it was given, oldest first. */
  suppressedAmong(params: {
    domain: string;
    addresses: readonly string[];
    now: number;
  }): Promise<readonly { address: string; suppression: Suppression }[]>;
  /** Sender domains that have entries, in force or not. */
  suppressedDomains(): Promise<readonly string[]>;
  /** Adds those that are not in force yet for their address and reason; `existing` ones are unchanged. Synced. */
  addSuppressions(params: {
    domain: string;
    entries: readonly NewSuppression[];
    now: number;
    /**
     * Its body may contain `"$added"` and `"$existing"`. Stored in the same transaction if something is created;
     * rejects with KeyTaken if it is taken.
     */
    idempotency?: IdempotencyEntry | undefined;
  }): Promise<{ added: number; existing: number }>;
  /**
   * At most `limit` of those in force, newest first, and `beforeId` of the next look, null = that was all. It may be
   * empty and still continue, if `look` was reached first.
   */
  listSuppressions(params: {
    domains?: readonly string[];
    reason?: SuppressionReason;
    address?: string;
    /** Of addresses: a lower-case A-label. */
    recipientDomain?: string;
    /** Created then or later. */
    since?: number;
    beforeId?: number;
    now: number;
    limit: number;
    /** The most entries that are examined. */
    look: number;
  }): Promise<{ suppressions: readonly Suppression[]; nextId: number | null }>;
  /**
   * Removes every entry of an address, or the one for `reason`, with its evidence; returns how many were in force.
   * Synced.
   */
  removeSuppressions(params: {
    domain: string;
    address: string;
    reason?: SuppressionReason;
    now: number;
    /** For the timelines of the messages that caused the entries: one id each, for as many entries as there are ids. */
    eventIds?: readonly string[];
  }): Promise<number>;
  /**
   * Deletes ended entries, and evidence older than `evidenceBefore`: at most `limit` of each; returns the larger
   * number.
   */
  purgeSuppressions(params: { now: number; evidenceBefore: number; limit: number }): Promise<number>;
}
