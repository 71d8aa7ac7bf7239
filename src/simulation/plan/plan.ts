/** A plan for `simulate`, read from a file and checked (read-plan.ts). Times are milliseconds from the start. */
import type { RouteRule } from '../../config-routing.ts';
import type { Lane } from '../../model/message.ts';
import type { Route } from '../../model/route.ts';
import type { ShapingRow } from '../../policy/limits/shaping/shaping-file.ts';
import type { TroubleKind } from '../troubles.ts';

/** Recipients of one kind on some days. */
export interface PlannedMail {
  /** Id of a row of the shaping data, or `other`: domains without a known provider. */
  provider: string;
  /** Recipients a day. */
  recipients: number;
  lane: Lane;
  /** Sender domain. */
  sender: string;
  /** Number of recipient domains, which get equal shares. */
  domains: number;
  /** Within the day; the same = all at once. */
  fromMs: number;
  untilMs: number;
  /** Days with this mail, from 1; null = all. */
  days: readonly number[] | null;
}

/** A source of mail, in a pool; which node has it. */
export interface PlannedSource {
  id: string;
  /** With which it is played: its own, or one in place of a missing IPv4 address, because the simulated hosts have no others. */
  address: string;
  ipv6: string | null;
  pool: string;
  /** Days of warm-up before the start; null = the source has been in use for long. */
  ageDays: number | null;
  /** From 1. */
  node: number;
}

/** How a provider or a relay answers. */
export interface FarEndHabits {
  roundTripMs: number;
  /** How long it thinks about a message. */
  answerMs: number;
  /** It takes messages whole (BDAT). */
  chunking: boolean;
}

/** A fault at a provider, at a relay (`host:port`), or everywhere (`*`). */
export interface Fault {
  at: string;
  /** As the file names it. */
  what: FaultName;
  fromMs: number;
  untilMs: number;
  /** Of messages, from 0 to 1. */
  share: number;
  /** The limit above which it applies: connections, messages a minute, or seconds per answer. */
  most: number;
}

export type FaultName = keyof typeof FAULTS;

/**
 * The faults that a plan can name. `needs`: the number that the fault requires; `share`: it can affect only some
 * messages.
 */
export const FAULTS = {
  defers: {
    kind: 'lookup-failures',
    needs: null,
    share: true,
    means: 'rejects recipients temporarily (451)',
  },
  rejects: { kind: 'unknown-users', needs: null, share: true, means: 'rejects recipients permanently (550)' },
  spam: { kind: 'dislikes-content', needs: null, share: true, means: 'rejects messages as spam (554)' },
  greylists: {
    kind: 'greylists',
    needs: null,
    share: false,
    means: 'defers each recipient until four minutes after the first attempt (450)',
  },
  blocks: {
    kind: 'blocklisted',
    needs: null,
    share: false,
    means: 'rejects your address because of a block list (554)',
  },
  throttles: {
    kind: 'slow-down',
    needs: 'perMinute',
    share: false,
    means: 'defers messages above this number a minute (450)',
  },
  connections: {
    kind: 'few-connections',
    needs: 'most',
    share: false,
    means: 'accepts at most this number of connections at a time (421)',
  },
  slow: {
    kind: 'tarpits',
    needs: 'seconds',
    share: false,
    means: 'takes this many seconds longer for each answer',
  },
  busy: { kind: 'greets-421', needs: null, share: false, means: 'greets with 421' },
  unreachable: { kind: 'black-hole', needs: null, share: false, means: 'does not answer' },
} as const satisfies Record<
  string,
  { kind: TroubleKind; needs: 'perMinute' | 'most' | 'seconds' | null; share: boolean; means: string }
>;

/** Mail for hosts of no known provider. */
export const OTHER = 'other';

export interface SimulationPlan {
  /** Midnight UTC of the first day, epoch milliseconds. */
  startAt: number;
  /** Days on which mail comes. */
  days: number;
  nodes: number;
  /** Octets of a message. */
  messageBytes: number;
  mail: readonly PlannedMail[];
  targets: readonly Route[];
  rules: readonly RouteRule[];
  sources: readonly PlannedSource[];
  /** Rows of shaping data that change the shipped ones. */
  limits: readonly ShapingRow[];
  /** By provider, or `host:port` of a relay. */
  farEnds: ReadonlyMap<string, Partial<FarEndHabits>>;
  faults: readonly Fault[];
  /** Keys of the configuration; null = not set. */
  keys: EngineKeys;
}

/** Keys of the operator's configuration besides routes and sources. */
export interface EngineKeys {
  maxConnections: number | null;
  transactionsInFlight: number | null;
  retry: readonly number[] | null;
  maxAgeMs: number | null;
  queueLimit: number | null;
}
