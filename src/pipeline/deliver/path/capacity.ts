/**
 * How much a path may do now: connections, by its limits and by what experience allows, and the rows that are claimed
 * ahead for it. Given the limits in force and the path's state; owns what is counted of it, and leaves that remembered.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { PathMemory } from '../../../policy/limits/shaping/path-memory.ts';
import {
  type EffectiveLimits,
  MOST_SMALL_MESSAGES,
  type PathQuery,
  type Shaping,
} from '../../../policy/limits/shaping/types.ts';
import { createPathHealth, type PathHealth } from './health.ts';
import { createPathGates, type PathGates, type ProviderGate } from './limits.ts';
import type { Links } from './links.ts';
import type { PathState } from './states.ts';
import { createThroughput, type Throughput } from './throughput.ts';
import { createPathVolume } from './volume.ts';

export interface Capacity {
  readonly gates: PathGates;
  readonly health: PathHealth;
  readonly throughput: Pick<Throughput, 'perSecond'>;
  /** Limits in force, with those of a sender domain where one is given. */
  limitsOf(senderDomain?: string): EffectiveLimits;
  /** Connections that its limits allow. */
  cap(): number;
  /** Connections that may be in use at a time. */
  usable(): number;
  /** Connections that count against these. */
  counted(links: Pick<Links, 'size' | 'hanging'>): number;
  /** Rows it can use within the next seconds. */
  demand(): number;
  /** A final reply came from a host, and whether it took the message; `busy`: connections in use. */
  answered(host: string, busy: number, delivered: boolean): void;
  /** What it has come to is kept. */
  keep(): void;
}

const ROWS_PER_CONNECTION = 32;
const RATE_AHEAD_SECONDS = 5;

export function createCapacity(
  deps: {
    clock: Clock;
    shaping: Pick<Shaping, 'limitsFor'>;
    memory: Pick<PathMemory, 'recall'>;
    state: PathState;
    providerGate: ProviderGate | null;
  },
  place: Pick<PathQuery, 'source' | 'site' | 'provider' | 'route'>,
  options: { maxConnections: number },
): Capacity {
  const { clock, shaping, state } = deps;
  const mayBeSmall = place.route === 'mx' && place.provider === null;
  const recalled = deps.memory.recall(place.source, place.site);
  const volume = createPathVolume(clock, recalled);
  // The same object again and again: shaping answers it without building anything.
  let asked: PathQuery = { ...place };
  const gates = createPathGates(clock, () => limitsOf(), deps.providerGate);
  // A relay is the operator's own: it begins with all it may have.
  const health = createPathHealth({
    clock,
    state,
    recalled,
    startAt: place.route === 'relay' ? cap() : null,
  });
  const throughput = createThroughput(clock);
  state.attach(() => ({ concurrency: health.window.size(), ...volume.state() }));

  return {
    ...{ gates, health, throughput, limitsOf, cap, usable },
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
      if (volume.lastDay > 0) state.remember();
    },
  };

  function limitsOf(senderDomain?: string): EffectiveLimits {
    const query = queryNow();
    return shaping.limitsFor(senderDomain === undefined ? query : { ...query, senderDomain });
  }

  function queryNow(): PathQuery {
    if (!mayBeSmall) return asked;
    const messagesLastDay = Math.min(volume.lastDay, MOST_SMALL_MESSAGES);
    if (asked.messagesLastDay !== messagesLastDay) asked = { ...asked, messagesLastDay };
    return asked;
  }

  function cap(): number {
    return Math.max(1, Math.min(gates.effective().limits.connections, options.maxConnections));
  }

  function usable(): number {
    return state.breaker().kind === 'closed' ? Math.min(cap(), health.window.size()) : 1;
  }
}
