/** To whom not, per sender domain. Part of the Store (`../store.ts` says what all its operations promise). */
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
   * null: at once. Else signals of this reason count, each UTC day once, and the entry is made when there are so many
   * days and so much time lies between the first and the last; a delivery to the address starts the count again.
   */
  needs: { days: number; spanMs: number } | null;
  /** Stored only if the entry is new. */
  event: NewEvent;
}

/** An address that a sender domain does not write to any more, or writes to again. */
export interface SuppressionChange {
  senderDomain: string;
  /** `suppressionKey` of the address. */
  key: string;
  reason: SuppressionReason;
  /** The entry was taken off the list; absent = it was added. */
  lifted?: true;
}

export interface SuppressionStore {
  /**
   * Told of entries that this process added or lifted, whatever brought that about, in order, when they are committed and
   * before the operation resolves. Until the function that it gives back is called.
   */
  onSuppressed(listener: (changes: readonly SuppressionChange[]) => void): () => void;
  /** Entries in force for any of the addresses, each with the address as it was asked for, oldest first. */
  suppressedAmong(params: {
    domain: string;
    addresses: readonly string[];
    now: number;
  }): Promise<readonly { address: string; suppression: Suppression }[]>;
  /** Sender domains that have entries, in force or not. */
  suppressedDomains(): Promise<readonly string[]>;
  /** Adds those that are not in force yet for their address and reason; `existing` ones keep what they say. Synced. */
  addSuppressions(params: {
    domain: string;
    entries: readonly NewSuppression[];
    now: number;
    /**
     * Its body may name `"$added"` and `"$existing"`. Taken in the same transaction where something is made; rejects with
     * KeyTaken where it is taken already.
     */
    idempotency?: IdempotencyEntry;
  }): Promise<{ added: number; existing: number }>;
  /**
   * At most `limit` of those in force, newest first, and `beforeId` of the next look, null = that was all. It may hold
   * nothing and still go on, where `look` came first.
   */
  listSuppressions(params: {
    domains?: readonly string[];
    reason?: SuppressionReason;
    address?: string;
    /** Created then or later. */
    since?: number;
    beforeId?: number;
    now: number;
    limit: number;
    /** Entries that are looked at, at the most. */
    look: number;
  }): Promise<{ suppressions: readonly Suppression[]; nextId: number | null }>;
  /** Lifts every entry of an address, or the one for `reason`, with what counted towards it; how many were in force. Synced. */
  removeSuppressions(params: {
    domain: string;
    address: string;
    reason?: SuppressionReason;
    now: number;
    /** For the timelines of the messages that brought the entries: one id each, as many entries as there are ids. */
    eventIds?: readonly string[];
  }): Promise<number>;
  /**
   * Removes entries past their end, and counts without news since `evidenceBefore`: at most `limit` of each; the larger
   * number.
   */
  purgeSuppressions(params: { now: number; evidenceBefore: number; limit: number }): Promise<number>;
}
