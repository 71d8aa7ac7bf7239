/**
 * The queue: which queues are due, claiming with a lease, settling outcomes, releasing leases. A claim writes the
 * caller's epoch to the row; only the same epoch may settle or release it, and a later outcome changes nothing but
 * leaves a `late_outcome` in the timeline. Searches use the partial indexes over queued and leased rows, so their cost
 * does not grow with finished rows. The index names are spelled out: without statistics the planner may otherwise
 * prefer a wider index.
 */

import { uuidText } from '../../lib/ids.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { MessageId } from '../../model/message.ts';
import type { NoticeKind } from '../../model/notice.ts';
import {
  laneCode,
  queueLaneCode,
  recipientKindCode,
  routeCode,
  sandboxCode,
  stateCode,
} from '../shared/codes.ts';
import type { Settlement } from '../topics/queue.ts';
import { insertCapture } from './captures.ts';
import { causeId } from './causes.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, isStored } from './events.ts';
import { dropOrLeaveContent } from './leftovers.ts';
import { noteFact } from './notices.ts';
import { applySignal, forgetEvidence, reasonsFor } from './suppressions.ts';
import { totalOf } from './totals.ts';

/** Queues with waiting rows after a position, earliest due first. Tests check that its plan uses the index. */
export const DUE_QUEUES_SQL = `SELECT w.queue_id AS id, w.due_at, q.lane, n.text AS sender_domain, q.recipient_domain, q.route_key
  FROM waiting_queue w INDEXED BY waiting_queue_due CROSS JOIN dest_queue q ON q.id = w.queue_id
    CROSS JOIN name n ON n.id = q.sender_domain
  WHERE (w.due_at, w.queue_id) > (?, ?) ORDER BY w.due_at, w.queue_id LIMIT ?`;

