/**
 * Suppressions that came after a delivery was looked up: rows that wait in memory, and those on their way into it, meet
 * them here. Given entries as they are committed; adds their reasons to the deliveries they are about.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import { type SuppressionReason, suppressionKey } from '../../model/suppression.ts';
import type { AddedSuppression } from '../../store/topics/suppressions.ts';

export interface LateSuppressions {
  add(added: readonly AddedSuppression[]): void;
  /** True where one is about this delivery. `sinceMs`: when the store was asked for it; what was added before, it knew. */
  note(delivery: ClaimedDelivery, sinceMs: number): boolean;
}

/** A claim or a commit is in memory within this. */
const ARRIVING_MS = 60_000;

export function createLateSuppressions(clock: Pick<Clock, 'monotonicMs'>): LateSuppressions {
  /** By sender domain and key. */
  const entries = new Map<string, { reasons: readonly SuppressionReason[]; atMs: number }>();

  return {
    add(added) {
      const nowMs = clock.monotonicMs();
      for (const [name, { atMs }] of entries) if (nowMs - atMs > ARRIVING_MS) entries.delete(name);
      for (const { senderDomain, key, reason } of added) {
        const name = `${senderDomain} ${key}`;
        const reasons = [...(entries.get(name)?.reasons ?? []), reason];
        entries.set(name, { reasons, atMs: nowMs });
      }
    },
    note(delivery, sinceMs) {
      if (entries.size === 0) return false;
      const found = entries.get(`${delivery.senderDomain} ${suppressionKey(delivery.address)}`);
      if (found === undefined || found.atMs < sinceMs) return false;
      delivery.suppressedFor = [...(delivery.suppressedFor ?? []), ...found.reasons];
      return true;
    },
  };
}
