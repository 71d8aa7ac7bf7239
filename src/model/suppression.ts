/**
 * An address that a sender domain does not send to, and why. There is one row per domain, address and reason, so an
 * opt-out outlives a later bounce. Also the evidence that leads to a suppression, and the key by which addresses are
 * compared.
 */

export const SUPPRESSION_REASONS = [
  'Bounce',
  'Inactive',
  'SoftBounces',
  'Complaint',
  'Unsubscribe',
  'Manual',
] as const;
export type SuppressionReason = (typeof SUPPRESSION_REASONS)[number];

/** When an address may be taken off the list, by what put it there. */
export const REMOVABLE_IF: Readonly<Record<SuppressionReason, string>> = {
  Bounce: 'If it takes mail again',
  Inactive: 'If it takes mail again',
  SoftBounces: 'If it takes mail again',
  Complaint: 'Only if the recipient asks for mail again',
  Unsubscribe: 'Only if the recipient asks for mail again',
  Manual: 'To send to it again',
};

export interface Suppression {
  /** Increases with every new entry; the cursor of lists. */
  id: number;
  /** The sender domain it belongs to. */
  domain: string;
  /** As first given. */
  address: string;
  reason: SuppressionReason;
  /** A comment of the person who added it, '' = none. */
  note: string;
  createdAt: number;
  /** From then on it no longer applies; null = until removed. */
  expiresAt: number | null;
  /** What caused it; null for entries made by hand. */
  source: SuppressionSource | null;
}

export interface SuppressionSource {
  messageId: string;
  /** The remote's words, ≤ 512 characters. */
  reply: string;
  /** What decided: a rule of the classifier, or the name of a counter. */
  rule: string;
}

/**
 * The key of an address: for all large providers `Ann@Example.net` and `ann@example.net` are the same person, so the
 * local part is put into lower case, only here. The domain is expected as a lower-case A-label.
 */
export function suppressionKey(address: string): string {
  return address.normalize('NFC').toLowerCase();
}
