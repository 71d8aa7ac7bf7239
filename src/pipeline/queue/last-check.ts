/**
 * The last look at a row of the window before it is sent. One that expired or was suppressed is settled; one that has to
 * wait, or whose lease is of an older epoch, goes back to the store. A row that was found free is looked at again only
 * when a reason not to send may have appeared since.
 */
import type { Clock } from '../../lib/clock.ts';
import type { NodeLease } from '../../model/node.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { KeptBack } from './gate.ts';
import type { ExpirySettler, SuppressionSettler } from './queue.ts';
import type { ReadyItem } from './ready-item.ts';
import { LEAST_TIME_LEFT_MS, NO_TIME_LEFT } from './retry-schedule.ts';

interface LastCheck {
  /** A reason not to send may have appeared. */
  reasonsChanged(): void;
  /** Whether the item may be sent. If not, it was settled or given back. */
  mayGoOn(item: ReadyItem): boolean;
}

export function createLastCheck(deps: {
  clock: Clock;
  node: NodeLease;
  /** Whether mail must not be given up for its age now. */
  suspectsClock(): boolean;
  expire: ExpirySettler;
  suppressed: SuppressionSettler;
  /** Why an item has to wait, or null. */
  keptBack(item: ReadyItem): KeptBack | null;
  settle(item: ReadyItem, settlement: Settlement): Promise<void>;
  giveBack(item: ReadyItem, dueAt: number, waitReason: string | null): void;
}): LastCheck {
  const { clock, node, settle, giveBack } = deps;
  let changes = 0;

  return {
    reasonsChanged() {
      changes += 1;
    },
    mayGoOn(item) {
      const { delivery } = item;
      const now = clock.now();
      const late = delivery.expiresAt - LEAST_TIME_LEFT_MS < now;
      if (item.withdrawn) return false;
      if (item.checked === changes && !late) return true;
      if (delivery.epoch !== node.epoch) {
        giveBack(item, now, null);
        return false;
      }
      // It may have expired while it waited in memory, which the search for expired rows does not see.
      const over = delivery.expiresAt <= now;
      if (over && deps.suspectsClock()) {
        // Due by any clock: at a wrong time it would wait until then where the clock is set right.
        giveBack(item, delivery.createdAt, null);
        return false;
      }
      const ended = over ? deps.expire(delivery, now, null) : deps.suppressed(delivery, now);
      if (ended !== null) {
        void settle(item, ended);
        return false;
      }
      if (late) {
        giveBack(item, delivery.expiresAt, NO_TIME_LEFT);
        return false;
      }
      const kept = deps.keptBack(item);
      if (kept === null) {
        item.checked = changes;
        return true;
      }
      // With the same due time: it is sent as soon as nothing prevents it.
      giveBack(item, now, kept.reason);
      return false;
    },
  };
}
