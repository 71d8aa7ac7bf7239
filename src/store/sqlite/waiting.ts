/**
 * Waiting mail, queue by queue, for a person who asks why: how many, since when, until when, for which reasons. Steps
 * through the queues by the due index and reads a limited number of rows of each, so the cost is the same for a queue
 * of millions.
 */

import { queueLaneCode } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { summaryOf, type WaitingRow } from '../shared/waiting-summary.ts';
import type { WaitingQueue } from '../topics/queue.ts';
import type { Connection } from './engine/connection.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { readInSteps, type Steps } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

/** The rows of one queue, earliest due first. Tests check that its plan uses the index. */
export const WAITING_ROWS_SQL = `SELECT m.created_at, d.due_at, d.wait_reason, d.last_reply
  FROM delivery d INDEXED BY delivery_due CROSS JOIN message m ON m.seq = d.message_seq
  WHERE d.state = 0 AND d.queue_id = ? ORDER BY d.due_at LIMIT ?`;

/** Queues, and rows of queues, read in one step. */
const QUEUES_PER_STEP = 1000;
const ROWS_PER_STEP = 2000;

export const waitingQueues = readInSteps('waitingQueues', function* (db, params) {
  const { limit, rowsPerQueue } = params;
  const found = yield* matchingQueues(db, params);
  const queues: WaitingQueue[] = [];
  let looked = 0;
  for (const queue of found.slice(0, limit)) {
    const rows = db.all<WaitingRow>(WAITING_ROWS_SQL, queue.id, rowsPerQueue + 1);
    // Its last row was removed between two steps.
    if (rows.length === 0) continue;
    queues.push({
      ...queueLaneCode.word(queue.lane),
      senderDomain: queue.senderDomain,
      recipientDomain: queue.recipientDomain,
      routeKey: queue.routeKey,
      ...summaryOf(rows.slice(0, rowsPerQueue), params.now, params.ageLimitsMs),
      complete: rows.length <= rowsPerQueue,
    });
    looked += rows.length;
    if (looked < ROWS_PER_STEP) continue;
    looked = 0;
    yield;
  }
  return { more: found.length > limit, queues };
});

/** Along the same index, using only the counts in `waiting_queue`. */
export const waitingCounts = readInSteps('waitingCounts', function* (db, params) {
  const found = yield* matchingQueues(db, params);
  return {
    more: found.length > params.limit,
    queues: found
      .slice(0, params.limit)
      .map(({ lane, senderDomain, recipientDomain, routeKey, waiting }) => ({
        ...queueLaneCode.word(lane),
        ...{ senderDomain, recipientDomain, routeKey, waiting },
      })),
  };
});

interface QueueRow {
  id: number;
  dueAt: number;
  lane: number;
  senderDomain: string;
  recipientDomain: string;
  routeKey: string;
  /** Rows that wait. */
  waiting: number;
}

/** Queues with waiting rows, earliest due first, one more than requested. */
function* matchingQueues(
  db: Connection,
  params: Pick<ParamsOf<'waitingQueues'>, 'domains' | 'recipientDomains' | 'limit'>,
): Steps<QueueRow[]> {
  const domainIds = findNameIds(db, params.domains);
  const wanted = params.recipientDomains === undefined ? null : new Set(params.recipientDomains);
  const found: QueueRow[] = [];
  let last: QueueRow | undefined;
  for (;;) {
    const behind = [last?.dueAt ?? Number.MIN_SAFE_INTEGER, last?.id ?? 0];
    const ranges: Ranges = {
      sql: waitingQueuesSql(domainIds !== undefined),
      values: domainIds?.map((id) => [id, ...behind]) ?? [behind],
      order: 'dueAt, id',
    };
    const rows = mergedRows<QueueRow>(db, ranges, QUEUES_PER_STEP);
    for (const row of rows) if (wanted?.has(row.recipientDomain) !== false) found.push(row);
    if (rows.length < QUEUES_PER_STEP || found.length > params.limit) return found.slice(0, params.limit + 1);
    last = rows.at(-1);
    yield;
  }
}

/** Queues after a position, of one sender domain or of all. Tests check that its plan uses the index. */
export function waitingQueuesSql(ofDomain: boolean): string {
  const index = ofDomain ? 'waiting_queue_domain' : 'waiting_queue_due';
  return `SELECT w.queue_id AS id, w.due_at AS dueAt, q.lane AS lane, n.text AS senderDomain,
      q.recipient_domain AS recipientDomain, q.route_key AS routeKey, w.waiting AS waiting
    FROM waiting_queue w INDEXED BY ${index} CROSS JOIN dest_queue q ON q.id = w.queue_id
      CROSS JOIN name n ON n.id = q.sender_domain
    WHERE ${ofDomain ? 'w.sender_domain = ? AND ' : ''}(w.due_at, w.queue_id) > (?, ?)`;
}
