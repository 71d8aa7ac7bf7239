/**
 * Which addresses are taken back, and what each is for. Given the local part of an address at a bounce
 * domain, leaves its target or null: a token of ours that verifies, or one of a handful of names that every mail domain
 * or feedback loop needs. Anything else is nobody here.
 */
import type { ReturnPathTokens } from '../../mail/verp.ts';

export type ReturnTarget =
  /** Bounces of one delivery. */
  | { kind: 'delivery'; deliveryId: number }
  /** Bounces of a message's grouped copies. */
  | { kind: 'message'; messageSeq: number }
  /** Opting out by mail. */
  | { kind: 'unsubscribe'; deliveryId: number }
  /** Complaints; `provider` as the address names it, '' = not named. */
  | { kind: 'feedback'; provider: string }
  /** Aggregate reports, kept. */
  | { kind: 'reports'; name: 'dmarc' | 'tlsrpt' }
  /** For the operator. */
  | { kind: 'operator'; name: 'postmaster' | 'abuse' };

/** The targets that a token of ours names. */
export type TokenTarget = Extract<ReturnTarget, { kind: 'delivery' | 'message' | 'unsubscribe' }>;

export function isToken(target: ReturnTarget): target is TokenTarget {
  return target.kind === 'delivery' || target.kind === 'message' || target.kind === 'unsubscribe';
}

/** How long after sending something may come back, ms. */
export const RETURNS_TAKEN_MS = 60 * 24 * 3_600_000;

const FEEDBACK = /^fbl(?:-([a-z0-9]{1,32}))?$/;

/** The target behind a local part, or null. Case does not matter. */
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
  // Ids of ours are far below 2^53; a larger one names nothing.
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
