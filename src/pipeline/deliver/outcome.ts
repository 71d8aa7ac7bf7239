/**
 * What an attempt can come to, and the reading of a remote's reply: first digit of the reply code decides
 * (RFC 5321 §4.2.1), then the enhanced code (RFC 3463), then the stage. The full rule set of reply texts builds on the
 * same `Verdict`. Unknown failures are temporary; only the recipient's own refusals speak about the recipient.
 */
import type { BounceScope } from '../../model/bounce.ts';
import type { RouteKind } from '../../model/delivery.ts';

/** Where in the conversation a reply or failure happened. */
export type Stage =
  | 'dns'
  | 'connect'
  | 'banner'
  | 'ehlo'
  | 'starttls'
  | 'tls'
  | 'auth'
  | 'mail'
  | 'rcpt'
  | 'data'
  | 'body'
  | 'dot'
  | 'local';

/** One vocabulary for why (delivery.md §7.2); `Class` in events is its PascalCase. */
export const CATEGORIES = [
  'recipient_invalid',
  'mailbox_inactive',
  'mailbox_full',
  'recipient_policy',
  'domain_invalid',
  'greylisted',
  'rate_limited',
  'message_too_large',
  'auth_failed',
  'sender_rejected',
  'routing_loop',
  'dns_failure',
  'unreachable',
  'timeout',
  'conn_lost',
  'service_unavailable',
  'tls_failed',
  'protocol_error',
  'smtputf8_unsupported',
  'too_many_recipients',
  'policy_other',
  'unknown_soft',
  'unknown_hard',
  'expired',
  'outcome_unknown',
  'signing_failed',
  'domain_not_verified',
  'content_gone',
] as const;
export type Category = (typeof CATEGORIES)[number];

export interface ReplyFacts {
  code: number;
  /** RFC 3463, null where none was given. */
  enhanced: string | null;
  text: string;
}

export interface Verdict {
  category: Category;
  scope: BounceScope;
  /** `path`: about our connection or address, never charged to the message. */
  action: 'retry' | 'bounce' | 'path';
  /** Wait prescribed by the category, ms; null = the lane's schedule. */
  waitMs: number | null;
  /** A permanent answer that may well change (full mailbox): `Transient` in the bounce object. */
  soft: boolean;
}

export type Outcome =
  | { kind: 'delivered'; route: RouteKind; reply: ReplyFacts | null; facts: AttemptFacts }
  /** Try again later; one attempt is charged. */
  | {
      kind: 'deferred';
      verdict: Verdict;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
    }
  /** Refused for good. `twice`: believed only when the same answer comes again later. */
  | {
      kind: 'bounced';
      verdict: Verdict;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
      twice?: boolean;
    }
  /** We cannot go on. */
  | { kind: 'failed'; category: Category; detail: string; facts: AttemptFacts }
  /** A local reason: it waits, no attempt is charged, nothing is sent unsigned. */
  | { kind: 'held'; category: Category; detail: string }
  /** The final reply never came after the final dot: it may or may not have been taken. */
  | { kind: 'unknown'; detail: string; facts: AttemptFacts }
  /** The path failed, not the message: no attempt is charged, everything behind it waits too. */
  | {
      kind: 'path';
      category: Category;
      stage: Stage;
      reply: ReplyFacts | null;
      detail: string;
      facts: AttemptFacts;
    }
  /** The connection ended before this message was really tried: another connection, at once. */
  | { kind: 'again'; detail: string };

/** What an attempt leaves for the timeline. */
export interface AttemptFacts {
  remoteMta: string;
  conversation: string;
  tls: string;
  durationMs: number;
}

export const NO_FACTS: AttemptFacts = { remoteMta: '', conversation: '', tls: '', durationMs: 0 };

const MINUTE = 60_000;

