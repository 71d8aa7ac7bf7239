/**
 * Suppression rules: which reason stops which mail, how long a reason applies, and what an outcome means for writing to
 * its recipient again. Entries and counts are in the store.
 *
 * A wrong suppression silently loses mail, so an outcome suppresses only if the receiver clearly spoke about the
 * recipient. Results of the sandbox never suppress.
 */

import { dayOf } from '../../lib/instant.ts';
import type { Lane } from '../../model/message.ts';
import type { Suppression, SuppressionReason } from '../../model/suppression.ts';
import type { Store } from '../../store/store.ts';
import type { SuppressionSignal } from '../../store/topics/suppressions.ts';

const DAY_MS = 24 * 3_600_000;

/** How long an entry applies, in ms; null = until it is removed. */
const LIFETIME_MS: Readonly<Record<SuppressionReason, number | null>> = {
  Bounce: null,
  Inactive: 90 * DAY_MS,
  SoftBounces: 30 * DAY_MS,
  Complaint: null,
  Unsubscribe: null,
  Manual: null,
};

/** Counts towards a suppression are dropped after this long without another bounce, in ms. */
export const EVIDENCE_KEPT_MS = 180 * DAY_MS;

/** Three days with a soft bounce, two weeks from the first to the last. */
const SOFT_NEEDS = { days: 3, spanMs: 14 * DAY_MS };
/** A reply that probably means "no such mailbox" is needed twice, a day apart. */
const UNSURE_NEEDS = { days: 2, spanMs: DAY_MS };

/** x.1.x: about the address itself (RFC 3463 §3.2). */
const ABOUT_ADDRESS = /^[45]\.1\.\d{1,3}$/;
const MAX_REPLY = 512;

/** What decides whether a reason stops a message. */
export interface MailKind {
  lane: Lane;
  /** Sent with an unsubscribe link of ours, in any lane, or meant to be. */
  listUnsubscribe: boolean;
}

/** When an entry made at `now` ends by itself; null = never. */
export function expiryOf(reason: SuppressionReason, now: number): number | null {
  const lifetime = LIFETIME_MS[reason];
  return lifetime === null ? null : now + lifetime;
}

/** Whether `reason` stops this mail: an opt-out never stops a receipt, a complaint never a one-time code. */
export function blocks(reason: SuppressionReason, mail: MailKind): boolean {
  switch (reason) {
    case 'Unsubscribe':
      return mail.lane === 'bulk' || mail.listUnsubscribe;
    case 'Complaint':
      return mail.lane !== 'critical';
    case 'Bounce':
    case 'Inactive':
    case 'SoftBounces':
    case 'Manual':
      return true;
  }
}

/** The first of the reasons that stops this mail, or null. */
export function blockingReason(
  reasons: readonly SuppressionReason[],
  mail: MailKind,
): SuppressionReason | null {
  return reasons.find((reason) => blocks(reason, mail)) ?? null;
}

/** Recipients that must not be sent to now, by the address as it was asked for, each with its entry. */
export async function suppressedRecipients(
  store: Pick<Store, 'suppressedAmong'>,
  params: MailKind & { domain: string; addresses: readonly string[]; now: number },
): Promise<ReadonlyMap<string, Suppression>> {
  if (params.addresses.length === 0) return NONE;
  const { domain, addresses, now } = params;
  const found = await store.suppressedAmong({ domain, addresses, now });
  if (found.length === 0) return NONE;
  const stopped = new Map<string, Suppression>();
  for (const { address, suppression } of found) {
    if (!stopped.has(address) && blocks(suppression.reason, params)) stopped.set(address, suppression);
  }
  return stopped;
}

const NONE: ReadonlyMap<string, Suppression> = new Map();

/** `SoftBounces since 2026-11-21: 552 5.2.2 Mailbox full`, for events and refusals; at most 512 characters. */
export function suppressionText({ reason, createdAt, note, source }: Suppression): string {
  const why = source === null ? note : source.reply;
  const since = `${reason} since ${dayOf(createdAt)}`;
  return (why === '' ? since : `${since}: ${why}`).slice(0, MAX_REPLY);
}

/** A final outcome as far as it concerns the recipient: a refusal, or giving up after the last reply. */
export interface FinalOutcome {
  /** The classifier's result: `hard` without an end, `inactive`, `soft` counts, `no`. */
  suppress: 'no' | 'hard' | 'inactive' | 'soft';
  /**
   * The reply came at a stage where receivers refuse recipients, and probably, but not certainly, means "no such
   * mailbox".
   */
  probablyInvalid: boolean;
  /** RFC 3463; null if the reply had none. */
  enhanced: string | null;
  /** Sent by a relay, whose replies are often about our own account there. */
  relayed: boolean;
  /** Simulated by the sandbox. */
  sandbox: boolean;
  reply: string;
  /** The classifier's rule that decided. */
  rule: string;
}

/** What the store does about the recipient of a final outcome, or null; the caller adds the event. */
export function signalOf(outcome: FinalOutcome, now: number): Omit<SuppressionSignal, 'event'> | null {
  if (outcome.sandbox) return null;
  if (outcome.relayed && (outcome.enhanced === null || !ABOUT_ADDRESS.test(outcome.enhanced))) return null;
  const found = meaningOf(outcome);
  if (found === null) return null;
  return {
    reason: found.reason,
    needs: found.needs,
    expiresAt: expiryOf(found.reason, now),
    reply: outcome.reply.slice(0, MAX_REPLY),
    rule: outcome.rule,
  };
}

function meaningOf(outcome: FinalOutcome): Pick<SuppressionSignal, 'reason' | 'needs'> | null {
  switch (outcome.suppress) {
    case 'hard':
      return { reason: 'Bounce', needs: null };
    case 'inactive':
      return { reason: 'Inactive', needs: null };
    case 'soft':
      return { reason: 'SoftBounces', needs: SOFT_NEEDS };
    case 'no':
      return outcome.probablyInvalid ? { reason: 'Bounce', needs: UNSURE_NEEDS } : null;
  }
}
