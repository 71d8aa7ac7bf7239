/**
 * Whether a relay's answer to a message is about our account there or its service, and not about this message: then the
 * next relay of a list takes it. A relay speaks for the operator's contract with it, so what would be one receiver's
 * opinion of us at an MX host is a reason to go elsewhere here. Pure.
 */
import type { Category } from './classifier/categories.ts';
import type { Stage } from './classifier/verdict.ts';
import type { Outcome } from './outcome.ts';

/** `one`: said once it is believed. `several`: it may be about one message, and counts when a second one meets it. */
export type Refusal = { why: string; believed: 'one' | 'several' };

const ABOUT_US: ReadonlySet<Category> = new Set(['relay_denied', 'relay_login_failed']);
/** Its own trouble, or what a server behind it said of it, which one message alone may have met. */
const PERHAPS_ABOUT_US: ReadonlySet<Category> = new Set([
  'rate_limited',
  'ip_reputation',
  'ip_blocklisted',
  'ptr_missing',
  'helo',
  'service_unavailable',
]);
/** RFC 4954 §6: no login, one that is not good enough, or not any more. */
export const WANTS_LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538]);

const ABOUT_A_MESSAGE: ReadonlySet<Stage> = new Set(['rcpt', 'data', 'body', 'dot']);

/** null: it is about the message, or no refusal. */
export function relayRefusal(outcome: Outcome): Refusal | null {
  if (outcome.kind !== 'deferred' && outcome.kind !== 'bounced' && outcome.kind !== 'path') return null;
  const { reply, detail } = outcome;
  if (reply === null || reply.code < 400) return null;
  const category = outcome.kind === 'path' ? outcome.category : outcome.verdict.category;
  if (WANTS_LOGIN.has(reply.code) || ABOUT_US.has(category)) return { why: detail, believed: 'one' };
  // Before a recipient is named it can only be about the session.
  if (reply.code === 421)
    return { why: detail, believed: ABOUT_A_MESSAGE.has(outcome.stage) ? 'several' : 'one' };
  return PERHAPS_ABOUT_US.has(category) ? { why: detail, believed: 'several' } : null;
}
