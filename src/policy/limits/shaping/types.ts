/**
 * The limits of a path (a source sending to a site), and where each value comes from: the shipped data, the operator's
 * file, or an override that a reply or a person set. Types only; the data is shaping.json, merging is in shaping.ts,
 * overrides are in overrides.ts.
 */

/** The limits of one path. null = no limit. */
export interface PathLimits {
  /** Concurrent connections of one path. */
  connections: number;
  /** Connections of one source to all sites of a provider together. */
  providerConnections: number | null;
  messagesPerConnection: number;
  connectionAgeMs: number;
  /** An unused connection is closed after this. */
  idleMs: number;
  newConnectionsPerMinute: number | null;
  /** May be below one: 1/60 is one per minute. */
  messagesPerSecond: number | null;
  recipientsPerTransaction: number;
  /** Messages on one connection that may be unanswered, at far ends to which they can be sent whole. */
  transactionsInFlight: number;
  tls: 'opportunistic' | 'required';
}

export type LimitName = keyof PathLimits;

/** Where a limit's value comes from. */
export type LimitOrigin =
  /** A row of the shipped shaping.json. */
  | { kind: 'data'; row: string; since: string }
  /** A row of the operator's shaping.json. */
  | { kind: 'user'; row: string }
  /** A key of the configuration. */
  | { kind: 'config'; key: string }
  | { kind: 'override'; id: string; rule: string; until: number };

/** Above this no site counts as small, whatever the data says, so larger counts need not be exact. */
export const MOST_SMALL_MESSAGES = 10_000;

/** A path. Answers are cached by this object, so it must not change. */
export interface PathQuery {
  /** Id of the source; '' if none is configured. */
  readonly source: string;
  readonly site: string;
  /** The provider's row in the shaping data, or null. */
  readonly provider: string | null;
  readonly route: 'mx' | 'relay';
  /** With it, overrides for this sender domain count too. */
  readonly senderDomain?: string;
  /** Messages that the site accepted within a day, if known: sites with few get the row `small`. */
  readonly messagesLastDay?: number;
}

export interface EffectiveLimits {
  limits: PathLimits;
  origins: Readonly<Record<LimitName, LimitOrigin>>;
}

/** The provider of a recipient domain, whose limits it shares. */
export interface Grouping {
  provider: string | null;
  /** true: all hosts of the provider are one site. false: each domain or host set is a separate site. */
  oneSite: boolean;
}

export interface Shaping {
  limitsFor(query: PathQuery): EffectiveLimits;
  /** Whether a row of this name describes a provider. */
  isProvider(name: string): boolean;
  /** The provider of a domain by its own name, otherwise by the suffix that all its MX hosts share. */
  groupingOf(recipientDomain: string, mxHosts: readonly string[]): Grouping;
}

export type OverrideScope = 'path' | 'tenant@site' | 'domain@provider';

/** What an override can set: a limit, a suspension, or the address family to use. */
export type OverrideParam = LimitName | 'suspended' | 'addressFamily';

export interface OverrideNote {
  scope: OverrideScope;
  /** Made by `pathKey`, `senderKey` or `domainKey`. */
  key: string;
  param: OverrideParam;
  /** A number for limits; `required` for tls; `yes` for suspended; `v4` or `v6` for addressFamily. */
  value: number | string;
  /** Epoch milliseconds. */
  until: number;
  /** What set it: a rule's id, a category, `operator`. */
  rule: string;
  /** For people: the reply or the reason given. */
  why: string;
}

export interface Override extends OverrideNote {
  id: string;
  createdAt: number;
}

/** What delivery notes and asks about overrides. Reading is from memory; writing is in the background. */
export interface Overrides {
  /** In force at once. The newest of a rule replaces its older one; of several rules the strictest counts. */
  note(override: OverrideNote): void;
  /** Those in force for a key, newest first. */
  of(scope: OverrideScope, key: string): readonly Override[];
  /** Until when (and why) nothing is sent for the key, or null. */
  suspended(scope: OverrideScope, key: string): Override | null;
  /** Whether there is one of this scope, in force or ended recently. */
  any(scope: OverrideScope): boolean;
}

/** Key of a `path` override. */
export function pathKey(source: string, site: string): string {
  return `${source}>${site}`;
}

/** The site of a path, by its key. */
export function siteOfPath(key: string): string {
  return key.slice(key.indexOf('>') + 1);
}

/** Key of a `tenant@site` override. */
export function senderKey(senderDomain: string, site: string): string {
  return `${senderDomain}@${site}`;
}

/** Key of a `domain@provider` override. */
export function domainKey(senderDomain: string, provider: string): string {
  return `${senderDomain}@${provider}`;
}
