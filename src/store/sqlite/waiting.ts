/**
 * What waits, queue by queue, for a person who asks why: how many, since when, until when, for which reasons. Steps
 * through the queues by the due index and looks at a bounded number of rows of each, so that the answer costs the same
 * over a queue of millions.
 */
import type { WaitingQueue } from '../topics/queue.ts';
import { queueLaneCode } from './codes.ts';
import { createFilter } from './engine/filter.ts';
import { read } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { WAITING_QUEUES } from './queue.ts';

/** The rows of one queue, earliest due first. Tests hold its plan to the index. */
export const WAITING_ROWS_SQL = `SELECT m.created_at, d.due_at, d.wait_reason
  FROM delivery d INDEXED BY delivery_due CROSS JOIN message m ON m.seq = d.message_seq
  WHERE d.state = 0 AND d.queue_id = ? ORDER BY d.due_at LIMIT ?`;

export const waitingQueues = read('waitingQueues', 'grows', { search: true }, (db, params) => {
  const filter = createFilter();
  filter.oneOf('q.sender_domain', findNameIds(db, params.domains));
  filter.oneOf('q.recipient_domain', params.recipientDomains);
  const queues = db.all<{
    id: number;
    lane: number;
    sender_domain: string;
    recipient_domain: string;
    route_key: string;
  }>(
    `${WAITING_QUEUES}
     SELECT hint.id, q.lane, n.text AS sender_domain, q.recipient_domain, q.route_key
     FROM hint CROSS JOIN dest_queue q ON q.id = hint.id CROSS JOIN name n ON n.id = q.sender_domain
     ${filter.where()} ORDER BY hint.due_at, hint.id LIMIT ?`,
    ...filter.values(),
    params.limit + 1,
  );
  return {
    more: queues.length > params.limit,
    queues: queues.slice(0, params.limit).map((queue): WaitingQueue => {
      const rows = db.all<WaitingRow>(WAITING_ROWS_SQL, queue.id, params.rowsPerQueue + 1);
      return {
        ...queueLaneCode.word(queue.lane),
        senderDomain: queue.sender_domain,
        recipientDomain: queue.recipient_domain,
        routeKey: queue.route_key,
        ...summary(rows.slice(0, params.rowsPerQueue), params.now, params.ageLimitsMs),
        complete: rows.length <= params.rowsPerQueue,
      };
    }),
  };
});

interface WaitingRow {
  created_at: number;
  due_at: number;
  wait_reason: string | null;
}

function summary(rows: readonly WaitingRow[], now: number, ageLimitsMs: readonly number[]) {
  const byAge = new Array<number>(ageLimitsMs.length + 1).fill(0);
  const reasons = new Map<string, number>();
  let due = 0;
  let oldestCreatedAt = Number.POSITIVE_INFINITY;
  let nextDueAt = Number.POSITIVE_INFINITY;
  for (const row of rows) {
    const place = ageLimitsMs.findIndex((limit) => now - row.created_at < limit);
    const index = place < 0 ? ageLimitsMs.length : place;
    byAge[index] = (byAge[index] ?? 0) + 1;
    if (row.due_at <= now) due += 1;
    oldestCreatedAt = Math.min(oldestCreatedAt, row.created_at);
    nextDueAt = Math.min(nextDueAt, row.due_at);
    const reason = row.wait_reason ?? '';
    reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
  }
  return {
    waiting: rows.length,
    due,
    oldestCreatedAt,
    nextDueAt,
    byAge,
    reasons: [...reasons]
      .map(([reason, count]) => ({ reason, count }))
      .sort((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
  };
}
