/**
 * Changes requested after acceptance: canceling what still waits, sending it at another time, or trying failed
 * recipients again. Each recipient is changed by its own row, so a row that delivery claimed meanwhile, and has not
 * released for this, is left unchanged; the change and its events are one transaction. Rows of recipients are locked
 * before their message, as outcomes do.
 */

import { IS_DEFERRED, IS_HELD_REASON, IS_PATH_REASON, SCHEDULED } from '../../model/wait-reason.ts';
import { stateCode } from '../shared/codes.ts';
import { NOT_ERASED } from '../shared/erased.ts';
import type { NewEvent } from '../topics/events.ts';
import type { ChangedRecipient } from '../topics/queue.ts';
import { dropOrLeaveContent } from './contents.ts';
import { int8s } from './engine/arrays.ts';
import type { Db, Value } from './engine/db.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { appendAll, storedAmong } from './events.ts';

/** The epoch of no lease. */
const NO_EPOCH = -1;

export const cancelQueued = write('cancelQueued', { repeatable: true }, async (session, params) => {
  const { messageSeq, now } = params;
  const domainId = await domainOf(session.db, messageSeq);
  const changed = await changeWaiting(
    session,
    domainId,
    params,
    'state = $4, epoch = 0, wait_reason = NULL, updated_at = $5',
    [stateCode.of('canceled'), now],
  );
  if (changed.length > 0) await dropOrLeaveContent(session, messageSeq);
  const late = await session.db.get<{ n: number }>(
    'SELECT count(*) AS n FROM delivery WHERE message_seq = $1 AND state IN ($2, $3)',
    messageSeq,
    stateCode.of('sending'),
    stateCode.of('delivered'),
  );
  return { changed, tooLate: late?.n ?? 0 };
});

const REQUEUE = `UPDATE delivery d SET state = 0, epoch = 0, due_at = $1, expires_at = greatest(expires_at, $2), updated_at = $1,
    wait_reason = NULL, first_deferred_at = NULL, last_deferred_event_at = NULL, cause_id = NULL
  WHERE id = ANY ($3::int8[]) AND message_seq = $4 AND ${NOT_ERASED}
    AND (state IN (${stateCode.of('bounced')}, ${stateCode.of('failed')})
      OR state = 0 AND (attempts > 0 OR ${IS_DEFERRED} OR ${IS_PATH_REASON} OR ${IS_HELD_REASON}))
  RETURNING id`;

export const requeue = write('requeue', { repeatable: true }, async (session, params) => {
  const { db } = session;
  const { messageSeq, now, expiresAt } = params;
  const domainId = await domainOf(db, messageSeq);
  await lock(db, params.recipients);
  const told = await toldBefore(db, domainId, params.recipients);
  const recipients = params.recipients.filter(({ event }) => !told.has(event.id));
  if (!(await hasContent(db, messageSeq))) return { kind: 'content-gone' };
  const ids = int8s(recipients.map(({ deliveryId }) => deliveryId));
  const rows = await db.all<{ id: number }>(REQUEUE, now, expiresAt, ids, messageSeq);
  const changed = await appendChanged(session, { domainId, messageSeq }, recipients, rows);
  const count = changed.length + params.recipients.length - recipients.length;
  if (count > 0) {
    const sql = 'UPDATE message SET expires_at = greatest(expires_at, $1) WHERE seq = $2';
    await db.run(sql, expiresAt, messageSeq);
  }
  return { kind: 'requeued', count };
});

export const reschedule = write('reschedule', { repeatable: true }, async (session, params) => {
  const { db } = session;
  const { messageSeq, now, sendAt, expiresAt, recipients } = params;
  const domainId = await domainOf(db, messageSeq);
  await lock(db, recipients);
  const told = await toldBefore(db, domainId, recipients);
  // What an earlier call moved, whose answer was lost, may be on its way by now.
  if (told.size > 0 && recipients.every(({ event }) => told.has(event.id)))
    return { kind: 'rescheduled', changed: recipients.map(({ deliveryId }) => deliveryId) };
  const rows = await db.all<{ id: number; state: number; epoch: number; tried: boolean }>(
    `SELECT id, state, epoch, attempts > 0 OR first_deferred_at IS NOT NULL AS tried FROM delivery
     WHERE message_seq = $1 AND state NOT IN ($2, $3) ORDER BY id FOR UPDATE`,
    messageSeq,
    stateCode.of('canceled'),
    stateCode.of('suppressed'),
  );
  const scheduled = await db.get('SELECT FROM message WHERE seq = $1 AND send_at IS NOT NULL', messageSeq);
  const givenUp = new Map(params.recipients.map(({ deliveryId, epoch }) => [deliveryId, epoch]));
  const waits = rows.every(
    ({ id, state, epoch, tried }) => !tried && (state === 0 || (state === 1 && givenUp.get(id) === epoch)),
  );
  if (scheduled === undefined || rows.length === 0 || !waits) return { kind: 'not-scheduled' };
  if (!(await hasContent(db, messageSeq))) return { kind: 'content-gone' };
  // Our Date header is replaced by another of the same length.
  await db.run(
    `UPDATE content c SET bytes = overlay(c.bytes PLACING $2::bytea FROM m.date_offset + 1)
     FROM message m WHERE c.message_seq = $1 AND m.seq = $1 AND m.date_offset IS NOT NULL`,
    messageSeq,
    Buffer.from(params.date, 'latin1'),
  );
  const set = `state = 0, epoch = 0, due_at = $4, expires_at = $5, updated_at = $6, wait_reason = '${SCHEDULED}'`;
  const changed = await changeWaiting(session, domainId, params, set, [sendAt, expiresAt, now]);
  const sql = 'UPDATE message SET send_at = $1, expires_at = $2 WHERE seq = $3';
  await db.run(sql, sendAt, expiresAt, messageSeq);
  return { kind: 'rescheduled', changed };
});

