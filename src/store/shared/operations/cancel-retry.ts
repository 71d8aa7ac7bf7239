/**
 * Changes requested after acceptance: canceling what still waits, sending it at another time, or trying failed
 * recipients again. A row that delivery claimed meanwhile, and has not released for this, is left unchanged; the change and
 * its events are one transaction. Rows of recipients are locked before their message, as outcomes do.
 */
import { IS_DEFERRED, IS_HELD_REASON, IS_PATH_REASON, SCHEDULED } from '../../../model/wait-reason.ts';
import type { ChangedRecipient } from '../../topics/queue.ts';
import { stateCode } from '../codes.ts';
import { NOT_ERASED } from '../erased.ts';
import { anyOf, type Db, type Session, write } from '../operation.ts';
import type { ColumnValue } from '../record.ts';
import type { Work } from '../work.ts';

const OPTIONS = { synced: true, rows: 'recipients', repeatable: true } as const;

export const cancelQueued = write('cancelQueued', 'by key', OPTIONS, function* (on, params) {
  const { messageSeq, recipients, now } = params;
  const domainId = yield* domainOf(on.db, messageSeq);
  const set = 'state = ?, epoch = 0, wait_reason = NULL, updated_at = ?';
  const to = { set, values: [stateCode.of('canceled'), now] };
  const changed = yield* changeWaiting(on, { messageSeq, domainId }, recipients, to);
  if (changed.length > 0) yield* on.dropOrLeaveContent(messageSeq);
  const late = yield* on.db.get<{ n: number }>(
    'SELECT count(*) AS n FROM delivery WHERE message_seq = ? AND state IN (?, ?)',
    messageSeq,
    stateCode.of('sending'),
    stateCode.of('delivered'),
  );
  return { changed, tooLate: late?.n ?? 0 };
});

const RESENT = `(state IN (${stateCode.of('bounced')}, ${stateCode.of('failed')})
  OR state = 0 AND (attempts > 0 OR ${IS_DEFERRED} OR ${IS_PATH_REASON} OR ${IS_HELD_REASON}))`;

export const requeue = write('requeue', 'by key', OPTIONS, function* (on, params) {
  const { db } = on;
  const { messageSeq, recipients, now, expiresAt } = params;
  const domainId = yield* domainOf(db, messageSeq);
  yield* lock(db, messageSeq, recipients);
  if (!(yield* hasContent(db, messageSeq))) return { kind: 'content-gone' };
  const { told, untold } = yield* divide(on, domainId, recipients);
  const among = idsOf(db, untold);
  const rows = yield* db.all<{ id: number }>(
    `UPDATE delivery AS d SET state = 0, epoch = 0, due_at = ?1, expires_at = {max|greatest}(expires_at, ?2), updated_at = ?1,
       wait_reason = NULL, first_deferred_at = NULL, last_deferred_event_at = NULL, cause_id = NULL
     WHERE message_seq = ?3 AND ${NOT_ERASED} AND ${RESENT}${among.and()} RETURNING id`,
    ...[now, expiresAt, messageSeq],
    ...among.values(),
  );
  const ids = new Set(rows.map(({ id }) => id));
  const changed = untold.filter(({ deliveryId }) => ids.has(deliveryId));
  yield* append(on, { messageSeq, domainId }, changed);
  const count = told.length + changed.length;
  if (count > 0) {
    const sql = 'UPDATE message SET expires_at = {max|greatest}(expires_at, ?) WHERE seq = ?';
    yield* db.run(sql, expiresAt, messageSeq);
  }
  return { kind: 'requeued', count };
});

export const reschedule = write('reschedule', 'by key', OPTIONS, function* (on, params) {
  const { db } = on;
  const { messageSeq, now, sendAt, expiresAt, recipients } = params;
  const domainId = yield* domainOf(db, messageSeq);
  const rows = yield* db.all<Row & { tried: number | boolean }>(
    `SELECT id, state, epoch, attempts > 0 OR first_deferred_at IS NOT NULL AS tried FROM delivery
     WHERE message_seq = ? AND state NOT IN (?, ?) ORDER BY id {|FOR UPDATE}`,
    messageSeq,
    stateCode.of('canceled'),
    stateCode.of('suppressed'),
  );
  const { told, untold } = yield* divide(on, domainId, recipients);
  // What an earlier call moved, whose answer was lost, may be on its way by now.
  if (told.length > 0 && untold.length === 0)
    return { kind: 'rescheduled', changed: recipients.map(({ deliveryId }) => deliveryId) };
  const sql = 'SELECT 1 FROM message WHERE seq = ? AND send_at IS NOT NULL';
  const scheduled = yield* db.get(sql, messageSeq);
  const waits = changeable(rows, recipients).length === rows.length && !rows.some(({ tried }) => tried);
  if (scheduled === undefined || rows.length === 0 || !waits) return { kind: 'not-scheduled' };
  if (!(yield* hasContent(db, messageSeq))) return { kind: 'content-gone' };
  yield* on.rewriteDate(messageSeq, params.date);
  const set = `state = 0, epoch = 0, due_at = ?, expires_at = ?, updated_at = ?, wait_reason = '${SCHEDULED}'`;
  const to = { set, values: [sendAt, expiresAt, now] };
  const changed = yield* changeWaiting(on, { messageSeq, domainId }, recipients, to);
  yield* db.run(
    'UPDATE message SET send_at = ?, expires_at = ? WHERE seq = ?',
    sendAt,
    expiresAt,
    messageSeq,
  );
  return { kind: 'rescheduled', changed };
});

