/**
 * How much a path may do now: the number of connections, by its limits and its health, and the rows that are claimed
 * ahead for it. Owns the counters of the path, and stores its state.
 */
import type { Clock } from '../../../lib/clock.ts';
import {
  type EffectiveLimits,
  MOST_SMALL_MESSAGES,
  type PathQuery,
  type Shaping,
} from '../../../policy/limits/shaping/types.ts';
import type { Capabilities } from '../../../smtp/ehlo.ts';
import type { FarEnd } from './far-ends.ts';
import { createPathHealth, type PathHealth } from './health.ts';
import { type ConnectionTotal, createPathGates, type PathGates, type ProviderGate } from './limits.ts';
import type { Links } from './links.ts';
import type { PathState } from './states.ts';
import { createThroughput, type Throughput } from './throughput.ts';
import { createPathVolume } from './volume.ts';

export interface Capacity {
  readonly gates: PathGates;
  readonly health: PathHealth;
  readonly throughput: Pick<Throughput, 'perSecond'>;
  /** Limits in force, including those of a sender domain if given. */
  limitsOf(senderDomain?: string): EffectiveLimits;
  /** The connections allowed by its limits, and by what the far end needs. */
  cap(): number;
  /** A connection is open to this far end. */
  connected(farEnd: Pick<FarEnd, 'roundTripMs' | 'takesWhole'>, capabilities: Capabilities): void;
  /** Connections that may be used now. */
  usable(): number;
  /** Connections that count towards this number. */
  counted(links: Pick<Links, 'size' | 'hanging'>): number;
  /** Rows that it can use within the next seconds. */
  demand(): number;
  /** A final reply came from a host, accepting the message or not; `busy`: connections in use. */
  answered(host: string, busy: number, delivered: boolean): void;
  /** Stores the path's state. */
  keep(): void;
}

const ROWS_PER_CONNECTION = 32;
const RATE_AHEAD_SECONDS = 5;
/** The share of its connections that a relay gets at least. It is enough for a near one. */
const LEAST_SHARE = 1 / 4;
/** From this round trip on, a relay that takes one message at a time gets all its connections; nearer ones the same part of them. */
const FAR_MS = 20;

export function createCapacity(
  deps: {
    clock: Clock;
    shaping: Pick<Shaping, 'limitsFor'>;
    state: PathState;
    providerGate: ProviderGate | null;
    total: ConnectionTotal;
  },
  path: Pick<PathQuery, 'source' | 'site' | 'provider' | 'route'>,
  options: { maxConnections: number },
): Capacity {
  const { clock, shaping, state } = deps;
  const mayBeSmall = path.route === 'mx' && path.provider === null;
  const recalled = state.recall();
  const volume = createPathVolume(clock, recalled);
  // Always the same object, for which shaping finds the answer without allocating.
  let asked: PathQuery = { ...path };
  /** Of the far end last connected to; `atOnce`: the messages that may be in flight on a connection to it. */
  let distance = { roundTripMs: 0, atOnce: 1 };
  const gates = createPathGates(clock, () => limitsOf(), deps.providerGate, deps.total);
  // A relay belongs to the operator: it begins with all allowed connections.
  const health = createPathHealth({
    clock,
    state,
    recalled,
    startAt: path.route === 'relay' ? cap() : null,
  });
  const throughput = createThroughput(clock);
  state.attach(() => ({ concurrency: health.window.size(), ...volume.state() }));

  return {
    ...{ gates, health, throughput, limitsOf, cap, usable },
    connected(farEnd, { chunking, pipelining }) {
      const { transactionsInFlight } = gates.effective().limits;
      const atOnce = chunking && pipelining && farEnd.takesWhole ? transactionsInFlight : 1;
      distance = { roundTripMs: farEnd.roundTripMs(), atOnce };
    },
    counted: (links) => links.size() - health.excuses(links.hanging()),
    demand() {
      if (state.breaker().kind !== 'closed') return 1;
      const { messagesPerSecond } = gates.effective().limits;
      const byRate =
        messagesPerSecond === null
          ? Number.POSITIVE_INFINITY
          : Math.ceil(messagesPerSecond * RATE_AHEAD_SECONDS);
      return Math.max(1, Math.min(Math.max(ROWS_PER_CONNECTION * usable(), throughput.lately()), byRate));
    },
    answered(host, busy, delivered) {
      throughput.ended();
      health.succeeded(host, busy, cap());
      if (delivered && volume.took()) state.remember();
    },
    keep() {
      if (volume.lastDay() > 0) state.remember();
    },
  };

  function limitsOf(senderDomain?: string): EffectiveLimits {
    const query = queryNow();
    return shaping.limitsFor(senderDomain === undefined ? query : { ...query, senderDomain });
  }

  function queryNow(): PathQuery {
    if (!mayBeSmall) return asked;
    const messagesLastDay = Math.min(volume.lastDay(), MOST_SMALL_MESSAGES);
    if (asked.messagesLastDay !== messagesLastDay) asked = { ...asked, messagesLastDay };
    return asked;
  }

  function cap(): number {
    const { limits, origins } = gates.effective();
    const most = Math.min(limits.connections, options.maxConnections);
    // A limit that the operator set, or a reply, is taken as it is.
    const byDistance = path.route === 'relay' && origins.connections.kind === 'data';
    return Math.max(1, byDistance ? Math.min(most, Math.floor(neededOf(most))) : most);
  }

  function neededOf(most: number): number {
    const { roundTripMs, atOnce } = distance;
    const needed =
      atOnce > 1 ? (gates.perSecond() * roundTripMs) / 1000 / atOnce : (most * roundTripMs) / FAR_MS;
    return Math.max(most * LEAST_SHARE, needed);
  }

  function usable(): number {
    return state.breaker().kind === 'closed' ? Math.min(cap(), health.window.size()) : 1;
  }
}
