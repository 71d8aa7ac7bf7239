/**
 * Notices to senders: a change of a recipient whose sender requested a notice inserts a row in `notice_due` in the same
 * transaction; the commit of a notice deletes its rows, so that each fact is reported once even after a crash. A
 * recipient without a request (`delivery.notify` null: all HTTP mail) costs nothing here.
 */

import { noticeKindCode } from '../shared/codes.ts';
import type { ParamsOf } from '../shared/operation.ts';
import {
  DELAY_AFTER_MS,
  DELAY_TOLD,
  type Fact,
  HOUR_MS,
  HOURS_KEPT,
  orcptsOf,
} from '../shared/rows/notices.ts';
import type { NewMessage } from '../topics/acceptance.ts';
import { dropUnkeptContent } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import type { Session } from './engine/session.ts';

/** Stores where the notices of a new message go. */
export function insertWish(db: Connection, seq: number, message: NewMessage): void {
  if (message.notice === undefined) return;
  const { sender, ret, envid } = message.notice;
  db.insert('message_notice', {
    message_seq: seq,
    sender,
    ret: ret === null ? null : ret === 'FULL' ? 1 : 0,
    envid,
    orcpts: orcptsOf(message),
  });
}

/** Stores a fact to report, if the sender requested its kind. */
export function noteFact(db: Connection, fact: Fact): void {
  if ((fact.notify & noticeKindCode.of(fact.kind)) === 0) return;
  if (fact.kind === 'delay') {
    if (!isLongDelay(db, fact)) return;
    db.run('UPDATE delivery SET notify = notify | ? WHERE id = ?', DELAY_TOLD, fact.deliveryId);
  }
  db.insert('notice_due', {
    message_seq: fact.messageSeq,
    delivery_id: fact.deliveryId,
    kind: noticeKindCode.of(fact.kind),
    event_seq: fact.eventSeq,
    at: fact.at,
    due_from: fact.at,
  });
}

/** Deletes the facts that a notice reports, in its commit; false if they were already reported. */
export function tellNotice({ db }: Session, told: NonNullable<ParamsOf<'commitAccepted'>['tells']>): boolean {
  const { messageSeq, upToId, sender, now } = told;
  const { changes } = db.run('DELETE FROM notice_due WHERE message_seq = ? AND id <= ?', messageSeq, upToId);
  if (changes === 0) return false;
  const hour = Math.floor(now / HOUR_MS);
  db.insert('notice_count', { sender, hour, count: 1 }, 'ON CONFLICT DO UPDATE SET count = count + 1');
  db.run('DELETE FROM notice_count WHERE hour < ?', hour - HOURS_KEPT);
  dropUnkeptContent(db, messageSeq);
  return true;
}

/** Four hours, or half of the maximum wait; reported once. */
function isLongDelay(db: Connection, { notify, deliveryId, at }: Fact): boolean {
  if ((notify & DELAY_TOLD) !== 0) return false;
  const row = db.get<{ since: number; expires_at: number }>(
    `SELECT coalesce(m.send_at, m.created_at) AS since, d.expires_at FROM delivery d CROSS JOIN message m
     ON m.seq = d.message_seq WHERE d.id = ?`,
    deliveryId,
  );
  if (row === undefined) return false;
  return at - row.since >= Math.min(DELAY_AFTER_MS, (row.expires_at - row.since) / 2);
}