/** Reads a final 4xx or 5xx reply given at `stage`. */
export function classify(stage: Stage, reply: ReplyFacts): Verdict {
  const permanent = reply.code >= 500 && reply.code < 600;
  if (reply.code === 421) return path('service_unavailable');
  if (reply.code < 400 || reply.code >= 600) return retry('protocol_error', 'message', permanent);
  if (
    stage === 'connect' ||
    stage === 'banner' ||
    stage === 'ehlo' ||
    stage === 'starttls' ||
    stage === 'tls'
  ) {
    return path('service_unavailable');
  }
  if (stage === 'auth') return path('auth_failed');
  return byEnhanced(reply, permanent) ?? byStage(stage, permanent);
}

function byEnhanced(reply: ReplyFacts, permanent: boolean): Verdict | null {
  const match = /^[245]\.(\d{1,3})\.(\d{1,3})$/.exec(reply.enhanced ?? '');
  if (match === null) return null;
  const subject = Number(match[1]);
  const detail = Number(match[2]);
  switch (`${subject}.${detail}`) {
    case '1.1':
    case '1.3':
    case '1.6':
      return retry('recipient_invalid', 'recipient', permanent);
    case '1.2':
    case '1.10':
      return retry('domain_invalid', 'domain', permanent);
    case '1.7':
    case '1.8':
      return retry('sender_rejected', 'sender_domain', permanent);
    case '2.1':
      return retry('mailbox_inactive', 'recipient', permanent);
    case '2.2':
      return { ...retry('mailbox_full', 'recipient', permanent), waitMs: 60 * MINUTE, soft: true };
    case '2.3':
    case '3.4':
      return retry('message_too_large', 'message', permanent);
    case '4.6':
      return retry('routing_loop', 'domain', permanent);
    case '5.3':
      return retry('too_many_recipients', 'message', permanent);
    case '6.7':
      return retry('smtputf8_unsupported', 'message', permanent);
    case '7.13':
    case '7.17':
    case '7.18':
      return retry('recipient_policy', 'recipient', permanent);
  }
  if (subject === 7) {
    // 450/451 4.7.1 is what greylisting servers answer; a short wait costs nothing where it is something else.
    if (!permanent && /gr[ae]y-?list/i.test(reply.text)) {
      return { ...retry('greylisted', 'recipient', false), waitMs: 5 * MINUTE };
    }
    return retry('policy_other', 'message', permanent);
  }
  if (subject === 3 || subject === 4) return retry('service_unavailable', 'message', permanent);
  if (subject === 5 || subject === 6) return retry('protocol_error', 'message', permanent);
  return null;
}

function byStage(stage: Stage, permanent: boolean): Verdict {
  if (stage === 'rcpt') return retry(permanent ? 'unknown_hard' : 'unknown_soft', 'recipient', permanent);
  return retry(permanent ? 'unknown_hard' : 'unknown_soft', 'message', permanent);
}

function retry(category: Category, scope: BounceScope, permanent: boolean): Verdict {
  return { category, scope, action: permanent ? 'bounce' : 'retry', waitMs: null, soft: false };
}

function path(category: Category): Verdict {
  return { category, scope: 'path', action: 'path', waitMs: null, soft: false };
}

const HINT =
  /\b(?:try again|retry|come back|wait)\b[^\d]{0,40}(\d{1,5}) ?(s|sec|secs|seconds?|m|min|mins|minutes?|h|hours?)\b/i;

/** A wait that the remote asks for in its text ("try again in 300 seconds"), in ms; null where it names none. */
export function retryHintMs(text: string): number | null {
  const match = HINT.exec(text.slice(0, 2048));
  if (match === null) return null;
  const unit = (match[2] ?? 's')[0]?.toLowerCase();
  return Number(match[1]) * (unit === 'h' ? 3_600_000 : unit === 'm' ? MINUTE : 1000);
}

/** `mailbox_full` → `MailboxFull`. */
export function pascalCase(category: string): string {
  return category
    .split('_')
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('');
}
