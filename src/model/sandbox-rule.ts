/** A sandbox rule: the simulated result for recipients that match it, in place of a delivery. */

export const RULE_RESULTS = [
  'deliver',
  'bounce',
  'softbounce',
  'defer',
  'fail',
  'complain',
  'open',
  'click',
] as const;
export type RuleResult = (typeof RULE_RESULTS)[number];

export interface SandboxRule {
  /** UUIDv7. */
  id: string;
  /** The sender domain whose mail it is about. */
  domain: string;
  /** In lower case; null = any. */
  inbox: string | null;
  /** An address, or `*` and how it ends; in lower case; null = any. */
  recipient: string | null;
  /** Held by the subject, in any case; null = any. */
  subject: string | null;
  tag: string | null;
  result: RuleResult;
  /** How often it is deferred before it is delivered; of `defer` only. */
  defers: number;
  /** Before the first try. */
  delayMs: number;
  /** What the server would have said; null = what fits the result. */
  reply: { code: number; enhanced: string; text: string } | null;
  /** Of a recipient that fits, 0 to 1. */
  probability: number;
  /** Recipients it is used for; null = all. */
  times: number | null;
  /** So far. */
  uses: number;
  createdAt: number;
  expiresAt: number;
}

/** What is known of mail that a rule may be about; undefined = not known yet. */
export interface RuleQuestion {
  senderDomain: string;
  address: string;
  subject: string | undefined;
  tags: readonly string[] | undefined;
  inbox: string | undefined;
}

/** Whether nothing that is known speaks against the rule. */
export function mayFit(rule: SandboxRule, mail: RuleQuestion): boolean {
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
