/**
 * Changes requested after acceptance: canceling what still waits, sending it at another time, or trying failed
 * recipients again. Each recipient is changed by its own row, so a row that delivery claimed meanwhile, and has not
 * released for this, is left unchanged; the change and its event are one transaction.
 */
import type { SQLInputValue } from 'node:sqlite';
import { IS_DEFERRED, IS_HELD_REASON, IS_PATH_REASON, SCHEDULED } from '../../model/wait-reason.ts';
import { stateCode } from '../shared/codes.ts';
import { NOT_ERASED } from '../shared/erased.ts';
import type { NewEvent } from '../topics/events.ts';
import type { ChangedRecipient } from '../topics/queue.ts';
import { dropOrLeaveContent } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendEvent, storedBeside } from './events.ts';

/** The epoch of no lease. */
const NO_EPOCH = -1;

export const cancelQueued = write(
  'cancelQueued',
  'by key',
  { synced: true, rows: 'recipients' },
  (session, params) => {
    const { db } = session;
    const domainId = domainOf(db, params.messageSeq);
    const changed = changeWaiting(
      session,
      domainId,
      params,
      'state = ?, epoch = 0, wait_reason = NULL, updated_at = ?',
      [stateCode.of('canceled'), params.now],
    );
    if (changed.length > 0) dropOrLeaveContent(session, params.messageSeq);
    const late = db.get<{ n: number }>(
      'SELECT count(*) AS n FROM delivery WHERE message_seq = ? AND state IN (?, ?)',
      params.messageSeq,
      stateCode.of('sending'),
      stateCode.of('delivered'),
    );
    return { changed, tooLate: late?.n ?? 0 };
  },
);

export const requeue = write('requeue', 'by key', { synced: true, rows: 'recipients' }, (session, params) => {
  const { db } = session;
  const domainId = domainOf(db, params.messageSeq);
  if (db.get('SELECT 1 FROM content WHERE message_seq = ?', params.messageSeq) === undefined) {
    return { kind: 'content-gone' };
  }
  const told = toldBefore(db, domainId, params.recipients);
  let count = 0;
  for (const { deliveryId, event } of params.recipients) {
    if (told.has(event.id)) {
      count += 1;
      continue;
    }
    const { changes } = db.run(
      `UPDATE delivery AS d SET state = 0, epoch = 0, due_at = ?, expires_at = max(expires_at, ?), updated_at = ?,
         wait_reason = NULL, first_deferred_at = NULL, last_deferred_event_at = NULL, cause_id = NULL
       WHERE id = ? AND message_seq = ? AND ${NOT_ERASED} AND (state IN (?, ?)
         OR state = 0 AND (attempts > 0 OR ${IS_DEFERRED} OR ${IS_PATH_REASON} OR ${IS_HELD_REASON}))`,
      params.now,
      params.expiresAt,
      params.now,
      deliveryId,
      params.messageSeq,
      stateCode.of('bounced'),
      stateCode.of('failed'),
    );
    if (changes === 0) continue;
    count += 1;
    appendEvent(session, event, { domainId, messageSeq: params.messageSeq, deliveryId });
  }
  if (count > 0) {
    const sql = 'UPDATE message SET expires_at = max(expires_at, ?) WHERE seq = ?';
    db.run(sql, params.expiresAt, params.messageSeq);
  }
  return { kind: 'requeued', count };
});

