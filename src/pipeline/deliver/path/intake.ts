/**
 * What a path takes from the queue: as many messages of each lane as its connections can use soon, read and signed
 * while these are busy, and the other recipients that share a transaction. Passes prepared messages to the picker, and
 * gives messages that could not be read back to the queue.
 */

import type { ClaimedDelivery } from '../../../model/delivery.ts';
import { LANES, type Lane } from '../../../model/message.ts';
import type { ReadyItem } from '../../queue/ready-item.ts';
import { mayShare, mostInOne, shareKey } from '../prepare/grouping.ts';
import type { Prepared } from '../prepare/prepared.ts';
import type { PathParts } from './parts.ts';

/** The messages that one path has taken and prepares. */
export interface PathIntake {
  /**
   * Takes messages that can be used; `probes`: at most this many in total, while the path tests whether it works;
   * `isIdle`: a connection has nothing to do, and nothing that is prepared may go on it.
   */
  take(probes: number | null, isIdle?: boolean): void;
  /**
   * Returns true if it has been prepared for so long that its sender domain's keys and settings may have changed; it is
   * then prepared again and comes first in its lane.
   */
  renewed(prepared: Prepared): boolean;
  /** Messages that are being read and signed. */
  preparing(): number;
  preparingOf(lane: Lane): number;
  /** Other recipients of a message that is sent now, for the same transaction. */
  takeForSameTransaction(prepared: Prepared): ReadyItem[];
}

/** The wait before the next try while the store cannot be read. */
const STORE_RETRY_MS = 500;
/** As long as the cache of domains (domains.ts). */
const PREPARED_FOR_MS = 5_000;

/** Takes nothing before `take`. `on.prepared`: one more was prepared, or ended during preparation. */
export function createPathIntake(parts: PathParts, on: { prepared(): void }): PathIntake {
  const { name, queue, preparer, clock, log, ready, senderLimits, warm, notes, capacity, links } = parts;
  const { alarm, finish } = parts;
  const preparing: Record<Lane, number> = { critical: 0, normal: 0, bulk: 0 };
  /** Messages being prepared whose other recipients share their transaction. */
  const preparingShared = new Set<string>();

  return {
    take: takeWork,
    renewed(prepared) {
      if (clock.monotonicMs() - prepared.preparedAtMs <= PREPARED_FOR_MS) return false;
      ready.remove((one) => one === prepared);
      void prepare(prepared.item, ready.addFirst);
      return true;
    },
    preparing: preparingNow,
    preparingOf: (lane) => preparing[lane],
    takeForSameTransaction,
  };

  function preparingNow(): number {
    return preparing.critical + preparing.normal + preparing.bulk;
  }

  function takeWork(probes: number | null, isIdle = false): void {
    for (const lane of LANES) {
      const ahead = links.size() + 2;
      const most = probes ?? Math.min(2 * ahead, capacity.demand());
      // Once half of them are gone, the others are taken together: their contents are then read together.
      if (unsent(lane, probes) > ahead && !isIdle) continue;
      while (unsent(lane, probes) < most) {
        const item = queue.take(name, lane, mayTake);
        if (item === null) break;
        senderLimits.took(item.delivery.senderDomain);
        void prepare(item, ready.add);
      }
    }
    const refusedMs = senderLimits.refusedForMs();
    if (refusedMs !== null) alarm.after(refusedMs);
  }

  /** Taken of this lane; of all lanes while the path tests whether it works. */
  function unsent(lane: Lane, probes: number | null): number {
    return probes === null ? preparing[lane] + ready.count(lane) : preparingNow() + ready.size();
  }

  function mayTake({ delivery }: ReadyItem): boolean {
    return !joinsTransaction(delivery) && senderLimits.mayTake(delivery.senderDomain);
  }

  async function prepare(item: ReadyItem, add: (prepared: Prepared) => void): Promise<void> {
    const { lane, recipientDomain } = item.delivery;
    preparing[lane] += 1;
    const shared = mayShare(item.delivery) ? shareKey(item.delivery) : null;
    if (shared !== null) preparingShared.add(shared);
    notes.met(recipientDomain);
    try {
      const result = await preparer.prepare(item);
      if (result.kind === 'ready') add(result.prepared);
      else finish(item, result.outcome);
    } catch (cause) {
      log.warn(
        { err: cause, deliveryId: item.delivery.id },
        'a message could not be read; it will be tried again',
      );
      queue.giveBack(item, clock.now() + STORE_RETRY_MS, null);
    }
    preparing[lane] -= 1;
    if (shared !== null) preparingShared.delete(shared);
    on.prepared();
  }

  /** A copy of the same message to the same domain is about to be sent and can include this one. */
  function joinsTransaction(delivery: ClaimedDelivery): boolean {
    if (!mayShare(delivery)) return false;
    const key = shareKey(delivery);
    return preparingShared.has(key) || ready.leads(key);
  }

  function takeForSameTransaction({ item, shared }: Prepared): ReadyItem[] {
    const { lane } = item.delivery;
    const sameTransaction: ReadyItem[] = [];
    if (shared === null) return sameTransaction;
    const key = shareKey(item.delivery);
    const { recipientsPerTransaction } = capacity.limitsOf(item.delivery.senderDomain).limits;
    const most = mostInOne(recipientsPerTransaction);
    const fits = ({ delivery }: ReadyItem) => mayShare(delivery) && shareKey(delivery) === key;
    while (sameTransaction.length + 1 < most && warm.mayGo(lane)) {
      const next = queue.take(name, lane, fits);
      if (next === null) break;
      warm.went(lane);
      senderLimits.took(item.delivery.senderDomain);
      sameTransaction.push(next);
    }
    if (sameTransaction.length > 0) preparer.sharedBy(item.delivery);
    return sameTransaction;
  }
}