interface Subject {
  messageSeq: number;
  domainId: number;
}

interface Row {
  id: number;
  state: number;
  epoch: number;
}

/** Those of the rows that are queued, or were released for this. */
function changeable<Found extends Row>(
  rows: readonly Found[],
  recipients: readonly ChangedRecipient[],
): Found[] {
  const released = new Map(recipients.map(({ deliveryId, epoch }) => [deliveryId, epoch]));
  return rows.filter(({ id, state, epoch }) => state === 0 || (state === 1 && released.get(id) === epoch));
}

/**
 * Changes those recipients that are queued or were released for this, each with its event; returns their ids, with those
 * of an earlier call whose answer was lost. `set`: columns and their `values`.
 */
function* changeWaiting(
  on: Session,
  subject: Subject,
  recipients: readonly ChangedRecipient[],
  { set, values }: { set: string; values: readonly ColumnValue[] },
): Work<number[]> {
  const { db } = on;
  const rows = yield* lock(db, subject.messageSeq, recipients);
  const { told, untold } = yield* divide(on, subject.domainId, recipients);
  const free = new Set(changeable(rows, recipients).map(({ id }) => id));
  const changed = untold.filter(({ deliveryId }) => free.has(deliveryId));
  const among = idsOf(db, changed);
  yield* db.run(`UPDATE delivery SET ${set} ${among.where()}`, ...values, ...among.values());
  yield* append(on, subject, changed);
  const ids = new Set([...told, ...changed].map(({ deliveryId }) => deliveryId));
  return recipients.map(({ deliveryId }) => deliveryId).filter((id) => ids.has(id));
}

/** Those whose event is already stored, because the change is repeated after a lost answer, and the others. */
function* divide<Recipient extends ChangedRecipient>(
  on: Session,
  domainId: number,
  recipients: readonly Recipient[],
): Work<{ told: Recipient[]; untold: Recipient[] }> {
  const stored = yield* on.storedAmong(
    domainId,
    recipients.map(({ event }) => event),
  );
  const { told = [], untold = [] } = Object.groupBy(recipients, ({ event }) =>
    stored.has(event.id) ? 'told' : 'untold',
  );
  return { told, untold };
}

/**
 * Locks the recipients before it is read what is stored: an earlier call whose answer was lost may still go on, and is waited
 * for.
 */
function lock(db: Db, messageSeq: number, recipients: readonly ChangedRecipient[]): Work<Row[]> {
  const among = idsOf(db, recipients);
  return db.all<Row>(
    `SELECT id, state, epoch FROM delivery WHERE message_seq = ?${among.and()} ORDER BY id {|FOR UPDATE}`,
    messageSeq,
    ...among.values(),
  );
}

function idsOf(db: Db, recipients: readonly ChangedRecipient[]) {
  const ids = recipients.map(({ deliveryId }) => deliveryId);
  return anyOf(db, 'id', ids);
}

/** Appends the events of those that changed. */
function append(on: Session, subject: Subject, changed: readonly ChangedRecipient[]): Work<unknown> {
  return on.appendEvents(
    changed.map(({ deliveryId, event }) => ({ event, subject: { ...subject, deliveryId } })),
  );
}

/** Whether the content is stored; it then stays until the transaction ends. */
function* hasContent(db: Db, messageSeq: number): Work<boolean> {
  yield* db.get('SELECT 1 FROM message WHERE seq = ? {|FOR NO KEY UPDATE}', messageSeq);
  return (yield* db.get('SELECT 1 FROM content WHERE message_seq = ?', messageSeq)) !== undefined;
}

/** Throws if there is no such message: the caller has just read it, and messages are not deleted one by one. */
function* domainOf(db: Db, messageSeq: number): Work<number> {
  const row = yield* db.get<{ domain_id: number }>('SELECT domain_id FROM message WHERE seq = ?', messageSeq);
  if (row === undefined) throw new Error(`There is no message ${messageSeq}`);
  return row.domain_id;
}
