/**
 * Limits of one sender domain on a path (overrides `tenant@site` and `domain@provider`): its own rate and number of
 * connections, below those of the path. Costs one look-up if there are none.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { createRateGate, type RateGate } from '../../../lib/rate-gate.ts';
import type { EffectiveLimits, Overrides } from '../../../policy/limits/shaping/types.ts';
import type { KeptBack } from '../../queue/gate.ts';

export interface SenderLimits {
  /** Whether the sender domain's own rate allows a message to be taken now. */
  mayTake(senderDomain: string): boolean;
  /** One was taken. */
  took(senderDomain: string): void;
  /** One that was taken was not sent after all. */
  cameBack(senderDomain: string): void;
  /** Connections that its mail may use concurrently. */
  connections(senderDomain: string): number;
  /** What its mail waits for now; null: for no limit of its own. */
  waitOf(senderDomain: string): KeptBack | null;
  /** Time until the next refused one may be taken; null if none was refused. Resets the refusals. */
  refusedForMs(): number | null;
}

interface Gate {
  gate: RateGate;
  rate: number;
}

const MAX_TENANTS = 10_000;

export function createSenderLimits(
  deps: {
    clock: Clock;
    overrides: Pick<Overrides, 'any'>;
    /** Limits of the path, including those of a sender domain if given. */
    limits(senderDomain?: string): EffectiveLimits;
  },
  site: string,
): SenderLimits {
  const { clock, overrides, limits } = deps;
  const gates = new BoundedMap<string, Gate>(MAX_TENANTS);
  let refusedMs: number | null = null;

  return {
    mayTake(senderDomain) {
      const waitMs = gateOf(senderDomain)?.waitMs(clock.monotonicMs()) ?? 0;
      if (waitMs > 0) refusedMs = Math.min(refusedMs ?? Number.POSITIVE_INFINITY, waitMs);
      return waitMs === 0;
    },
    took: (senderDomain) => gateOf(senderDomain)?.take(clock.monotonicMs()),
    cameBack: (senderDomain) => gateOf(senderDomain)?.giveBack(),
    connections: (senderDomain) =>
      none() ? Number.POSITIVE_INFINITY : limits(senderDomain).limits.connections,
    waitOf(senderDomain) {
      const waitMs = gateOf(senderDomain)?.waitMs(clock.monotonicMs()) ?? 0;
      const rate = gates.get(senderDomain)?.rate ?? 0;
      if (waitMs === 0) return null;
      const perMinute = Math.round(rate * 6_000) / 100;
      const reason = `rate limit of ${senderDomain} at ${site}: ${perMinute}/min`;
      return { reason, until: clock.now() + Math.ceil(waitMs) };
    },
    refusedForMs() {
      const ms = refusedMs;
      refusedMs = null;
      return ms;
    },
  };

  function none(): boolean {
    return !overrides.any('tenant@site') && !overrides.any('domain@provider');
  }

  /** null if the sender domain has no rate of its own. */
  function gateOf(senderDomain: string): RateGate | null {
    if (none()) return null;
    const own = limits(senderDomain).limits.messagesPerSecond;
    if (own === null || own === limits().limits.messagesPerSecond) return null;
    let known = gates.get(senderDomain);
    if (known === undefined) {
      known = { gate: createRateGate(own, 1), rate: own };
      gates.set(senderDomain, known);
    } else if (known.rate !== own) {
      known.rate = own;
      known.gate.set(own, 1);
    }
    return known.gate;
  }
}
