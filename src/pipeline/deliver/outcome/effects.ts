/**
 * What a reply changes beyond the message that it answers, as one table: a row for each category that changes anything, a
 * column for each owner of what is changed. Given an outcome, says what follows for the path, a relay, the way to the
 * recipient domain, the sender domain and the operator; each owner applies its column. Pure. Only replies of the far end
 * count here, never words of our own.
 */
import { type OverrideNote, pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Category } from './classifier/categories.ts';
import type { Stage } from './classifier/verdict.ts';
import type { Outcome } from './outcome.ts';

/** What follows from a reply of one category. Whatever is left out stays as it is. */
export interface Effects {
  /** Limits of the path, for a time. */
  path?: 'fewer-connections' | 'half-the-rate' | 'one-a-minute' | 'tls' | 'suspended';
  /** The relay that said so is passed over: it was about our account or its service, once said or told by several messages. */
  relay?: 'one' | 'several';
  /** The way to a recipient domain's own hosts: DNS is asked again, TLS is asked for, IPv6 is left out. */
  dnsAgain?: true;
  wantTls?: true;
  ipv4Only?: true;
  /** Mail of the sender domain, where it is said again and again. */
  sender?: 'paused' | 'bulk-held' | 'slowed';
  /** It concerns the operator's own addresses and is told at once. */
  alert?: true;
}

/** Refusals of our address; by IPv6 many servers are stricter than by IPv4. */
const OUR_ADDRESS = { relay: 'several', ipv4Only: true, alert: true } as const;

const EFFECTS: Readonly<Partial<Record<Category, Effects>>> = {
  connection_limited: { path: 'fewer-connections' },
  rate_limited: { path: 'half-the-rate', relay: 'several' },
  ip_reputation: { path: 'one-a-minute', ...OUR_ADDRESS },
  ip_blocklisted: { path: 'suspended', ...OUR_ADDRESS },
  ptr_missing: OUR_ADDRESS,
  helo: OUR_ADDRESS,
  tls_required: { path: 'tls', wantTls: true },
  service_unavailable: { relay: 'several' },
  relay_login_failed: { relay: 'one' },
  // The domain's mail is not this server's to take: its MX may have changed.
  relay_denied: { relay: 'one', dnsAgain: true },
  routing_loop: { dnsAgain: true },
  auth_failed: { sender: 'paused', ipv4Only: true },
  url_or_domain_blocklisted: { sender: 'bulk-held' },
  spam_content: { sender: 'slowed' },
};
const NOTHING: Effects = {};

/** null: no reply, or one that was not understood. */
export function effectsOf(category: Category | null): Effects {
  return category === null ? NOTHING : (EFFECTS[category] ?? NOTHING);
}

/** Of the reply that an attempt came to; null = none. */
export function categoryOf(outcome: Outcome): Category | null {
  return 'verdict' in outcome ? (outcome.verdict?.category ?? null) : null;
}

// ── on the path ───────────────────────────────────────────────────────────────────────────────────────────

/** What the path was doing when the reply came. */
export interface PathFacts {
  source: string;
  site: string;
  now: number;
  /** Connections open then, the one it came on included. */
  open: number;
  /** Messages that this connection had been given, the refused one included; 0 while opening. */
  taken: number;
  /** Rate in force, per second; null = none. */
  messagesPerSecond: number | null;
  /** How long the path waits for this reply. */
  waitMs: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** A rate where none was set: halves of nothing are nothing. */
const RATE_WITHOUT_LIMIT = 20;
const SLOWEST = 1 / 60;
/** Rules whose text is about messages on one connection, not about connections. */
const MESSAGES_ON_ONE = new Set(['P09']);

/** The overrides to note for the path. */
export function pathEffects(
  outcome: Extract<Outcome, { kind: 'path' }>,
  { source, site, now, ...facts }: PathFacts,
): OverrideNote[] {
  if (outcome.reply === null || outcome.verdict === null) return [];
  const note = (param: OverrideNote['param'], value: number | string, forMs: number): OverrideNote => ({
    scope: 'path',
    key: pathKey(source, site),
    param,
    value,
    until: now + forMs,
    rule: outcome.category,
    why: outcome.detail,
  });
  switch (effectsOf(outcome.category).path) {
    case 'fewer-connections':
      if (MESSAGES_ON_ONE.has(outcome.verdict.ruleId) && facts.taken > 1)
        return [note('messagesPerConnection', Math.max(1, facts.taken - 1), 24 * HOUR)];
      return [note('connections', Math.max(1, facts.open - 1), HOUR)];
    case 'half-the-rate': {
      const half = Math.max(SLOWEST, (facts.messagesPerSecond ?? RATE_WITHOUT_LIMIT) / 2);
      return [note('messagesPerSecond', half, 30 * MINUTE)];
    }
    case 'one-a-minute':
      return [note('connections', 1, HOUR), note('messagesPerSecond', SLOWEST, HOUR)];
    case 'tls':
      return [note('tls', 'required', 7 * 24 * HOUR)];
    case 'suspended':
      return [note('suspended', 'yes', facts.waitMs)];
    default:
      return [];
  }
}

// ── on a relay ────────────────────────────────────────────────────────────────────────────────────────────

/** `one`: said once it is believed. `several`: it may be about one message, and counts when a second one meets it. */
export type Refusal = { why: string; believed: 'one' | 'several' };

/** RFC 4954 §6: no login, one that is not good enough, or not any more. */
export const WANTS_LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538]);
const ABOUT_A_MESSAGE: ReadonlySet<Stage> = new Set(['rcpt', 'data', 'body', 'dot']);

/**
 * Whether a relay's answer to a message is about our account there or its service: then the next relay of its list takes
 * the message. A relay speaks for the operator's contract with it, so what would be one receiver's opinion of us at an MX
 * host is a reason to go elsewhere here. null: it is about the message, or no refusal.
 */
export function relayRefusal(outcome: Outcome): Refusal | null {
  if (outcome.kind !== 'deferred' && outcome.kind !== 'bounced' && outcome.kind !== 'path') return null;
  const { reply, detail } = outcome;
  if (reply === null || reply.code < 400) return null;
  const { relay } = effectsOf(outcome.kind === 'path' ? outcome.category : outcome.verdict.category);
  if (WANTS_LOGIN.has(reply.code) || relay === 'one') return { why: detail, believed: 'one' };
  // Before a recipient is named it can only be about the session.
  if (reply.code === 421)
    return { why: detail, believed: ABOUT_A_MESSAGE.has(outcome.stage) ? 'several' : 'one' };
  return relay === undefined ? null : { why: detail, believed: relay };
}
