/** Adds mail that waits in memory to the queues of the store, so that an answer about waiting mail is complete. */
import type { MemoryQueue } from '../../../pipeline/deliver/memory-waits.ts';
import { queueKeyOf } from '../../../pipeline/queue/due-queues.ts';
import type { WaitingQueue } from '../../../store/topics/queue.ts';

/** Mail in memory first: it is due already, and goes as soon as what it waits for ends. `ageLimitsMs` as in `Store.waitingQueues`. */
export function withMemory(
  stored: readonly WaitingQueue[],
  memory: readonly MemoryQueue[],
  now: number,
  ageLimitsMs: readonly number[],
): WaitingQueue[] {
  if (memory.length === 0) return [...stored];
  const queues = new Map(stored.map((queue) => [queueKeyOf(queue), queue]));
  const touched = new Map<string, WaitingQueue>();
  for (const held of memory) {
    const key = queueKeyOf(held);
    const before = touched.get(key) ?? queues.get(key) ?? emptyQueue(held, ageLimitsMs.length + 1);
    touched.set(key, added(before, held, now, ageLimitsMs));
    queues.delete(key);
  }
  return [...touched.values(), ...queues.values()];
}

function added(
  queue: WaitingQueue,
  { createdAt, reason, until }: MemoryQueue,
  now: number,
  ageLimitsMs: readonly number[],
): WaitingQueue {
  const byAge = [...queue.byAge];
  for (const at of createdAt) {
    const place = ageLimitsMs.findIndex((limit) => now - at < limit);
    const index = place < 0 ? ageLimitsMs.length : place;
    byAge[index] = (byAge[index] ?? 0) + 1;
  }
  const others = queue.reasons.filter((one) => one.reason !== reason);
  const same = queue.reasons.find((one) => one.reason === reason)?.count ?? 0;
  return {
    ...queue,
    byAge,
    waiting: queue.waiting + createdAt.length,
    due: queue.due + createdAt.length,
    oldestCreatedAt: Math.min(queue.oldestCreatedAt, ...createdAt),
    nextDueAt: Math.min(queue.nextDueAt, Math.max(now, until)),
    reasons: [...others, { reason, count: same + createdAt.length, reply: null }].sort(
      (a, b) => b.count - a.count,
    ),
  };
}

function emptyQueue(
  { senderDomain, recipientDomain, lane, sandbox, routeKey }: MemoryQueue,
  ages: number,
): WaitingQueue {
  return {
    ...{ senderDomain, recipientDomain, lane, sandbox, routeKey },
    ...{ waiting: 0, complete: true, due: 0, reasons: [] },
    oldestCreatedAt: Number.POSITIVE_INFINITY,
    nextDueAt: Number.POSITIVE_INFINITY,
    byAge: new Array<number>(ages).fill(0),
  };
}
