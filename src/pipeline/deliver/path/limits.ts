/**
 * The numeric limits of a path: connections, their rate, messages per second, the total of the provider, and how many
 * connections each lane may use. Takes the limits in force (shaping data and overrides); answers yes or how long to
 * wait, so that nothing polls.
 */
import type { Clock } from '../../../lib/clock.ts';
import { createRateGate } from '../../../lib/rate-gate.ts';
import type { Lane } from '../../../model/message.ts';
import type { EffectiveLimits, PathLimits } from '../../../policy/limits/shaping/types.ts';

/** Connections of one source to all sites of one provider. */
export interface ProviderGate {
  open: number;
  /** Paths that wait for one of them. */
  waiting: Set<() => void>;
}

/** Connections that several paths share. `allowed`: as many as this path may open besides the others; default: `most`. */
export interface ConnectionTotal {
  readonly most: number;
  isFull(allowed?: number): boolean;
  /** None is open. */
  isUnused(): boolean;
  /** Closes an idle one, and calls `wake` when one may be opened. `isUrgent`: for critical mail. */
  wait(isUrgent: boolean, wake: () => void, allowed?: number): void;
  opened(): void;
  /** One has ended, or was not opened after all. */
  ended(): void;
  /** This open connection is not used; `leave` closes it. */
  rests(link: object, leave: () => void): void;
  /** It is used again, or has ended. */
  restsNoMore(link: object): void;
}

/** Messages per second that one process sends at best, where a path has no limit. */
const MOST_PER_SECOND = 4_000;

export interface PathGates {
  /** In force now. */
  effective(): EffectiveLimits;
  /** Messages per second that can be sent at best. */
  perSecond(): number;
  /** 0 = a message may be sent now, otherwise milliseconds to wait. */
  messageWaitMs(): number;
  messageSent(): void;
  /** A counted message was not sent after all. */
  messageNotSent(): void;
  /** 0 = the rate allows a connection now. */
  connectionWaitMs(): number;
  /** Whether the provider and the process have a free connection; when the provider has one again, `wake` is called. */
  room(wake: () => void): 'free' | 'provider-connections' | 'all-connections';
  /** The process had none: an idle one of another path is closed, and `wake` is called when there is one. */
  waitForRoom(isUrgent: boolean, wake: () => void): void;
  connectionOpened(): void;
  /** An opening made another connection after one that failed; it counts towards the rate. */
  connectedAgain(): void;
  /** The connection was opened or failed to open: it no longer counts. */
  connectionEnded(): void;
}

export function createPathGates(
  clock: Clock,
  limitsNow: () => EffectiveLimits,
  provider: ProviderGate | null,
  total: ConnectionTotal,
): PathGates {
  let current: PathLimits | null = null;
  const messages = createRateGate(null, 1);
  const connections = createRateGate(null, 1);

  const effective = (): EffectiveLimits => {
    const found = limitsNow();
    const { messagesPerSecond, newConnectionsPerMinute } = found.limits;
    if (current?.messagesPerSecond !== messagesPerSecond) {
      messages.set(messagesPerSecond, Math.ceil(messagesPerSecond ?? 1));
    }
    if (current?.newConnectionsPerMinute !== newConnectionsPerMinute) {
      const perMinute = newConnectionsPerMinute;
      // Ten seconds' worth may be opened at once.
      connections.set(perMinute === null ? null : perMinute / 60, Math.ceil((perMinute ?? 6) / 6));
    }
    current = found.limits;
    return found;
  };

  return {
    effective,
    perSecond: () => Math.min(MOST_PER_SECOND, effective().limits.messagesPerSecond ?? MOST_PER_SECOND),
    messageWaitMs() {
      effective();
      return messages.waitMs(clock.monotonicMs());
    },
    messageSent: () => messages.take(clock.monotonicMs()),
    messageNotSent: () => messages.giveBack(),
    connectionWaitMs() {
      effective();
      return connections.waitMs(clock.monotonicMs());
    },
    room(wake) {
      const most = effective().limits.providerConnections;
      if (provider === null || most === null || provider.open < most)
        return total.isFull() ? 'all-connections' : 'free';
      provider.waiting.add(wake);
      return 'provider-connections';
    },
    waitForRoom: total.wait,
    connectionOpened() {
      connections.take(clock.monotonicMs());
      total.opened();
      if (provider !== null) provider.open += 1;
    },
    connectedAgain: () => connections.take(clock.monotonicMs()),
    connectionEnded() {
      total.ended();
      if (provider === null) return;
      provider.open -= 1;
      const waiting = [...provider.waiting];
      provider.waiting.clear();
      for (const wake of waiting) wake();
    },
  };
}

/** Connections that mail of this lane and lower lanes may use; the rest is kept for the higher lanes. */
export function laneSlots(lane: Lane, cap: number): number {
  switch (lane) {
    case 'critical':
      return cap;
    case 'normal':
      return cap >= 3 ? cap - 1 : cap;
    case 'bulk':
      return Math.max(1, cap - Math.max(1, Math.floor(cap / 4)));
  }
}
