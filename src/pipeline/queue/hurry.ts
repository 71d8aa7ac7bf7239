/**
 * Makes mail due now that would wait for a later time because of its path: that of one site, or to one recipient domain.
 * The queues of all sites are examined, a few at a time, so that neither the store nor this thread is busy for long.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { HurriedQueue } from '../../store/topics/queue.ts';
import { dueQueuePages } from './due-pages.ts';
import type { QueueRef } from './due-queues.ts';
import type { Queue } from './queue.ts';

/** Queues examined to find those of one site, and changed in one transaction. */
const HURRIED_QUEUES = 20_000;
const HURRIED_AT_ONCE = 10;
/** Each examines at most 500 rows of each of its queues; rows beyond keep their time. */
const HURRIED_LOOKS = 2_500;

/** Resolves to its recipients when that is stored. */
export async function hurry(
  { store, clock, siteOfQueue }: { store: Store; clock: Clock; siteOfQueue(queue: QueueRef): string },
  mail: Parameters<Queue['hurry']>[0],
): Promise<number> {
  const fits = (queue: QueueRef) =>
    'site' in mail ? siteOfQueue(queue) === mail.site : queue.recipientDomain === mail.recipientDomain;
  const deferred = 'site' in mail && mail.deferred === true;
  const left: HurriedQueue[] = [];
  for await (const queues of dueQueuePages(store, { most: HURRIED_QUEUES }))
    for (const queue of queues) if (fits(queue)) left.push({ queueId: queue.queueId });
  let hurried = 0;
  for (let looks = 0; left.length > 0 && looks < HURRIED_LOOKS; looks += 1) {
    const queues = left.splice(0, HURRIED_AT_ONCE);
    const done = await store.hurry({ queues, deferred, now: clock.now() });
    hurried += done.hurried;
    left.push(...done.more);
  }
  return hurried;
}
