/**
 * The view of one path (a source sending to a site), for the API, the commands and tests. Plain data, made on request
 * and never changed afterwards. Times are epoch milliseconds.
 */
import type { Lane } from '../../../model/message.ts';
import type { EffectiveLimits, Override } from '../../../policy/limits/shaping/types.ts';

/**
 * `closed`: mail is sent · `open`: nothing is sent until the time · `half-open`: one message at a time tests the path.
 * (The states of a circuit breaker, in which closed means working.)
 */
export type BreakerState =
  | { kind: 'closed' }
  | { kind: 'open'; until: number; failures: number }
  | { kind: 'half-open'; failures: number };

/** Why waiting mail of a path is not being sent at the moment. */
export type WaitKind =
  /** Nothing waits, or it will be sent next. */
  | 'none'
  | 'breaker'
  | 'suspended'
  /** A connection is being opened. */
  | 'connecting'
  /** All connections that may be used are in use. */
  | 'slots'
  | 'message-rate'
  | 'connection-rate'
  /** This machine could not open a connection, for a reason of its own. */
  | 'local'
  /** Other sites of the provider use all of its connections. */
  | 'provider-connections'
  /** All sites together have as many connections to the address of its host as they may. */
  | 'address-connections'
  /** All connections of the process are in use. */
  | 'all-connections'
  /** The warm-up of a new source allows no more now. */
  | 'warm-up'
  | 'resolving'
  /** Another node sends from this source to this site, or it is not known yet whether one does. */
  | 'lease'
  /** Only a node that is not running sends from this source. */
  | 'no-node'
  | 'store';

/** The last reply of the far end, or our own text about a connection. */
export interface PathWord {
  at: number;
  /** One line, ≤ 512 characters, addresses masked; '' after a success without text. */
  text: string;
}

export interface PathSnapshot {
  /** `pathKey(source, site)`. */
  key: string;
  /** Id of the source; '' if none is configured. */
  source: string;
  /** Provider id, MX host set, domain, or `relay:host:port`. */
  site: string;
  provider: string | null;
  route: 'mx' | 'relay';
  /** Recent recipient domains of this path, at most 20. */
  domains: readonly string[];
  /** `hanging`: their far end has not answered for longer than usual; they are not among `busy`. */
  connections: { open: number; busy: number; hanging: number; opening: number };
  /** The concurrency window: the connections that have proved possible. */
  window: number;
  /** Limits in force with the origin of each. */
  effective: EffectiveLimits;
  /** Overrides for the path, newest first. */
  overrides: readonly Override[];
  breaker: BreakerState;
  /** Why it waits, as a sentence; null if nothing prevents sending. */
  reason: string | null;
  waitsFor: WaitKind;
  /** It is blocked because the DNS gave no answer. */
  withoutDns: boolean;
  /** When the reason ends by itself, or null. */
  waitsUntil: number | null;
  /** Messages in memory under this node's lease that are not being sent. */
  waiting: Readonly<Record<Lane, number>>;
  /** All messages in memory, including those being sent. */
  inMemory: number;
  /** Being sent. */
  inFlight: number;
  lastSuccess: PathWord | null;
  lastFailure: PathWord | null;
}

/** One path in a list: its identity, and its view on request. */
export interface PathRef extends Pick<PathSnapshot, 'key' | 'site' | 'provider' | 'domains'> {
  /** Nothing is sent on it now, and no other node sends instead. */
  readonly blocked: boolean;
  /** Another node sends from its source to its site. */
  readonly elsewhere: boolean;
  snapshot(): PathSnapshot;
}

/** Implemented by delivery (`createDeliver`). */
export interface PathsView {
  /** Every path with work, connections, or a stored state to show, in no order. */
  paths(): readonly PathRef[];
}
