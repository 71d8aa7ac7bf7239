/** Reads due queues page by page, so that very many of them block neither the store nor this thread. */
import type { Store } from '../../store/store.ts';
import type { QueueHint } from '../../store/topics/queue.ts';

const QUEUES_PER_PAGE = 1_000;

/** Pages of at most `most` queues in total, earliest due first, after `from` where it is given. */
export async function* dueQueuePages(
  store: Pick<Store, 'dueQueues'>,
  { most, from, ...due }: { dueBefore?: number; most: number; from?: QueueHint | undefined },
): AsyncGenerator<readonly QueueHint[], void, void> {
  let after = from;
  for (let left = most; left > 0; left -= QUEUES_PER_PAGE) {
    const limit = Math.min(left, QUEUES_PER_PAGE);
    const page = await store.dueQueues({ ...due, limit, ...(after === undefined ? {} : { after }) });
    yield page;
    if (page.length < limit) return;
    after = page.at(-1);
  }
}
