/**
 * Why mail in the memory of this process is not being sent at the moment. Its rows are leased and are not updated while
 * they wait, so views of messages and of the queue ask here for the current reason.
 */
import type { Lane } from '../../model/message.ts';
import type { Gate, KeptBack } from '../queue/gate.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';
import type { Paths } from './path/paths.ts';
import type { Sites } from './routing/sites.ts';

/** Rows of one queue of the store that wait in memory for the same reason. */
export interface MemoryQueue {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  sandbox: boolean;
  routeKey: string;
  reason: string;
  /** When the first of these waits ends, epoch milliseconds; 0: it is not known. */
  until: number;
  /** Acceptance times of their messages, one for each row. */
  createdAt: readonly number[];
}

export interface MemoryWaits {
  /** What this recipient waits for in memory, the reason never ''; null: it does not wait, or is being sent. */
  waitOf(deliveryId: number): KeptBack | null;
  /** How far a recipient is that this process is sending to; null: it is not. */
  sendingOf(deliveryId: number): string | null;
  /** The rows that wait in memory for mail of these domains; why a row waits is found out only for them. */
  queues(isWanted: (row: Pick<MemoryQueue, 'senderDomain' | 'recipientDomain'>) => boolean): MemoryQueue[];
}

export function createMemoryWaits({
  queue,
  gate,
  sites,
  paths,
}: {
  queue: Pick<Queue, 'items' | 'itemOf'>;
  gate: Pick<Gate, 'mail'>;
  sites: Pick<Sites, 'siteNamed'>;
  paths: Pick<Paths, 'known'>;
}): MemoryWaits {
  return {
    waitOf(deliveryId) {
      const item = queue.itemOf(deliveryId);
      return item === null || item.underWay !== null || item.leaving ? null : waitOf(item);
    },
    sendingOf(deliveryId) {
      const item = queue.itemOf(deliveryId);
      // The connection may have gone on to another message.
      return item === null || item.leaving ? null : (item.underWay?.progress() ?? null);
    },
    queues(isWanted) {
      const found = new Map<string, MemoryQueue & { createdAt: number[] }>();
      for (const item of queue.items()) {
        if (item.underWay !== null || item.leaving || !isWanted(item.delivery)) continue;
        const { reason, until: end } = waitOf(item);
        const until = end ?? 0;
        const { senderDomain, recipientDomain, lane, createdAt, routeKey = '' } = item.delivery;
        const sandbox = item.delivery.sandbox !== null;
        const key = `${item.delivery.queueId} ${reason}`;
        const known = found.get(key);
        if (known === undefined)
          found.set(key, {
            ...{ senderDomain, recipientDomain, lane, sandbox, routeKey, reason, until },
            createdAt: [createdAt],
          });
        else {
          known.createdAt.push(createdAt);
          known.until = Math.min(known.until, until);
        }
      }
      return [...found.values()];
    },
  };

  /** What an item that is not being sent waits for, its reason never ''. */
  function waitOf(item: ReadyItem): KeptBack {
    const { site, delivery } = item;
    const kept = gate.mail(delivery, site);
    if (kept !== null) return kept;
    const known = sites.siteNamed(site);
    if (known?.kind === 'unresolved')
      return { reason: `DNS is asked where mail for ${known.domain} goes`, until: null };
    const said = paths.known(site)?.waitOf(item) ?? null;
    if (said !== null) return said;
    const where = known?.kind === 'path' ? known.site : site;
    // It was checked when it was taken, and will get a connection next.
    const reason = item.checked < 0 ? `its turn at ${where}` : `it is made ready to be sent to ${where}`;
    return { reason, until: null };
  }
}
