/**
 * What one path (an egress source towards a site) is doing: the picture that the API, the commands and tests get of the
 * scheduler. Plain data, made when it is asked for; nothing in here changes afterwards. Times are epoch milliseconds.
 */
import type { Lane } from '../../../model/message.ts';
import type { EffectiveLimits, Override } from '../../../policy/limits/shaping/types.ts';

/**
 * `closed` mail goes · `open` nothing goes until then · `half-open` one message at a time finds out whether it goes again.
 */
export type BreakerState =
  | { kind: 'closed' }
  | { kind: 'open'; until: number; failures: number }
  | { kind: 'half-open'; failures: number };

/** Why what waits for a path is not being sent at this moment. */
export type WaitKind =
  /** Nothing waits, or it is about to go. */
  | 'none'
  | 'breaker'
  | 'suspended'
  /** A connection is being opened. */
  | 'connecting'
  /** All connections that may be used are in use. */
  | 'slots'
  | 'message-rate'
  | 'connection-rate'
  /** Other sites of the provider use all of its connections. */
  | 'provider-connections'
  /** The warm-up of a new source has no room for more now. */
  | 'warm-up'
  | 'resolving'
  /** Another node sends from this source to this site. */
  | 'lease'
  | 'store';

/** The last word of the far end, or of our own about a connection. */
export interface PathWord {
  at: number;
  /** One line, ≤ 512 characters, addresses masked; '' after a success without text. */
  text: string;
}

export interface PathSnapshot {
  /** `pathKey(source, site)`. */
  key: string;
  /** Id of the egress source; '' where none is configured. */
  source: string;
  /** Provider id, MX host set, domain, or `relay:host:port`. */
  site: string;
  provider: string | null;
  route: 'mx' | 'relay';
  /** Recipient domains met on this path, the last ones, at most 20. */
  domains: readonly string[];
  connections: { open: number; busy: number; opening: number };
  /** The concurrency window: what experience allows at the moment. */
  window: number;
  /** Limits in force with the origin of each. */
  effective: EffectiveLimits;
  /** What was learned or set for a time, newest first. */
  overrides: readonly Override[];
  breaker: BreakerState;
  /** Why it waits, in words a person understands; null where nothing holds it back. */
  reason: string | null;
  waitsFor: WaitKind;
  /** When the reason ends by itself, or null. */
  waitsUntil: number | null;
  /** Held in memory, under this node's lease, and not being sent. */
  waiting: Readonly<Record<Lane, number>>;
  /** Held in memory in all, those being sent included. */
  held: number;
  /** Being sent. */
  inFlight: number;
  lastSuccess: PathWord | null;
  lastFailure: PathWord | null;
}

/** One path among many: what it is found by, and its picture for who wants that. */
export interface PathRef extends Pick<PathSnapshot, 'key' | 'site' | 'provider' | 'domains'> {
  /** Nothing goes on it now. */
  readonly closed: boolean;
  snapshot(): PathSnapshot;
}

/** Implemented by delivery (`createDeliver`). */
export interface PathsView {
  /** Every path with work, connections, or a memory worth showing, in no order. */
  paths(): readonly PathRef[];
}
