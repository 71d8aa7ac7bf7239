/**
 * The queue: which queues are due, claiming with a lease, releasing leases. A claim writes the caller's epoch to the row;
 * only the same epoch may settle (`settling.ts`) or release it. Searches use the partial indexes over queued and leased rows,
 * so their cost does not grow with finished rows. The index names are spelled out: without statistics the planner may
 * otherwise prefer a wider index.
 */

import type { ClaimedDelivery } from '../../model/delivery.ts';
import { DEFERRED, isPathReason, SCHEDULED } from '../../model/wait-reason.ts';
import { type ClaimRow, claimedDelivery, HURRIED_ROWS, hintOf, type QueueRow } from '../shared/rows/queue.ts';
import type { HurriedQueue } from '../topics/queue.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent } from './events.ts';
import { reasonsFor } from './suppressions.ts';
import { totalOf } from './totals.ts';

const QUEUE_COLUMNS =
  'SELECT w.queue_id AS id, w.due_at, q.lane, n.text AS sender_domain, q.recipient_domain, q.route_key';
const QUEUE_JOINS = `CROSS JOIN dest_queue q ON q.id = w.queue_id
    CROSS JOIN name n ON n.id = q.sender_domain`;

/** Queues with waiting rows after a position, earliest due first. Tests check that its plan uses the index. */
export const DUE_QUEUES_SQL = `${QUEUE_COLUMNS}
  FROM waiting_queue w INDEXED BY waiting_queue_due ${QUEUE_JOINS}
  WHERE (w.due_at, w.queue_id) > (?, ?) ORDER BY w.due_at, w.queue_id LIMIT ?`;

const CLAIM_COLUMNS = `d.id, d.queue_id, d.message_seq, d.attempts, d.expires_at, d.kind, d.may_be_duplicate, d.sandbox,
  d.first_deferred_at, d.last_deferred_event_at, d.wait_reason, d.address, d.last_category, d.last_reply, m.id AS message_id, m.lane,
  m.domain_id, m.created_at, m.size, m.body_offset, m.needs_smtputf8, m.eight_bit, m.personal, m.null_sender, n.text AS sender_domain,
  q.recipient_domain, q.route_key`;

const CLAIM_JOINS = `CROSS JOIN message m ON m.seq = d.message_seq
  CROSS JOIN dest_queue q ON q.id = d.queue_id CROSS JOIN name n ON n.id = m.domain_id`;

/** The earliest due rows of one queue. Tests check that its plan uses the index. */
export const CLAIM_DUE_SQL = `SELECT ${CLAIM_COLUMNS} FROM delivery d INDEXED BY delivery_due ${CLAIM_JOINS}
  WHERE d.state = 0 AND d.queue_id = ? AND d.due_at <= ? AND d.expires_at > ? ORDER BY d.due_at, d.id LIMIT ?`;

/** Expired rows. Tests check that its plan uses the index. */
export const CLAIM_EXPIRED_SQL = `SELECT ${CLAIM_COLUMNS} FROM delivery d INDEXED BY delivery_expiry ${CLAIM_JOINS}
  WHERE d.state = 0 AND d.expires_at <= ? ORDER BY d.expires_at, d.id LIMIT ?`;

export const dueQueues = read('dueQueues', 'measured', (db, params) => {
  const { dueBefore = Number.MAX_SAFE_INTEGER } = params;
  const rows = db.all<QueueRow>(
    DUE_QUEUES_SQL,
    params.after?.nextDueAt ?? Number.MIN_SAFE_INTEGER,
    params.after?.queueId ?? 0,
    params.limit,
  );
  return rows.filter((row) => row.due_at <= dueBefore).map(hintOf);
});

export const dueAmong = read('dueAmong', 'by key', (db, { queueIds, dueBefore }) =>
  db
    .all<QueueRow>(
      `${QUEUE_COLUMNS} FROM json_each(?) g CROSS JOIN waiting_queue w ON w.queue_id = g.value ${QUEUE_JOINS}
       WHERE w.due_at <= ? ORDER BY w.due_at, w.queue_id`,
      JSON.stringify([...new Set(queueIds)]),
      dueBefore,
    )
    .map(hintOf),
);

/** Waiting calls of removed webhooks, whose rows are deleted later: they are made no more. */
const REMOVED_CALLS_SQL = `SELECT coalesce(sum(h.waiting), 0) AS n FROM leftover l
  JOIN waiting_hook h ON h.webhook_id = l.owner WHERE l.kind = 'webhook'`;

