/** What slows, stops or keeps back delivery: paths, holds, overrides, warm-ups. Types only. */
import type { Page } from './page.ts';

/** One limit of a path with where its value comes from. */
export interface PathLimitItem {
  Name: string;
  /** null = no limit. */
  Value: number | string | null;
  /** `data` a shipped row · `user` the operator's shaping.json · `config` a key · `override`. */
  From: 'data' | 'user' | 'config' | 'override';
  /** The row, the key, or the override's rule. */
  Detail: string;
  /** When an override ends. */
  Until: string | null;
}

/** One override in force. */
export interface OverrideItem {
  OverrideID: string;
  Scope: 'path' | 'tenant@site' | 'domain@provider';
  Key: string;
  Param: string;
  Value: number | string;
  Until: string;
  Rule: string;
  Why: string;
  CreatedAt: string;
}

/** GET /overrides. */
export type OverridesAnswer = Page<OverrideItem>;

/** Mail kept back; null does not restrict. */
export interface HoldItem {
  HoldID: string;
  SenderDomain: string | null;
  RecipientDomain: string | null;
  Site: string | null;
  Priority: 'critical' | 'normal' | 'bulk' | null;
  Reason: string;
  /** null = until it is released. */
  Until: string | null;
  CreatedAt: string;
}

/** GET /queue/holds. */
export type HoldsAnswer = Page<HoldItem>;

/** POST /queue/release. */
export interface ReleaseAnswer {
  Released: number;
}

/** What a path heard last. */
export interface PathWordItem {
  At: string;
  Text: string;
}

/** One path: an egress source towards a site. */
export interface PathItem {
  Site: string;
  /** '' where no source is configured. */
  Source: string;
  Provider: string | null;
  Route: 'mx' | 'relay';
  /** Recipient domains met on it, the last ones. */
  Domains: readonly string[];
  State: 'closed' | 'open' | 'half-open';
  /** Why what waits does not go; null where nothing holds it back. */
  Reason: string | null;
  WaitsFor: string;
  /** When that ends by itself. */
  WaitsUntil: string | null;
  Connections: { Open: number; Busy: number; Opening: number };
  /** Connections that experience allows at the moment. */
  Window: number;
  Limits: readonly PathLimitItem[];
  Overrides: readonly OverrideItem[];
  /** Held in memory and not being sent, by priority. */
  Waiting: { critical: number; normal: number; bulk: number };
  InFlight: number;
  LastSuccess: PathWordItem | null;
  LastFailure: PathWordItem | null;
}

/** A relay that failed and is passed over. */
export interface RelayItem {
  /** `host:port`. */
  Relay: string;
  /** In a row. */
  Failures: number;
  /** Tried again then; before, only where nothing else is left. */
  Until: string;
  Why: string;
}

/** GET /queue/paths. */
export interface PathsAnswer extends Page<PathItem> {
  Relays: readonly RelayItem[];
}

/** GET /queue/paths/{site}: every path that goes by the name, and what waits for it. */
export interface SiteAnswer {
  Site: string;
  /** Where no path is in use: what that means; else ''. */
  Note: string;
  Paths: readonly PathItem[];
  /** Relays of the site that failed. */
  Relays: readonly RelayItem[];
  /** Limits where there is no path yet. */
  Limits: readonly PathLimitItem[];
  Holds: readonly HoldItem[];
  /** Recipients in the store, of the site's domains. */
  Waiting: number;
  /** false: more wait than were counted. */
  Complete: boolean;
  Reasons: readonly { Reason: string; Count: number }[];
}
/** POST /queue/paths/{site}/try. */
export interface TryAnswer {
  /** Paths and relays that were closed, and are tried now. */
  Tried: number;
  /** As they are now. */
  Paths: readonly PathItem[];
  Relays: readonly RelayItem[];
}

/** One new source at one provider. */
export interface WarmupItem {
  Source: string;
  Provider: string;
  /** Messages within any 24 hours; null = warm, no budget. */
  Budget: number | null;
  /** Within the last 24 hours. */
  Used: number;
  DeferredToday: number;
  BlockedToday: number;
  LastUsedAt: string | null;
}

/** One start of a process on the instance's store. */
export interface NodeItem {
  /** Stays the same over restarts. */
  Node: string;
  Epoch: number;
  /** It is the one that answers. */
  Self: boolean;
  Status: 'Alive' | 'Silent' | 'Ended';
  Host: string;
  Pid: number;
  Roles: readonly string[];
  Sources: readonly string[];
  StartedAt: string;
  HeartbeatAt: string;
  EndedAt: string | null;
  /** Recipients under its lease. */
  Sending: number;
  /** What it alone does at the moment. */
  Leases: readonly string[];
}

/** GET /nodes. */
export type NodesAnswer = Page<NodeItem>;

/** GET /warmup. */
export type WarmupAnswer = Page<WarmupItem>;