export const reschedule = write(
  'reschedule',
  'by key',
  { synced: true, rows: 'recipients' },
  (session, params) => {
    const { db } = session;
    const { messageSeq, now, sendAt, expiresAt, recipients } = params;
    const domainId = domainOf(db, messageSeq);
    const told = toldBefore(db, domainId, recipients);
    // What an earlier call moved, whose answer was lost, may be on its way by now.
    if (told.size > 0 && recipients.every(({ event }) => told.has(event.id)))
      return { kind: 'rescheduled', changed: recipients.map(({ deliveryId }) => deliveryId) };
    const scheduled = db.get('SELECT 1 FROM message WHERE seq = ? AND send_at IS NOT NULL', messageSeq);
    const rows = db.all<{ id: number; state: number; epoch: number; tried: number }>(
      `SELECT id, state, epoch, attempts > 0 OR first_deferred_at IS NOT NULL AS tried FROM delivery
     WHERE message_seq = ? AND state NOT IN (?, ?)`,
      messageSeq,
      stateCode.of('canceled'),
      stateCode.of('suppressed'),
    );
    const givenUp = new Map(params.recipients.map(({ deliveryId, epoch }) => [deliveryId, epoch]));
    const waits = rows.every(
      ({ id, state, epoch, tried }) =>
        tried === 0 && (state === 0 || (state === 1 && givenUp.get(id) === epoch)),
    );
    if (scheduled === undefined || rows.length === 0 || !waits) return { kind: 'not-scheduled' };
    if (!rewriteDate(db, messageSeq, params.date)) return { kind: 'content-gone' };
    const set = `state = 0, epoch = 0, due_at = ?, expires_at = ?, updated_at = ?, wait_reason = '${SCHEDULED}'`;
    const changed = changeWaiting(session, domainId, params, set, [sendAt, expiresAt, now]);
    db.run('UPDATE message SET send_at = ?, expires_at = ? WHERE seq = ?', sendAt, expiresAt, messageSeq);
    return { kind: 'rescheduled', changed };
  },
);

/**
 * Changes those recipients that are queued or were released for this, each with its event; returns their ids, with those
 * of an earlier call whose answer was lost.
 */
function changeWaiting(
  session: Session,
  domainId: number,
  { messageSeq, recipients }: { messageSeq: number; recipients: readonly ChangedRecipient[] },
  set: string,
  values: readonly SQLInputValue[],
): number[] {
  const told = toldBefore(session.db, domainId, recipients);
  return recipients.flatMap(({ deliveryId, event, epoch = NO_EPOCH }) => {
    if (told.has(event.id)) return [deliveryId];
    const where = 'WHERE id = ? AND message_seq = ? AND (state = 0 OR state = 1 AND epoch = ?)';
    const { changes } = session.db.run(
      `UPDATE delivery SET ${set} ${where}`,
      ...values,
      deliveryId,
      messageSeq,
      epoch,
    );
    if (changes === 0) return [];
    appendEvent(session, event, { domainId, messageSeq, deliveryId });
    return [deliveryId];
  });
}

/** Ids of events that are already stored, because the change is repeated after a lost answer. */
function toldBefore(db: Connection, domainId: number, recipients: readonly { readonly event: NewEvent }[]) {
  return storedBeside(
    db,
    domainId,
    recipients.map(({ event }) => event),
  );
}

/** Replaces our Date by another of the same length; false if the content was deleted. */
function rewriteDate(db: Connection, messageSeq: number, date: string): boolean {
  const row = db.get<{ bytes: Uint8Array; date_offset: number | null }>(
    'SELECT c.bytes, m.date_offset FROM content c CROSS JOIN message m ON m.seq = c.message_seq WHERE c.message_seq = ?',
    messageSeq,
  );
  if (row === undefined) return false;
  if (row.date_offset === null) return true;
  const bytes = Buffer.from(row.bytes);
  bytes.write(date, row.date_offset, 'latin1');
  db.run('UPDATE content SET bytes = ? WHERE message_seq = ?', bytes, messageSeq);
  return true;
}

/** Throws if there is no such message: the caller has just read it, and messages are not deleted one by one. */
function domainOf(db: Connection, messageSeq: number): number {
  const row = db.get<{ domain_id: number }>('SELECT domain_id FROM message WHERE seq = ?', messageSeq);
  if (row === undefined) throw new Error(`There is no message ${messageSeq}`);
  return row.domain_id;
}
