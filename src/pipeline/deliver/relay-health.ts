/**
 * Which relays work. One that cannot be reached is passed over at once in favour of the next of its list, for a time
 * that grows with each failure in a row; then one opening finds out whether it works again. Where nothing else is left
 * it is tried all the same. In memory: after a restart every relay counts as working.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Route } from './routes.ts';

export interface RelayState {
  /** `host:port`. */
  relay: string;
  /** Failures in a row. */
  failures: number;
  /** Passed over until then. */
  until: number;
  why: string;
}

type Target = Exclude<Route, { kind: 'sandbox' }>;

export interface RelayHealth {
  /** The targets in the order they are to be tried now: those that are passed over come last. */
  order(targets: readonly Target[]): readonly Target[];
  failed(relay: string, why: string): void;
  succeeded(relay: string): void;
  /** Those that failed last, worst first. */
  unhealthy(): readonly RelayState[];
}

const WAITS_MS = [30_000, 60_000, 120_000, 300_000, 600_000, 900_000];

/** `host:port` of a relay. */
export function relayName({ host, port }: { host: string; port: number }): string {
  return `${host}:${port}`;
}

export function createRelayHealth(clock: Clock): RelayHealth {
  const failing = new Map<string, RelayState>();

  return {
    order(targets) {
      if (failing.size === 0 || targets.length < 2) return targets;
      const now = clock.now();
      const passedOver = targets.filter(
        (target) => target.kind === 'relay' && (failing.get(relayName(target))?.until ?? 0) > now,
      );
      return passedOver.length === 0
        ? targets
        : [...targets.filter((target) => !passedOver.includes(target)), ...passedOver];
    },
    failed(relay, why) {
      const now = clock.now();
      const before = failing.get(relay);
      // Openings that were under way together are one failure.
      if (before !== undefined && before.until > now) return;
      const failures = (before?.failures ?? 0) + 1;
      const waitMs = WAITS_MS[Math.min(failures, WAITS_MS.length) - 1] ?? 0;
      failing.set(relay, { relay, failures, until: now + waitMs, why: why.slice(0, 512) });
    },
    succeeded(relay) {
      failing.delete(relay);
    },
    unhealthy: () => [...failing.values()].sort((a, b) => b.failures - a.failures),
  };
}
