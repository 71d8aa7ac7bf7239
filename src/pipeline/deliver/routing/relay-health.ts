/**
 * Which relays work. A relay that cannot be reached, or that refuses mail because of our account or its own state, is
 * skipped at once in favour of the next relay of the list, for a time that grows with each consecutive failure. Then
 * one opening tests it (half-open):
 *
 *   works ──failed──► skipped(until) ──time──► one test ──a connection, or after a refusal a delivery──► works
 *                          ▲                      │
 *                          └────── failed ────────┘   each time for longer
 *
 * Times are monotonic: a clock that is set does not keep one skipped. If no other relay is left, a failing one is tried
 * anyway. A failure is forgotten six hours after its time, because a relay behind working ones is not tested, and by a
 * restart, because operators often restart after a repair.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Route } from '../../../model/route.ts';
import type { OpenStage } from '../../../smtp/client-types.ts';
import { RELAY_WAITS } from '../../queue/retry-schedule.ts';

/** Where a relay failed. At `mail` it answers and refuses: only a delivery shows that it works again. */
export type RelayStage = OpenStage | 'mail';

export interface RelayState {
  /** `host:port`. */
  relay: string;
  /** Consecutive failures. */
  failures: number;
  /** Skipped until then. */
  until: number;
  why: string;
  at: RelayStage;
}

type Target = Exclude<Route, { kind: 'sandbox' }>;

export interface RelayHealth {
  /**
   * The targets in the order to try now: skipped ones come last. The first caller after the time of one is over tests
   * it; for other callers it stays last until the result is known.
   */
  order(targets: readonly Target[]): readonly Target[];
  /** It could not be connected to, or does not accept our mail. */
  failed(relay: string, at: RelayStage, why: string): void;
  /** It accepted a connection. */
  connected(relay: string): void;
  /** It accepted a message. */
  delivered(relay: string): void;
  /** Whether it gets one message at a time, because it refused before and has not accepted mail since. */
  halfOpen(relay: string): boolean;
  /** Whether it is skipped now. */
  passedOver(relay: string): boolean;
  /** Whether it failed, and has not been seen to work since. */
  hasFailed(relay: string): boolean;
  /** It may be tried at once. Returns false if it was not skipped. */
  tryNow(relay: string): boolean;
  /** Nothing is known of it any more. */
  forget(relay: string): void;
  /** Those that failed lately and have not been seen to work since, worst first. */
  unhealthy(): readonly RelayState[];
}

/** If the caller that should test it did not, the next one does after this time. */
const PROBE_MS = 60_000;
const KEPT_MS = 6 * 3_600_000;

/** `host:port` of a relay. */
export function relayName({ host, port }: { host: string; port: number }): string {
  return `${host}:${port}`;
}

export function createRelayHealth(clock: Clock): RelayHealth {
  const failing = new Map<string, Omit<RelayState, 'until'> & { untilMs: number }>();
  /** Until when a caller is testing a relay; monotonic. */
  const probes = new Map<string, number>();

  return {
    order(targets) {
      if (failing.size === 0 || targets.length < 2) return targets;
      const nowMs = clock.monotonicMs();
      const passed: Target[] = [];
      for (const target of targets) {
        if (target.kind !== 'relay') continue;
        const relay = relayName(target);
        const state = stateOf(relay);
        if (state === undefined) continue;
        if (state.untilMs > nowMs || (probes.get(relay) ?? 0) > nowMs) passed.push(target);
        // A relay behind working ones is not tested.
        else if (target === targets.find((one) => !passed.includes(one))) probes.set(relay, nowMs + PROBE_MS);
      }
      return passed.length === 0
        ? targets
        : [...targets.filter((target) => !passed.includes(target)), ...passed];
    },
    failed(relay, at, why) {
      const nowMs = clock.monotonicMs();
      const before = stateOf(relay);
      // Failures of concurrent attempts count as one.
      if (before !== undefined && before.untilMs > nowMs) return;
      const failures = (before?.failures ?? 0) + 1;
      const waitMs = RELAY_WAITS[Math.min(failures, RELAY_WAITS.length) - 1] ?? 0;
      const untilMs = nowMs + waitMs;
      const state = { relay, failures, untilMs, why: why.slice(0, 512), at };
      failing.set(relay, state);
      probes.delete(relay);
    },
    connected(relay) {
      if (stateOf(relay)?.at !== 'mail') works(relay);
    },
    delivered: works,
    halfOpen: (relay) => stateOf(relay)?.at === 'mail',
    passedOver: (relay) => (stateOf(relay)?.untilMs ?? 0) > clock.monotonicMs(),
    hasFailed: (relay) => stateOf(relay) !== undefined,
    tryNow(relay) {
      const state = stateOf(relay);
      if (state === undefined) return false;
      failing.set(relay, { ...state, untilMs: clock.monotonicMs() });
      probes.delete(relay);
      return true;
    },
    forget: works,
    unhealthy() {
      const offsetMs = clock.now() - clock.monotonicMs();
      return [...failing.keys()]
        .flatMap((relay) => stateOf(relay) ?? [])
        .map(({ untilMs, ...state }) => ({ ...state, until: Math.round(untilMs + offsetMs) }))
        .sort((a, b) => b.failures - a.failures);
    },
  };

  function stateOf(relay: string) {
    if (failing.size === 0) return undefined;
    const state = failing.get(relay);
    if (state === undefined || state.untilMs + KEPT_MS >= clock.monotonicMs()) return state;
    works(relay);
    return undefined;
  }

  function works(relay: string): void {
    if (failing.size === 0) return;
    failing.delete(relay);
    probes.delete(relay);
  }
}
