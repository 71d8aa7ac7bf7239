/**
 * What a path (an egress source towards a site) may be asked to bear, and where each figure comes from: the shipped
 * data, the operator's file, or an override that a reply or a person brought about. Types only; the data is
 * shaping.json, the rules of merging are shaping.ts, the overrides overrides.ts.
 */

/** The limits of one path. null = no limit. */
export interface PathLimits {
  /** Connections of one path at a time. */
  connections: number;
  /** Connections of one source to all sites of a provider together. */
  providerConnections: number | null;
  messagesPerConnection: number;
  connectionAgeMs: number;
  /** An unused connection is closed after this. */
  idleMs: number;
  newConnectionsPerMinute: number | null;
  /** May be below one: 1/60 is one a minute. */
  messagesPerSecond: number | null;
  recipientsPerTransaction: number;
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

/** No site counts as small above this, whatever the data says: further messages need not be told apart. */
export const MOST_SMALL_MESSAGES = 10_000;

/** Which path is asked about. Answers are remembered by the object, which therefore does not change. */
export interface PathQuery {
  /** Id of the egress source; '' where none is configured. */
  readonly source: string;
  readonly site: string;
  /** Row of the shaping data that the site's hosts belong to, or null. */
  readonly provider: string | null;
  readonly route: 'mx' | 'relay';
  /** With it, overrides of this sender domain count too. */
  readonly senderDomain?: string;
  /** Messages the site took within a day, where known: sites with few get the row `small`. */
  readonly messagesLastDay?: number;
}

export interface EffectiveLimits {
  limits: PathLimits;
  origins: Readonly<Record<LimitName, LimitOrigin>>;
}

/** Whose limits a recipient domain's hosts share. */
export interface Grouping {
  provider: string | null;
  /** True: all hosts of the provider are one site. False: each domain or host set is a site of its own below it. */
  oneSite: boolean;
}

export interface Shaping {
  limitsFor(query: PathQuery): EffectiveLimits;
  /** Whether a row of that name says what a provider bears. */
  isProvider(name: string): boolean;
  /** The provider of a domain by its own name, else by the suffix that every MX host ends in. */
  groupingOf(recipientDomain: string, mxHosts: readonly string[]): Grouping;
}

export type OverrideScope = 'path' | 'tenant@site' | 'domain@provider';

/** What an override may say: a limit, that nothing goes out at all, or the address family to keep to. */
export type OverrideParam = LimitName | 'suspended' | 'addressFamily';

export interface OverrideNote {
  scope: OverrideScope;
  /** Made by `pathKey`, `tenantKey` or `domainKey`. */
  key: string;
  param: OverrideParam;
  /** A number for limits; `required` for tls; `yes` for suspended; `v4` or `v6` for addressFamily. */
  value: number | string;
  /** Epoch milliseconds. */
  until: number;
  /** What brought it about: a rule's id, a category, `operator`. */
  rule: string;
  /** For people: the reply or the word that was the reason. */
  why: string;
}

export interface Override extends OverrideNote {
  id: string;
  createdAt: number;
}

/** What delivery tells and asks about overrides. Reading is from memory; writing is stored behind the caller. */
export interface Overrides {
  /** Takes effect at once. The newest of a rule replaces its older one; of several rules the strictest counts. */
  note(override: OverrideNote): void;
  /** Those in force for a key, newest first. */
  of(scope: OverrideScope, key: string): readonly Override[];
  /** Until when (and why) nothing goes out for the key, or null. */
  suspended(scope: OverrideScope, key: string): Override | null;
  /** Whether there is one of this scope at all, in force or ended lately. */
  any(scope: OverrideScope): boolean;
}

/** Key of a `path` override. */
export function pathKey(source: string, site: string): string {
  return `${source}>${site}`;
}

/** Key of a `tenant@site` override. */
export function tenantKey(senderDomain: string, site: string): string {
  return `${senderDomain}@${site}`;
}

/** Key of a `domain@provider` override. */
export function domainKey(senderDomain: string, provider: string): string {
  return `${senderDomain}@${provider}`;
}
