/**
 * What a reply changes in addition to its message, as a table: a row for each category that changes anything, a column
 * for each owner of what is changed (the path, a relay, the connection to the recipient domain, the sender domain, the
 * operator). Each owner applies its column. Only replies of the far end count, never our own texts.
 */
import { isRelaySite } from '../../../model/route.ts';
import { type OverrideNote, pathKey } from '../../../policy/limits/shaping/types.ts';
import type { Category } from './classifier/categories.ts';
import type { Stage } from './classifier/verdict.ts';
import type { Outcome } from './outcome.ts';

/** The effects of a reply of one category. Absent members change nothing. */
export interface Effects {
  /** Limits of the path, for a time. */
  path?: 'fewer-connections' | 'half-the-rate' | 'one-a-minute' | 'tls' | 'suspended';
  /**
   * The relay is skipped: the reply was about our account or its service. `one` reply is enough, or `several` messages
   * must get it.
   */
  relay?: 'one' | 'several';
  /** For the recipient domain's own hosts: look up the DNS again, require TLS, do not use IPv6. */
  dnsAgain?: true;
  wantTls?: true;
  ipv4Only?: true;
  /** Changes mail of the sender domain if the reply repeats. */
  sender?: 'paused' | 'bulk-held' | 'slowed';
  /** Concerns the operator's own addresses and is reported at once. */
  alert?: true;
}

/** Refusals of our address; many servers are stricter over IPv6 than over IPv4. */
const OUR_ADDRESS = { relay: 'several', ipv4Only: true, alert: true } as const;

const EFFECTS: Readonly<Partial<Record<Category, Effects>>> = {
  connection_limited: { path: 'fewer-connections' },
  rate_limited: { path: 'half-the-rate', relay: 'several' },
  ip_reputation: { path: 'one-a-minute', ...OUR_ADDRESS },
  ip_blocklisted: { path: 'suspended', ...OUR_ADDRESS },
  ptr_missing: OUR_ADDRESS,
  helo: OUR_ADDRESS,
  ipv6_refused: { ipv4Only: true },
  tls_required: { path: 'tls', wantTls: true },
  service_unavailable: { relay: 'several' },
  relay_login_failed: { relay: 'one' },
  // This server does not accept mail of the domain: its MX may have changed.
  relay_denied: { relay: 'one', dnsAgain: true },
  routing_loop: { dnsAgain: true },
  auth_failed: { sender: 'paused', ipv4Only: true },
  url_or_domain_blocklisted: { sender: 'bulk-held' },
  spam_content: { sender: 'slowed' },
};
const NOTHING: Effects = {};

/** null: no reply, or one that was not recognised. */
export function effectsOf(category: Category | null): Effects {
  return category === null ? NOTHING : (EFFECTS[category] ?? NOTHING);
}

/** Of the reply in an attempt's outcome; null = none. */
export function categoryOf(outcome: Outcome): Category | null {
  return 'verdict' in outcome ? (outcome.verdict?.category ?? null) : null;
}

// ── on the path ───────────────────────────────────────────────────────────────────────────────────────────

/** The state of the path when the reply came. */
export interface PathFacts {
  source: string;
  site: string;
  now: number;
  /** Open connections then, including the one of the reply. */
  open: number;
  /** Messages given to this connection, including the refused one; 0 while opening. */
  taken: number;
  /** Current rate per second; null = none. */
  messagesPerSecond: number | null;
  /** How long the path waits because of this reply. */
  waitMs: number;
}

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The rate to halve if there is no limit. */
const RATE_WITHOUT_LIMIT = 20;
const SLOWEST = 1 / 60;
/** Rules about messages per connection, not about connections. */
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
      // A relay that does not let this server in may be mended soon: it waits as after any failure.
      return isRelaySite(site) ? [] : [note('suspended', 'yes', facts.waitMs)];
    default:
      return [];
  }
}

// ── on a relay ────────────────────────────────────────────────────────────────────────────────────────────

/** `one`: one reply is enough. `several`: it may be about one message, and counts when a second one gets it. */
export type Refusal = { why: string; believed: 'one' | 'several' };

/** RFC 4954 §6: no login, one that is not accepted, or no longer. */
export const WANTS_LOGIN: ReadonlySet<number> = new Set([530, 534, 535, 538]);
const ABOUT_A_MESSAGE: ReadonlySet<Stage> = new Set(['rcpt', 'data', 'body', 'dot']);

/**
 * Whether a relay's reply to a message is about our account there or its service: then the next relay of its list gets
 * the message. A relay speaks about the operator's contract, so a reply that would be one receiver's opinion of us at
 * an MX host is a reason to use another relay here. null: it is about the message, or not a refusal.
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
