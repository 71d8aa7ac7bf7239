/**
 * Which configured route a recipient uses: the first rule that matches, otherwise the final one. Fast, because it runs
 * for each recipient. It depends only on what a whole queue has in common, so that all rows of one queue have one
 * route.
 */
import type { Lane } from '../../../model/message.ts';
import { routeKeyParts } from '../../../model/route-key.ts';

/** Has the structure of the configuration. */
export interface RouteMatch {
  senderDomain: readonly string[] | null;
  recipientDomain: readonly string[] | null;
  priority: readonly string[] | null;
  /** It has one of these tags. */
  tag: readonly string[] | null;
}

export interface RouteQuestion {
  senderDomain: string;
  recipientDomain: string;
  lane?: Lane;
  /** The result of `routeKeyOf` for its tags; absent = none that a route names. */
  routeKey?: string;
}

/** Index of the first rule that matches, or -1. */
export function firstRule(rules: readonly RouteMatch[], question: RouteQuestion): number {
  return rules.findIndex(
    (rule) =>
      fitsDomain(rule.senderDomain, question.senderDomain) &&
      fitsDomain(rule.recipientDomain, question.recipientDomain) &&
      (rule.priority === null || (question.lane !== undefined && rule.priority.includes(question.lane))) &&
      (rule.tag === null || hasTag(rule.tag, question.routeKey)),
  );
}

/** Every tag that some rule names; only these of a message's tags are stored with its queue. */
export function tagsNamed(rules: readonly RouteMatch[]): string[] {
  return [...new Set(rules.flatMap(({ tag }) => tag ?? []))].sort();
}

function hasTag(wanted: readonly string[], routeKey: string | undefined): boolean {
  const { tags } = routeKeyParts(routeKey);
  return tags.some((tag) => wanted.includes(tag));
}

/** `example.com` matches only itself, `*.example.com` all its sub-domains. */
function fitsDomain(patterns: readonly string[] | null, domain: string): boolean {
  if (patterns === null) return true;
  return patterns.some((pattern) =>
    pattern.startsWith('*.') ? domain.endsWith(pattern.slice(1)) : pattern === domain,
  );
}

/** A number below `count` that is the same for a text on every machine and after every start (FNV-1a). */
export function stablePlace(text: string, count: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) {
    hash ^= text.charCodeAt(i);
    hash = Math.imul(hash, 0x01000193);
  }
  // The low bits of similar texts differ too little.
  hash ^= hash >>> 15;
  return (Math.imul(hash, 0x2c1b3c6d) >>> 0) % count;
}
