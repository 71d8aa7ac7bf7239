/**
 * Suppressions that were added or lifted after a delivery was looked up: rows that wait in memory, and those on their way
 * into it, meet them here. Given changes as they are committed; keeps the reasons of the deliveries they are about.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import { suppressionKey } from '../../model/suppression.ts';
import type { SuppressionChange } from '../../store/topics/suppressions.ts';

export interface LateSuppressions {
  add(changes: readonly SuppressionChange[]): void;
  /** True where one is about this delivery. `sinceMs`: when the store was asked for it; what was changed before, it knew. */
  note(delivery: ClaimedDelivery, sinceMs: number): boolean;
}

/** A claim or a commit is in memory within this. */
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
      // The store may have known some of them: made once more in their order, they come to the same.
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
