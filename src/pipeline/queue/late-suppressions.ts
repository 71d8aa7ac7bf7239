/**
 * Suppressions that were added or removed after a delivery was read from the store: they are applied to rows that wait
 * in memory, and to those just being claimed. Takes changes as they are committed; updates the reasons of the
 * deliveries concerned.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import { suppressionKey } from '../../model/suppression.ts';
import type { SuppressionChange } from '../../store/topics/suppressions.ts';

interface LateSuppressions {
  add(changes: readonly SuppressionChange[]): void;
  /**
   * Returns true if a change concerns this delivery. `sinceMs`: when the store was asked for it; earlier changes are
   * already included.
   */
  note(delivery: ClaimedDelivery, sinceMs: number): boolean;
}

/** What has just been answered reaches memory within this time. */
const ARRIVING_MS = 1_000;

type Change = Pick<SuppressionChange, 'reason' | 'lifted'> & { atMs: number };

/** `underWaySinceMs`: when the oldest claim or commit began that is under way (monotonic); null = none is. */
export function createLateSuppressions(
  clock: Pick<Clock, 'monotonicMs'>,
  underWaySinceMs: () => number | null,
): LateSuppressions {
  /** By sender domain and key, in the order of their commits; the one that changed last is the last one. */
  const entries = new Map<string, readonly Change[]>();

  return {
    add(changes) {
      const atMs = clock.monotonicMs();
      const neededMs = Math.min(underWaySinceMs() ?? atMs, atMs) - ARRIVING_MS;
      // Only as far as there are old ones: somebody may import very many.
      for (const [name, of] of entries) {
        if ((of.at(-1)?.atMs ?? 0) >= neededMs) break;
        entries.delete(name);
      }
      for (const { senderDomain, key, ...change } of changes) {
        const name = `${senderDomain} ${key}`;
        const before = entries.get(name)?.filter((one) => one.atMs >= neededMs) ?? [];
        entries.delete(name);
        entries.set(name, [...before, { ...change, atMs }]);
      }
    },
    note(delivery, sinceMs) {
      if (entries.size === 0) return false;
      const found = entries.get(`${delivery.senderDomain} ${suppressionKey(delivery.address)}`) ?? [];
      const late = found.filter(({ atMs }) => atMs >= sinceMs);
      if (late.length === 0) return false;
      // Some may already be included: repeating them in order gives the same result.
      const reasons = new Set(delivery.suppressedFor);
      for (const { reason, lifted } of late) {
        if (lifted) reasons.delete(reason);
        else reasons.add(reason);
      }
      delivery.suppressedFor = [...reasons];
      return true;
    },
  };
}
