/** A sandbox rule: the simulated result for recipients that match it, instead of a delivery. */

import type { RequestedResult } from './message.ts';

export type RuleResult = Exclude<RequestedResult, 'suppress'>;

export interface SandboxRule {
  /** UUIDv7. */
  id: string;
  /** The sender domain whose mail it applies to. */
  domain: string;
  /** In lower case; null = any. */
  inbox: string | null;
  /** An address, or `*` and the end of an address; in lower case; null = any. */
  recipient: string | null;
  /** A part of the subject, in any case; null = any. */
  subject: string | null;
  tag: string | null;
  result: RuleResult;
  /** How often a recipient is deferred before it is delivered; only for `defer`. */
  defers: number;
  /** Before the first attempt. */
  delayMs: number;
  /** The simulated reply; null = one that fits the result. */
  reply: { code: number; enhanced: string; text: string } | null;
  /** For a matching recipient, 0 to 1. */
  probability: number;
  /** How many recipients it is used for; null = all. */
  times: number | null;
  /** How many it was used for. */
  uses: number;
  createdAt: number;
  expiresAt: number;
}

/** What is known of a message that a rule may match; undefined = not known yet. */
export interface RuleQuestion {
  senderDomain: string;
  address: string;
  subject: string | undefined;
  tags: readonly string[] | undefined;
  inbox: string | undefined;
}

/** Whether the rule can match, given what is known. */
export function mayMatch(rule: SandboxRule, mail: RuleQuestion): boolean {
  return (
    rule.domain === mail.senderDomain &&
    (rule.recipient === null || fitsAddress(rule.recipient, mail.address.toLowerCase())) &&
    (rule.inbox === null || mail.inbox === undefined || rule.inbox === mail.inbox) &&
    (rule.tag === null || mail.tags === undefined || mail.tags.includes(rule.tag)) &&
    (rule.subject === null ||
      mail.subject === undefined ||
      mail.subject.toLowerCase().includes(rule.subject.toLowerCase()))
  );
}

function fitsAddress(pattern: string, address: string): boolean {
  return pattern.startsWith('*') ? address.endsWith(pattern.slice(1)) : address === pattern;
}
