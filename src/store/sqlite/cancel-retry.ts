/**
 * What a person or program asks for after acceptance: to stop what still waits of a message, or to try again what
 * ended badly. Each recipient is compared and set by its own row, so that a row which delivery claimed in between is
 * left alone; the change and its event are one transaction.
 */
import { stateCode } from './codes.ts';
import type { Connection } from './connection.ts';
import { appendEvent } from './events.ts';
import type { ParamsOf, ResultOf } from './operation-types.ts';
import type { Session } from './session.ts';

/** Cancels the queued ones of the given recipients; see `Store.cancelQueued`. */
export function cancelQueued(session: Session, params: ParamsOf<'cancelQueued'>): ResultOf<'cancelQueued'> {
  const { db } = session;
  const domainId = domainOf(db, params.messageSeq);
  let canceled = 0;
  for (const { deliveryId, event } of params.recipients) {
    const { changes } = db.run(
      `UPDATE delivery SET state = ?, epoch = 0, wait_reason = NULL, updated_at = ?
       WHERE id = ? AND message_seq = ? AND state = 0`,
      stateCode.of('canceled'),
      params.now,
      deliveryId,
      params.messageSeq,
    );
    if (changes === 0) continue;
    canceled += 1;
    appendEvent(session, event, { domainId, messageSeq: params.messageSeq, deliveryId });
  }
  const late = db.get<{ n: number }>(
    'SELECT count(*) AS n FROM delivery WHERE message_seq = ? AND state IN (?, ?)',
    params.messageSeq,
    stateCode.of('sending'),
    stateCode.of('delivered'),
  );
  return { canceled, tooLate: late?.n ?? 0 };
}

/** Queues failed, bounced and deferred ones of the given recipients again; see `Store.requeue`. */
export function requeue(session: Session, params: ParamsOf<'requeue'>): ResultOf<'requeue'> {
  const { db } = session;
  const domainId = domainOf(db, params.messageSeq);
  if (db.get('SELECT 1 FROM content WHERE message_seq = ?', params.messageSeq) === undefined) {
    return { kind: 'content-gone' };
  }
  let count = 0;
  for (const { deliveryId, event } of params.recipients) {
    const { changes } = db.run(
      `UPDATE delivery SET state = 0, epoch = 0, due_at = ?, expires_at = max(expires_at, ?), updated_at = ?,
         wait_reason = NULL, first_deferred_at = NULL, last_deferred_event_at = NULL
       WHERE id = ? AND message_seq = ? AND (state IN (?, ?)
         OR state = 0 AND (attempts > 0 OR wait_reason = 'deferred') AND coalesce(wait_reason, '') NOT LIKE 'held%')`,
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
}

/** Throws where there is no such message: whoever asks has just read it, and messages do not vanish alone. */
function domainOf(db: Connection, messageSeq: number): number {
  const row = db.get<{ domain_id: number }>('SELECT domain_id FROM message WHERE seq = ?', messageSeq);
  if (row === undefined) throw new Error(`There is no message ${messageSeq}`);
  return row.domain_id;
}
