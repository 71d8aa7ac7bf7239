/**
 * Which of the configured ways a recipient goes: the first rule that fits, else the last resort. Pure and quick: it is
 * asked for each recipient. It goes by what is known of a whole queue, so that rows of one queue have one way.
 */
import type { Lane } from '../../model/message.ts';

/** Structurally the configuration's. */
export interface RouteMatch {
  senderDomain: readonly string[] | null;
  recipientDomain: readonly string[] | null;
  priority: readonly string[] | null;
}

export interface RouteQuestion {
  senderDomain: string;
  recipientDomain: string;
  lane?: Lane;
}

/** Index of the first rule that fits, or -1. */
export function firstRule(rules: readonly RouteMatch[], question: RouteQuestion): number {
  return rules.findIndex(
    (rule) =>
      fitsDomain(rule.senderDomain, question.senderDomain) &&
      fitsDomain(rule.recipientDomain, question.recipientDomain) &&
      (rule.priority === null || (question.lane !== undefined && rule.priority.includes(question.lane))),
  );
}

/** `example.com` fits itself alone, `*.example.com` whatever lies below it. */
function fitsDomain(patterns: readonly string[] | null, domain: string): boolean {
  if (patterns === null) return true;
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? domain.endsWith(pattern.slice(1)) : pattern === domain,
  );
}

/** The same text has the same place among `count`, on every machine and after every start (FNV-1a). */
export function stablePlace(text: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  // The low bits of neighbouring texts differ too little.
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % count;
}
