/**
 * What a path may do at this moment as far as figures go: connections, their rate, messages a second, the provider's
 * total, how many of them each lane may use. Given the limits in force (shaping data and overrides), says yes or how
 * long to wait, so that nobody polls.
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

export interface PathGates {
  /** In force now. */
  effective(): EffectiveLimits;
  /** 0 = a message may go now, else milliseconds to wait. */
  messageWaitMs(): number;
  messageSent(): void;
  /** One that was to go was not sent after all. */
  messageNotSent(): void;
  /** 0 = a connection may be opened now as far as its rate goes. */
  connectionWaitMs(): number;
  /** The provider has a connection left for this path; where not, `wake` is called when one is free. */
  providerHasRoom(wake: () => void): boolean;
  connectionOpened(): void;
  /** An opening makes a further connection after one that failed: it counts for the rate. */
  connectedAgain(): void;
  /** Opened or failed to open: it does not count any more. */
  connectionEnded(): void;
}

export function createPathGates(
  clock: Clock,
  limitsNow: () => EffectiveLimits,
  provider: ProviderGate | null,
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
      // Ten seconds' worth may come at once.
      connections.set(perMinute === null ? null : perMinute / 60, Math.ceil((perMinute ?? 6) / 6));
    }
    current = found.limits;
    return found;
  };

  return {
    effective,
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
    providerHasRoom(wake) {
      const most = effective().limits.providerConnections;
      if (provider === null || most === null || provider.open < most) return true;
      provider.waiting.add(wake);
      return false;
    },
    connectionOpened() {
      connections.take(clock.monotonicMs());
      if (provider !== null) provider.open += 1;
    },
    connectedAgain: () => connections.take(clock.monotonicMs()),
    connectionEnded() {
      if (provider === null) return;
      provider.open -= 1;
      const waiting = [...provider.waiting];
      provider.waiting.clear();
      for (const wake of waiting) wake();
    },
  };
}

/** Connections that mail of this lane and those below it may use at a time: the rest is kept for the lanes above. */
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
