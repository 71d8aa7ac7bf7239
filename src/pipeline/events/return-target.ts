/**
 * Which addresses are accepted for returned mail, and what each is for. Takes the local part of an address at a bounce
 * domain; returns its target or null: a valid token of ours, or one of a few names that every mail domain or feedback
 * loop needs. All others are unknown recipients.
 */
import type { ReturnPathTokens } from '../../mail/verp.ts';

export type ReturnTarget =
  /** Bounces of one delivery. */
  | { kind: 'delivery'; deliveryId: number }
  /** Bounces of a message's grouped copies. */
  | { kind: 'message'; messageSeq: number }
  /** Unsubscribing by mail. */
  | { kind: 'unsubscribe'; deliveryId: number }
  /** Complaints; `provider` as named in the address, '' = not named. */
  | { kind: 'feedback'; provider: string }
  /** Aggregate reports; those on TLS are stored as files. */
  | { kind: 'reports'; name: 'dmarc' | 'tlsrpt' }
  /** For the operator. */
  | { kind: 'operator'; name: 'postmaster' | 'abuse' };

/** Targets named by a token of ours. */
export type TokenTarget = Extract<ReturnTarget, { kind: 'delivery' | 'message' | 'unsubscribe' }>;

export function isToken(target: ReturnTarget): target is TokenTarget {
  return target.kind === 'delivery' || target.kind === 'message' || target.kind === 'unsubscribe';
}

/** How long after sending returned mail is accepted, in ms. */
export const RETURNS_TAKEN_MS = 60 * 24 * 3_600_000;

const FEEDBACK = /^fbl(?:-([a-z0-9]{1,32}))?$/;

/** The target of a local part, or null. Case does not matter. */
export function returnTarget(
  localPart: string,
  tokens: Pick<ReturnPathTokens, 'parse'>,
): ReturnTarget | null {
  const name = localPart.toLowerCase();
  if (name === 'postmaster' || name === 'abuse') return { kind: 'operator', name };
  if (name === 'dmarc' || name === 'tlsrpt') return { kind: 'reports', name };
  const feedback = FEEDBACK.exec(name);
  if (feedback !== null) return { kind: 'feedback', provider: feedback[1] ?? '' };
  const token = tokens.parse(localPart);
  // Our ids are far below 2^53; a larger one is invalid.
  if (!token.ok || typeof token.id !== 'number') return null;
  switch (token.purpose) {
    case 'b':
      return { kind: 'delivery', deliveryId: token.id };
    case 'g':
      return { kind: 'message', messageSeq: token.id };
    case 'u':
      return { kind: 'unsubscribe', deliveryId: token.id };
  }
}
