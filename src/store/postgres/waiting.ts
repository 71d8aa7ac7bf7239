/**
 * Waiting mail, queue by queue, for a person who asks why: how many, since when, until when, for which reasons. Steps
 * through the queues by the due index and reads a limited number of rows of each, so the cost is the same for a queue
 * of millions.
 */
import { queueLaneCode } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { summaryOf, type WaitingRow } from '../shared/waiting-summary.ts';
import type { WaitingQueue } from '../topics/queue.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { read } from './engine/operation.ts';
import { findNameIds, type Shared } from './engine/session.ts';
import { countOf, floorFor, valuesOf, waitingOf } from './queue.ts';

/** Rows that one query reads. */
const ROWS_AT_ONCE = 2000;

export const waitingQueues = read('waitingQueues', { search: true }, async (db, params, shared) => {
  const { limit, rowsPerQueue, now, ageLimitsMs } = params;
  const found = await matchingQueues(db, shared, params);
  const queues: WaitingQueue[] = [];
  const atOnce = Math.max(1, Math.floor(ROWS_AT_ONCE / (rowsPerQueue + 1)));
  for (let start = 0; start < Math.min(found.length, limit); start += atOnce) {
    const some = found.slice(start, Math.min(start + atOnce, limit));
    const rows = await rowsOf(db, some, rowsPerQueue + 1);
    for (const { id, lane, senderDomain, recipientDomain, routeKey } of some) {
      const own = rows.get(id);
      // Its last row left between the two queries.
      if (own === undefined) continue;
      queues.push({
        ...queueLaneCode.word(lane),
        ...{ senderDomain, recipientDomain, routeKey },
        ...summaryOf(own.slice(0, rowsPerQueue), now, ageLimitsMs),
        complete: own.length <= rowsPerQueue,
      });
    }
  }
  return { more: found.length > limit, queues };
});

/** Along the same index, only counted. */
export const waitingCounts = read('waitingCounts', { search: true }, async (db, params, shared) => {
  const found = await matchingQueues(db, shared, params);
  const shown = found.slice(0, params.limit);
  const rows = await db.all<{ waiting: number }>(
    `SELECT ${countOf('delivery', 'g')} AS waiting
     FROM unnest($1::int8[], $2::int8[]) WITH ORDINALITY g (id, due_at, place) ORDER BY g.place`,
    int8s(shown.map(({ id }) => id)),
    int8s(shown.map(({ dueAt }) => dueAt)),
  );
  const queues = shown.flatMap(({ lane, senderDomain, recipientDomain, routeKey }, i) => {
    const waiting = rows[i]?.waiting ?? 0;
    return waiting === 0
      ? []
      : [{ ...queueLaneCode.word(lane), senderDomain, recipientDomain, routeKey, waiting }];
  });
  return { more: found.length > params.limit, queues };
});

interface QueueRow {
  id: number;
  /** Of its first row. */
  dueAt: number;
  lane: number;
  senderDomain: string;
  recipientDomain: string;
  routeKey: string;
}

/** Queues with waiting rows, earliest due first, one more than requested. */
async function matchingQueues(
  db: Db,
  shared: Shared,
  params: Pick<ParamsOf<'waitingQueues'>, 'domains' | 'recipientDomains' | 'limit'> & { now?: number },
): Promise<QueueRow[]> {
  const filter = createFilter();
  filter.oneOf('q.sender_domain', await findNameIds(db, params.domains));
  filter.oneOf('q.recipient_domain', params.recipientDomains);
  return db.all(
    `${waitingOf('delivery')} SELECT q.id, w.due_at AS "dueAt", q.lane, n.text AS "senderDomain", q.recipient_domain AS "recipientDomain",
       q.route_key AS "routeKey"
     FROM waiting w JOIN dest_queue q ON q.id = w.id JOIN name n ON n.id = q.sender_domain
     ${filter.where()} ORDER BY w.due_at, w.id LIMIT ?`,
    ...valuesOf(await floorFor(db, shared, 'delivery', params.now)),
    ...filter.values(),
    params.limit + 1,
  );
}

/** The first rows of each of the queues. */
async function rowsOf(
  db: Db,
  queues: readonly QueueRow[],
  limit: number,
): Promise<ReadonlyMap<number, WaitingRow[]>> {
  const rows = await db.all<WaitingRow & { id: number }>(
    `SELECT g.id, f.* FROM unnest($1::int8[], $2::int8[]) g (id, due_at) CROSS JOIN LATERAL (
       SELECT m.created_at, d.due_at, d.wait_reason, d.last_reply
       FROM delivery d JOIN message m ON m.seq = d.message_seq
       WHERE d.state = 0 AND d.queue_id = g.id AND d.due_at >= g.due_at ORDER BY d.due_at LIMIT $3) f`,
    int8s(queues.map(({ id }) => id)),
    int8s(queues.map(({ dueAt }) => dueAt)),
    limit,
  );
  return Map.groupBy(rows, ({ id }) => id);
}
