/**
 * Suppressions that were added or removed after a delivery was read from the store: they are applied to rows that wait
 * in memory, and to those just being claimed. Takes changes as they are committed; updates the reasons of the
 * deliveries concerned.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import { suppressionKey } from '../../model/suppression.ts';
import type { SuppressionChange } from '../../store/topics/suppressions.ts';

export interface LateSuppressions {
  add(changes: readonly SuppressionChange[]): void;
  /**
   * Returns true if a change concerns this delivery. `sinceMs`: when the store was asked for it; earlier changes are
   * already included.
   */
  note(delivery: ClaimedDelivery, sinceMs: number): boolean;
}

/** A claim or commit reaches memory within this time. */
const ARRIVING_MS = 60_000;

type Change = Pick<SuppressionChange, 'reason' | 'lifted'> & { atMs: number };

export function createLateSuppressions(clock: Pick<Clock, 'monotonicMs'>): LateSuppressions {
  /** By sender domain and key, in the order of their commits. */
  const entries = new Map<string, readonly Change[]>();

  return {
    add(changes) {
      const atMs = clock.monotonicMs();
      for (const [name, of] of entries) {
        const late = of.filter((change) => atMs - change.atMs <= ARRIVING_MS);
        if (late.length === 0) entries.delete(name);
        else entries.set(name, late);
      }
      for (const { senderDomain, key, ...change } of changes) {
        const name = `${senderDomain} ${key}`;
        entries.set(name, [...(entries.get(name) ?? []), { ...change, atMs }]);
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