/** How many recipients wait, are being sent, and how many calls are pending. */
export const queueCounts = read('queueCounts', 'measured', (db, params) => {
  const first = db.get<{ due_at: number | null }>('SELECT min(due_at) AS due_at FROM waiting_queue');
  const dueAt = first?.due_at ?? null;
  const queued = totalOf(db, 'unfinished');
  return {
    queued,
    sending: queued - totalOf(db, 'waiting'),
    oldestDueAt: dueAt !== null && dueAt <= params.now ? dueAt : null,
    pendingCalls: totalOf(db, 'calls') - (db.get<{ n: number }>(REMOVED_CALLS_SQL)?.n ?? 0),
  };
});

/**
 * Leases the earliest due rows of one queue; at least one row of any size, or up to `maxRowBytes`, then up to `maxBytes` of
 * content. Synced: after a power failure, a lost claim would let the row be sent again without the mark of a possible duplicate.
 */
export const claimDue = write('claimDue', 'as asked', { synced: true, rows: 'limit' }, (session, params) => {
  if (session.hasEnded(params.epoch)) return [];
  const rows = session.db.all<ClaimRow>(CLAIM_DUE_SQL, params.queueId, params.now, params.now, params.limit);
  const claimed: ClaimedDelivery[] = [];
  const accepting = eventIdsFrom(params.eventId);
  let bytes = 0;
  for (const row of rows) {
    if (row.size > (params.maxRowBytes ?? Number.POSITIVE_INFINITY)) continue;
    bytes += row.size;
    if (claimed.length > 0 && bytes > params.maxBytes) break;
    claimed.push(lease(session, row, params, accepting));
  }
  return claimed;
});

export const claimExpired = write('claimExpired', 'as asked', { rows: 'limit' }, (session, params) => {
  if (session.hasEnded(params.epoch)) return [];
  const rows = session.db.all<ClaimRow>(CLAIM_EXPIRED_SQL, params.now, params.limit);
  const accepting = eventIdsFrom(params.eventId);
  return rows.map((row) => lease(session, row, params, accepting));
});

export const release = write('release', 'by key', { rows: 'deliveryIds' }, ({ db }, params) => {
  for (const id of params.deliveryIds) {
    db.run(
      'UPDATE delivery SET state = 0, epoch = 0, due_at = ?, wait_reason = ? WHERE id = ? AND state = 1 AND epoch = ?',
      params.dueAt,
      params.waitReason,
      id,
      params.epoch,
    );
  }
});

/** Rows of one queue behind a position. Tests check that its plan uses the index. */
export const LATER_SQL = `SELECT id, due_at, wait_reason FROM delivery INDEXED BY delivery_due
  WHERE state = 0 AND queue_id = ? AND (due_at, id) > (?, ?) ORDER BY due_at, id LIMIT ?`;

export const hurry = write('hurry', 'by key', ({ db }, { queues, deferred = false, now }) => {
  const more: HurriedQueue[] = [];
  let hurried = 0;
  for (const { queueId, after = { dueAt: now, id: Number.MAX_SAFE_INTEGER } } of queues) {
    const rows = db.all<{ id: number; due_at: number; wait_reason: string | null }>(
      LATER_SQL,
      ...[queueId, after.dueAt, after.id, HURRIED_ROWS],
    );
    for (const { id, wait_reason } of rows)
      if (isPathReason(wait_reason) || (deferred && wait_reason === DEFERRED))
        hurried += db.run('UPDATE delivery SET due_at = ? WHERE id = ?', now, id).changes;
    const last = rows.at(-1);
    if (rows.length === HURRIED_ROWS && last !== undefined)
      more.push({ queueId, after: { dueAt: last.due_at, id: last.id } });
  }
  return { hurried, more };
});

/** Ids that count up from `first` in their last 48 bits (RFC 9562 §6.2): one random id is enough for a whole claim. */
function eventIdsFrom(first: string): () => string {
  let last: number | null = null;
  return () => {
    last = last === null ? Number.parseInt(first.slice(24), 16) : (last + 1) % 2 ** 48;
    return first.slice(0, 24) + last.toString(16).padStart(12, '0');
  };
}

function lease(
  session: Session,
  row: ClaimRow,
  { epoch, now }: { epoch: number; now: number },
  nextEventId: () => string,
): ClaimedDelivery {
  const reasons = reasonsFor(session, row.domain_id, row.address, now);
  session.db.run('UPDATE delivery SET state = 1, epoch = ?, updated_at = ? WHERE id = ?', epoch, now, row.id);
  if (row.wait_reason === SCHEDULED) {
    const event = { id: nextEventId(), kind: 'accepted', at: now, detail: null } as const;
    const { domain_id: domainId, message_seq: messageSeq, id: deliveryId } = row;
    appendEvent(session, event, { domainId, messageSeq, deliveryId });
  }
  return claimedDelivery(row, epoch, reasons);
}
