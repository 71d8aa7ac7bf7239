/** Who gets no mail, and what is left of a person who was erased. Types only. */
import type { SuppressionReason } from '../../../../model/suppression.ts';

/** POST /erase. */
export interface EraseAnswer {
  /** Messages in which the person stood. */
  Messages: number;
  /** Events in which the address was masked. */
  Events: number;
  /** Messages of which something had to stay until a copy under way is final: ask again then. */
  Pending: number;
  /** How much of the work is done, 0 to 1. */
  Share: number;
  /** `After` of the next request; null = all is done. */
  NextCursor: string | null;
}

/** One item of GET /suppressions. */
export interface SuppressionAnswer {
  /** As it was given; any case of the part before the @ is stopped. */
  Email: string;
  Domain: string;
  Reason: SuppressionReason;
  Note: string;
  CreatedAt: string;
  ExpiresAt: string | null;
  /** The message whose outcome caused it; null = added by hand. */
  MessageID: string | null;
  Reply: string;
  /** What decided: the classifier's rule. */
  Rule: string;
}

/** GET /suppressions/{Email}: one entry per reason. */
export interface SuppressionDetail {
  Email: string;
  Domain: string;
  Entries: readonly SuppressionAnswer[];
}

/** POST /suppressions: `Existing` were in force already and were left alone. */
export interface SuppressionsAdded {
  Added: number;
  Existing: number;
}