const CLAIM_COLUMNS = `d.id, d.queue_id, d.message_seq, d.attempts, d.expires_at, d.kind, d.may_be_duplicate, d.sandbox,
  d.first_deferred_at, d.last_deferred_event_at, d.wait_reason, d.address, d.last_category, d.last_reply, m.id AS message_id, m.lane,
  m.from_address, m.domain_id, m.created_at, m.size, m.body_offset, m.needs_smtputf8, m.eight_bit, m.personal, m.null_sender, n.text AS sender_domain,
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
  const rows = db.all<{
    id: number;
    due_at: number;
    lane: number;
    sender_domain: string;
    recipient_domain: string;
    route_key: string;
  }>(
    DUE_QUEUES_SQL,
    params.after?.nextDueAt ?? Number.MIN_SAFE_INTEGER,
    params.after?.queueId ?? 0,
    params.limit,
  );
  const due = rows.filter((row) => row.due_at <= params.dueBefore);
  return due.map((row) => ({
    queueId: row.id,
    ...queueLaneCode.word(row.lane),
    senderDomain: row.sender_domain,
    recipientDomain: row.recipient_domain,
    ...(row.route_key === '' ? {} : { routeKey: row.route_key }),
    nextDueAt: row.due_at,
  }));
});

/** Earliest due time over all queued rows, or null. */
export const nextDueAt = read('nextDueAt', 'measured', (db) => {
  const sql = 'SELECT min(due_at) AS due_at FROM waiting_queue';
  return db.get<{ due_at: number | null }>(sql)?.due_at ?? null;
});

/** How many recipients wait, are being sent, and how many calls are pending. */
export const queueCounts = read('queueCounts', 'measured', (db, params) => {
  const dueAt = nextDueAt(db, undefined);
  const queued = totalOf(db, 'unfinished');
  return {
    queued,
    sending: queued - totalOf(db, 'waiting'),
    oldestDueAt: dueAt !== null && dueAt <= params.now ? dueAt : null,
    pendingCalls: totalOf(db, 'calls'),
  };
});

/**
 * Leases the earliest due rows of one queue; at least one row of any size, then up to `maxBytes` of content. Synced:
 * after a power failure, a lost claim would let the row be sent again without the mark of a possible duplicate.
 */
export const claimDue = write('claimDue', 'as asked', { synced: true, rows: 'limit' }, (session, params) => {
  if (session.hasEnded(params.epoch)) return [];
  const rows = session.db.all<ClaimRow>(CLAIM_DUE_SQL, params.queueId, params.now, params.now, params.limit);
  const claimed: ClaimedDelivery[] = [];
  const accepting = eventIdsFrom(params.eventId);
  let bytes = 0;
  for (const row of rows) {
    bytes += row.size;
    if (claimed.length > 0 && bytes > params.maxBytes) break;
    claimed.push(lease(session, row, params, accepting));
  }
  return claimed;
});

/** Leases queued rows whose expiry is at or before `now`, longest expired first. */
export const claimExpired = write('claimExpired', 'as asked', { rows: 'limit' }, (session, params) => {
  if (session.hasEnded(params.epoch)) return [];
  const rows = session.db.all<ClaimRow>(CLAIM_EXPIRED_SQL, params.now, params.limit);
  const accepting = eventIdsFrom(params.eventId);
  return rows.map((row) => lease(session, row, params, accepting));
});

/** Records outcomes for leased rows. */
export const settle = write(
  'settle',
  'by key',
  {
    rows: 'settlements',
    patient: ({ settlements }) =>
      // A test that waits for its captured mail waits for this commit.
      settlements.some(({ capture }) => capture !== undefined) ? null : settlements.length,
  },
  (session, params) => {
    return params.settlements.map((settlement) => settleOne(session, settlement, params.now));
  },
);

/** Releases leases of `epoch` unchanged; rows that are no longer leased to it are left alone. */
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

/** The earliest later rows of one queue. Tests check that its plan uses the index. */
export const HURRY_SQL = `UPDATE delivery SET due_at = ? WHERE id IN (
    SELECT id FROM (SELECT id, wait_reason FROM delivery INDEXED BY delivery_due
      WHERE state = 0 AND queue_id = ? AND due_at > ? ORDER BY due_at LIMIT 500)
    WHERE wait_reason LIKE 'path:%')`;

/** Makes rows due that wait for their path. */
export const hurry = write('hurry', 'by key', ({ db }, { queueIds, now }) => {
  return queueIds.reduce((sum, id) => sum + db.run(HURRY_SQL, now, id, now).changes, 0);
});

interface ClaimRow {
  id: number;
  queue_id: number;
  message_seq: number;
  attempts: number;
  expires_at: number;
  kind: number;
  may_be_duplicate: number;
  sandbox: number | null;
  first_deferred_at: number | null;
  last_deferred_event_at: number | null;
  wait_reason: string | null;
  address: string;
  last_category: string | null;
  last_reply: string | null;
  message_id: Uint8Array;
  lane: number;
  from_address: string;
  domain_id: number;
  created_at: number;
  size: number;
  body_offset: number;
  needs_smtputf8: number;
  eight_bit: number;
  personal: number;
  null_sender: number;
  sender_domain: string;
  recipient_domain: string;
  route_key: string;
}

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
  const wasScheduled = row.wait_reason === 'scheduled';
  if (wasScheduled) {
    const event = { id: nextEventId(), kind: 'accepted', at: now, detail: null } as const;
    const { domain_id: domainId, message_seq: messageSeq, id: deliveryId } = row;
    appendEvent(session, event, { domainId, messageSeq, deliveryId });
  }
  return {
    id: row.id,
    epoch,
    queueId: row.queue_id,
    messageSeq: row.message_seq,
    messageId: uuidText(row.message_id) as MessageId,
    senderDomain: row.sender_domain,
    from: row.from_address,
    lane: laneCode.word(row.lane),
    address: row.address,
    recipientDomain: row.recipient_domain,
    kind: recipientKindCode.word(row.kind),
    attempts: row.attempts,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    size: row.size,
    bodyOffset: row.body_offset,
    needsSmtpUtf8: row.needs_smtputf8 === 1,
    eightBit: row.eight_bit === 1,
    sandbox: row.sandbox === null ? null : sandboxCode.word(row.sandbox),
    mayBeDuplicate: row.may_be_duplicate === 1,
    firstDeferredAt: row.first_deferred_at,
    lastDeferredEventAt: row.last_deferred_event_at,
    lastReply: row.last_reply,
    lastCategory: row.last_category,
    ...(wasScheduled ? { wasScheduled } : {}),
    ...(row.route_key === '' ? {} : { routeKey: row.route_key }),
    ...(row.personal === 0 ? {} : { personal: true, listUnsubscribe: row.personal === 3 }),
    ...(row.null_sender === 0 ? {} : { nullSender: true as const }),
    ...(reasons.length === 0 ? {} : { suppressedFor: reasons }),
  };
}

function settleOne(session: Session, outcome: Settlement, now: number): 'settled' | 'fenced' {
  const { db } = session;
  const waits = outcome.state === 'queued';
  const deferred = outcome.events.find((event) => event.kind === 'deferred');
  const row = db.get<{
    message_seq: number;
    address: string;
    notify: number | null;
    domain_id: number;
    keep_content: number;
  }>(
    `UPDATE delivery SET state = ?, epoch = 0, due_at = coalesce(?, due_at), wait_reason = ?, attempts = attempts + ?,
       updated_at = ?, last_category = coalesce(?, last_category), last_reply = coalesce(?, last_reply),
       last_code = coalesce(?, last_code), route = coalesce(?, route),
       may_be_duplicate = coalesce(?, may_be_duplicate), first_deferred_at = coalesce(first_deferred_at, ?),
       last_deferred_event_at = coalesce(?, last_deferred_event_at),
       cause_id = CASE WHEN ? THEN NULL ELSE coalesce(?, cause_id) END
     WHERE id = ? AND state = 1 AND epoch = ?
     RETURNING message_seq, address, notify, (SELECT domain_id FROM message WHERE seq = message_seq) AS domain_id,
       (SELECT keep_content FROM message WHERE seq = message_seq) AS keep_content`,
    stateCode.of(outcome.state),
    waits ? (outcome.dueAt ?? now) : null,
    waits ? (outcome.waitReason ?? null) : null,
    outcome.countAttempt ? 1 : 0,
    now,
    outcome.category ?? null,
    outcome.lastReply ?? null,
    outcome.lastCode ?? null,
    outcome.route === undefined ? null : routeCode.of(outcome.route),
    outcome.mayBeDuplicate === undefined ? null : outcome.mayBeDuplicate ? 1 : 0,
    deferred?.at ?? null,
    deferred === undefined || deferred.notify === false ? null : deferred.at,
    outcome.state === 'delivered' ? 1 : 0,
    outcome.cause === undefined ? null : causeId(session, outcome.cause, now),
    outcome.deliveryId,
    outcome.epoch,
  );
  if (row === undefined) return recordLate(session, outcome);
  const subject = { domainId: row.domain_id, messageSeq: row.message_seq, deliveryId: outcome.deliveryId };
  let eventSeq: number | null = null;
  for (const event of outcome.events) eventSeq = appendEvent(session, event, subject);
  if (row.notify !== null) {
    const { messageSeq, deliveryId } = subject;
    const kind = toldAs(outcome.state);
    if (kind !== null) noteFact(db, { messageSeq, deliveryId, notify: row.notify, kind, eventSeq, at: now });
  }
  if (outcome.capture !== undefined) {
    insertCapture(session, outcome.capture, { ...subject, envelopeTo: row.address });
  }
  if (outcome.suppress !== undefined) applySignal(session, outcome.suppress, subject, row.address, now);
  if (outcome.state === 'delivered' && outcome.route !== 'sandbox') {
    forgetEvidence(session, row.domain_id, row.address);
  }
  if (!waits && row.keep_content === 0) dropOrLeaveContent(session, row.message_seq);
  return 'settled';
}

/** The kind of notice for an outcome; null if there is none. */
function toldAs(state: Settlement['state']): NoticeKind | null {
  switch (state) {
    case 'delivered':
      return 'success';
    case 'queued':
      return 'delay';
    case 'bounced':
    case 'failed':
    case 'suppressed':
    case 'rejected':
      return 'failure';
    case 'sending':
    case 'canceled':
      return null;
  }
}

/**
 * One timeline entry with the id of the outcome's first event; an outcome without events leaves none. A repeated one,
 * after a lost answer, was settled under its lease.
 */
function recordLate(session: Session, outcome: Settlement): 'settled' | 'fenced' {
  const { db } = session;
  const [first] = outcome.events;
  if (first === undefined) return 'fenced';
  const row = db.get<{ message_seq: number; domain_id: number }>(
    `SELECT d.message_seq, m.domain_id FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq WHERE d.id = ?`,
    outcome.deliveryId,
  );
  if (row === undefined) return 'fenced';
  const { domain_id: domainId, message_seq: messageSeq } = row;
  if (isStored(db, domainId, first)) return 'settled';
  const late = { id: first.id, kind: 'late_outcome', at: first.at } as const;
  if (isStored(db, domainId, late)) return 'fenced';
  const reason = `The outcome "${outcome.state}" came after the lease was lost`;
  const subject = { domainId, messageSeq, deliveryId: outcome.deliveryId };
  appendEvent(session, { ...late, detail: { ...first.detail, reason } }, subject);
  return 'fenced';
}
