/**
 * Which of the configured ways a recipient goes: the first rule that fits, else the last resort. Pure and quick: it is
 * asked for each recipient. It goes by what is known of a whole queue, so that rows of one queue have one way.
 */
import type { Lane } from '../../../model/message.ts';
import { routeKeyParts } from '../../../model/route-key.ts';

/** Structurally the configuration's. */
export interface RouteMatch {
  senderDomain: readonly string[] | null;
  recipientDomain: readonly string[] | null;
  priority: readonly string[] | null;
  /** One of its tags is among these. */
  tag: readonly string[] | null;
}

export interface RouteQuestion {
  senderDomain: string;
  recipientDomain: string;
  lane?: Lane;
  /** What `routeKeyOf` made of its tags; absent = none that a route names. */
  routeKey?: string;
}

/** Index of the first rule that fits, or -1. */
export function firstRule(rules: readonly RouteMatch[], question: RouteQuestion): number {
  return rules.findIndex(
    (rule) =>
      fitsDomain(rule.senderDomain, question.senderDomain) &&
      fitsDomain(rule.recipientDomain, question.recipientDomain) &&
      (rule.priority === null || (question.lane !== undefined && rule.priority.includes(question.lane))) &&
      (rule.tag === null || hasTag(rule.tag, question.routeKey)),
  );
}

/** Every tag that some rule names: what is kept of a message's tags with its queue. */
export function tagsNamed(rules: readonly RouteMatch[]): string[] {
  return [...new Set(rules.flatMap(({ tag }) => tag ?? []))].sort();
}

function hasTag(wanted: readonly string[], routeKey: string | undefined): boolean {
  const { tags } = routeKeyParts(routeKey);
  return tags.some((tag) => wanted.includes(tag));
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
