/**
 * An address that a sender domain does not send to, and why. One row per domain, address and reason: an opt-out
 * outlives the bounce that came on top of it. Also the evidence that leads to one, and the key that addresses are
 * matched by.
 */

export type SuppressionReason =
  | 'Bounce'
  | 'Inactive'
  | 'SoftBounces'
  | 'Complaint'
  | 'Unsubscribe'
  | 'Manual';

export const SUPPRESSION_REASONS: readonly SuppressionReason[] = [
  'Bounce',
  'Inactive',
  'SoftBounces',
  'Complaint',
  'Unsubscribe',
  'Manual',
];

export interface Suppression {
  /** Grows with every new entry; the cursor of lists. */
  id: number;
  /** The sender domain it holds for. */
  domain: string;
  /** As it was given first. */
  address: string;
  reason: SuppressionReason;
  /** Whoever added it by hand may say why, '' = nothing. */
  note: string;
  createdAt: number;
  /** From then on it does not count any more; null = until removed. */
  expiresAt: number | null;
  /** What caused it; null for entries made by hand. */
  source: SuppressionSource | null;
}

export interface SuppressionSource {
  messageId: string;
  /** The remote's words, ≤ 512 characters. */
  reply: string;
  /** What decided: a rule of the classifier, or what counted up to it. */
  rule: string;
}

/**
 * The form an address is matched by: `Ann@Example.net` and `ann@example.net` are one person to every provider that
 * matters, so the local part is folded here, and only here. The domain is expected as a lower-case A-label.
 */
export function suppressionKey(address: string): string {
  return address.normalize('NFC').toLowerCase();
}
