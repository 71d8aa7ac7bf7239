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
  type FactRow,
  HOUR_MS,
  HOURS_KEPT,
  type NoticeRow,
  noticeView,
  orcptsOf,
} from '../shared/rows/notices.ts';
import type { NewMessage } from '../topics/acceptance.ts';
import type { DueNotice } from '../topics/notices.ts';
import { dropUnkeptContent } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** Facts read for each message to be found. */
const LOOK_AHEAD = 20;

/** Due facts, longest due first. Tests check that its plan uses the index. */
export const DUE_FACTS_SQL = `SELECT message_seq FROM notice_due INDEXED BY notice_due_from
  WHERE due_from <= ? ORDER BY due_from LIMIT ?`;

/** The newest fact of each recipient of a message, without delays that have ended. */
const NEWEST = `FROM notice_due n CROSS JOIN delivery d ON d.id = n.delivery_id
  WHERE n.id IN (SELECT max(id) FROM notice_due WHERE message_seq = ? AND id <= ? GROUP BY delivery_id)
    AND (n.kind <> 4 OR d.state IN (0, 1))`;

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

export const putOffNotices = write('putOffNotices', 'by key', ({ db }, params) => {
  const { messageSeq, upToId, dueFrom } = params;
  if (dueFrom !== null) {
    const sql = 'UPDATE notice_due SET due_from = ? WHERE message_seq = ? AND id <= ?';
    return db.run(sql, dueFrom, messageSeq, upToId).changes;
  }
  const { changes } = db.run('DELETE FROM notice_due WHERE message_seq = ? AND id <= ?', messageSeq, upToId);
  dropUnkeptContent(db, messageSeq);
  return changes;
});

export const dueNotices = read('dueNotices', 'as asked', (db, params) => {
  const facts = db.all<{ message_seq: number }>(DUE_FACTS_SQL, params.dueBefore, params.limit * LOOK_AHEAD);
  const seqs = [...new Set(facts.map((fact) => fact.message_seq))].slice(0, params.limit);
  return seqs.flatMap((seq) => noticeOf(db, seq, params.maxRecipients, Math.floor(params.now / HOUR_MS)));
});

function noticeOf(db: Connection, seq: number, maxRecipients: number, hour: number): DueNotice[] {
  const row = db.get<NoticeRow>(
    `SELECT m.id AS message_id, m.subject, m.created_at, m.body_offset, m.sandbox, w.sender, w.ret, w.envid,
       w.orcpts, (SELECT max(id) FROM notice_due WHERE message_seq = m.seq) AS up_to,
       (SELECT min(at) FROM notice_due WHERE message_seq = m.seq) AS oldest_at,
       (SELECT count FROM notice_count WHERE sender = w.sender AND hour = ?) AS told
     FROM message m CROSS JOIN message_notice w ON w.message_seq = m.seq
     WHERE m.seq = ?`,
    hour,
    seq,
  );
  if (row === undefined) return [];
  const rows = db.all<FactRow>(
    `SELECT n.kind, n.at, d.address, d.state, d.route, d.expires_at, d.last_reply,
       (SELECT detail FROM event WHERE seq = n.event_seq) AS detail
     ${NEWEST} ORDER BY n.kind = 2 DESC, n.id LIMIT ?`,
    seq,
    row.up_to,
    maxRecipients,
  );
  const total = db.get<{ n: number }>(`SELECT count(*) AS n ${NEWEST}`, seq, row.up_to)?.n ?? 0;
  return [noticeView(seq, row, rows, total)];
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