/**
 * Changes those recipients that are queued or were released for this, each with its event; returns their ids, with those
 * of an earlier call whose answer was lost. `set` names `values` from $4 on.
 */
async function changeWaiting(
  session: Session,
  domainId: number,
  { messageSeq, recipients }: { messageSeq: number; recipients: readonly ChangedRecipient[] },
  set: string,
  values: readonly Value[],
): Promise<number[]> {
  const { db } = session;
  await lock(db, recipients);
  const told = await toldBefore(db, domainId, recipients);
  const untold = recipients.filter(({ event }) => !told.has(event.id));
  const rows = await db.all<{ id: number }>(
    `UPDATE delivery d SET ${set} FROM unnest($1::int8[], $2::int8[]) g (id, epoch)
     WHERE d.id = g.id AND d.message_seq = $3 AND (d.state = 0 OR d.state = 1 AND d.epoch = g.epoch) RETURNING d.id`,
    int8s(untold.map(({ deliveryId }) => deliveryId)),
    int8s(untold.map(({ epoch = NO_EPOCH }) => epoch)),
    messageSeq,
    ...values,
  );
  const changed = new Set(await appendChanged(session, { domainId, messageSeq }, untold, rows));
  return recipients.flatMap(({ deliveryId, event }) =>
    told.has(event.id) || changed.has(deliveryId) ? [deliveryId] : [],
  );
}

/** Appends the events of the recipients whose rows changed; returns their ids. */
async function appendChanged(
  session: Session,
  subject: { domainId: number; messageSeq: number },
  recipients: readonly { readonly deliveryId: number; readonly event: NewEvent }[],
  rows: readonly { id: number }[],
): Promise<number[]> {
  const ids = new Set(rows.map(({ id }) => id));
  const changed = recipients.filter(({ deliveryId }) => ids.has(deliveryId));
  await appendAll(
    session,
    changed.map(({ deliveryId, event }) => ({ event, subject: { ...subject, deliveryId } })),
  );
  return changed.map(({ deliveryId }) => deliveryId);
}

/** Before it is read what is stored: an earlier call whose answer was lost may still go on, and is waited for. */
async function lock(db: Db, recipients: readonly { readonly deliveryId: number }[]): Promise<void> {
  const ids = int8s(recipients.map(({ deliveryId }) => deliveryId));
  await db.run('SELECT FROM delivery WHERE id = ANY ($1::int8[]) ORDER BY id FOR UPDATE', ids);
}

/** Whether the content is stored; it then stays until the transaction ends. */
async function hasContent(db: Db, messageSeq: number): Promise<boolean> {
  await db.get('SELECT FROM message WHERE seq = $1 FOR NO KEY UPDATE', messageSeq);
  return (await db.get('SELECT FROM content WHERE message_seq = $1', messageSeq)) !== undefined;
}

/** Ids of events that are already stored, because the change is repeated after a lost answer. */
function toldBefore(db: Db, domainId: number, recipients: readonly { readonly event: NewEvent }[]) {
  return storedAmong(
    db,
    domainId,
    recipients.map(({ event }) => event),
  );
}

/** Throws if there is no such message: the caller has just read it, and messages are not deleted one by one. */
async function domainOf(db: Db, messageSeq: number): Promise<number> {
  const row = await db.get<{ domain_id: number }>('SELECT domain_id FROM message WHERE seq = $1', messageSeq);
  if (row === undefined) throw new Error(`There is no message ${messageSeq}`);
  return row.domain_id;
}
