/**
 * Why mail that this process holds in memory is not being sent at this moment. Its rows are leased, and nothing is
 * written to them while they wait, so whoever looks at a message or at the queue asks here and is told what the path
 * says now. Given the queue's rows in memory and a word for each; leaves nothing behind.
 */
import type { Lane } from '../../model/message.ts';
import type { Queue } from '../queue/queue.ts';
import type { ReadyItem } from '../queue/ready-item.ts';

/** Rows of one queue of the store that wait in memory for one reason. */
export interface MemoryQueue {
  senderDomain: string;
  recipientDomain: string;
  lane: Lane;
  sandbox: boolean;
  routeKey: string;
  reason: string;
  /** When their messages were accepted, one for each row. */
  createdAt: readonly number[];
}

export interface MemoryWaits {
  /** Why this recipient waits in memory, never ''; null: it does not, or it is being sent. */
  reasonOf(deliveryId: number): string | null;
  /** All that wait in memory. */
  queues(): readonly MemoryQueue[];
}

/** `word`: why an item that is not being sent waits, never ''. */
export function createMemoryWaits(
  queue: Pick<Queue, 'items' | 'itemOf'>,
  word: (item: ReadyItem) => string,
): MemoryWaits {
  return {
    reasonOf(deliveryId) {
      const item = queue.itemOf(deliveryId);
      return item === null || item.underWay || item.leaving ? null : word(item);
    },
    queues() {
      const found = new Map<string, MemoryQueue & { createdAt: number[] }>();
      for (const item of queue.items()) {
        if (item.underWay || item.leaving) continue;
        const reason = word(item);
        const { senderDomain, recipientDomain, lane, createdAt, routeKey = '' } = item.delivery;
        const sandbox = item.delivery.sandbox !== null;
        const key = `${item.delivery.queueId} ${reason}`;
        const known = found.get(key);
        if (known === undefined)
          found.set(key, {
            ...{ senderDomain, recipientDomain, lane, sandbox, routeKey, reason },
            createdAt: [createdAt],
          });
        else known.createdAt.push(createdAt);
      }
      return [...found.values()];
    },
  };
}
