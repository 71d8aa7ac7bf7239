/**
 * Notices to senders: a change of a recipient whose sender requested a notice inserts a row in `notice_due` in the same
 * transaction; the commit of a notice deletes its rows, so that each fact is reported once even after a crash. A
 * recipient without a request (`delivery.notify` null: all HTTP mail) costs nothing here.
 */

import { noticeKindCode } from '../shared/codes.ts';
import {
  DELAY_AFTER_MS,
  DELAY_TOLD,
  type Fact,
  type FactRow,
  HOUR_MS,
  HOURS_KEPT,
  type NoticeRow,
  noticeView,
} from '../shared/rows/notices.ts';
import type { ToldNotice } from '../topics/acceptance.ts';
import type { DueNotice } from '../topics/notices.ts';
import { dropUnkeptContents } from './contents.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** Facts read for each message to be found. */
const LOOK_AHEAD = 20;

/** The newest fact of each recipient of a message, without delays that have ended. */
const NEWEST = `FROM notice_due n JOIN delivery d ON d.id = n.delivery_id
  WHERE n.id IN (SELECT max(id) FROM notice_due WHERE message_seq = $1 AND id <= $2 GROUP BY delivery_id)
    AND (n.kind <> 4 OR d.state IN (0, 1))`;

/** Stores the facts to report whose kind the sender requested. Without an event it is the last one of the recipient. */
export async function noteFacts(
  { db }: Session,
  facts: readonly (Omit<Fact, 'eventSeq'> & Partial<Fact>)[],
): Promise<void> {
  const wanted = facts.filter(({ notify, kind }) => (notify & noticeKindCode.of(kind)) !== 0);
  if (wanted.length === 0) return;
  const delays = wanted.filter(({ kind, notify }) => kind === 'delay' && (notify & DELAY_TOLD) === 0);
  const told = await db.all<{ id: number }>(
    `UPDATE delivery d SET notify = d.notify | ${DELAY_TOLD}
     FROM unnest($1::int8[], $2::int8[]) g (id, at), message m
     WHERE d.id = g.id AND m.seq = d.message_seq AND g.at - coalesce(m.send_at, m.created_at)
       >= least(${DELAY_AFTER_MS}, (d.expires_at - coalesce(m.send_at, m.created_at)) / 2)
     RETURNING d.id`,
    int8s(delays.map(({ deliveryId }) => deliveryId)),
    int8s(delays.map(({ at }) => at)),
  );
  const long = new Set(told.map(({ id }) => id));
  const noted = wanted.filter(({ kind, deliveryId }) => kind !== 'delay' || long.has(deliveryId));
  await db.run(
    `INSERT INTO notice_due (message_seq, delivery_id, kind, event_seq, at, due_from)
     SELECT g.message_seq, g.delivery_id, g.kind, coalesce(g.event_seq, (SELECT max(e.seq) FROM event e
       WHERE e.message_seq = g.message_seq AND e.delivery_id = g.delivery_id)), g.at, g.at
     FROM unnest($1::int8[], $2::int8[], $3::int2[], $4::int8[], $5::int8[])
       g (message_seq, delivery_id, kind, event_seq, at)`,
    int8s(noted.map(({ messageSeq }) => messageSeq)),
    int8s(noted.map(({ deliveryId }) => deliveryId)),
    int2s(noted.map(({ kind }) => noticeKindCode.of(kind))),
    int8s(noted.map(({ eventSeq }) => eventSeq ?? null)),
    int8s(noted.map(({ at }) => at)),
  );
}

/** Deletes the facts that a notice reports, in its commit; false if they were already reported. */
export async function tellNotice(session: Session, told: ToldNotice): Promise<boolean> {
  const { db } = session;
  const { messageSeq, upToId, sender, now } = told;
  const sql = 'DELETE FROM notice_due WHERE message_seq = $1 AND id <= $2';
  if ((await db.run(sql, messageSeq, upToId)) === 0) return false;
  const hour = Math.floor(now / HOUR_MS);
  await db.insert(
    'notice_count',
    { sender, hour, count: 1 },
    'ON CONFLICT (sender, hour) DO UPDATE SET count = notice_count.count + 1',
  );
  await db.run('DELETE FROM notice_count WHERE hour < $1', hour - HOURS_KEPT);
  await dropUnkeptContents(db, [messageSeq]);
  return true;
}

export const putOffNotices = write('putOffNotices', async ({ db }, { messageSeq, upToId, dueFrom }) => {
  if (dueFrom !== null) {
    const sql = 'UPDATE notice_due SET due_from = $1 WHERE message_seq = $2 AND id <= $3';
    return db.run(sql, dueFrom, messageSeq, upToId);
  }
  const sql = 'DELETE FROM notice_due WHERE message_seq = $1 AND id <= $2';
  const removed = await db.run(sql, messageSeq, upToId);
  await dropUnkeptContents(db, [messageSeq]);
  return removed;
});

export const dueNotices = read('dueNotices', async (db, { dueBefore, limit, maxRecipients, now }) => {
  const facts = await db.all<{ message_seq: number }>(
    'SELECT message_seq FROM notice_due WHERE due_from <= $1 ORDER BY due_from LIMIT $2',
    dueBefore,
    limit * LOOK_AHEAD,
  );
  const seqs = [...new Set(facts.map((fact) => fact.message_seq))].slice(0, limit);
  const hour = Math.floor(now / HOUR_MS);
  return (await Promise.all(seqs.map((seq) => noticeOf(db, seq, maxRecipients, hour)))).flat();
});

async function noticeOf(db: Db, seq: number, maxRecipients: number, hour: number): Promise<DueNotice[]> {
  const row = await db.get<NoticeRow>(
    `SELECT m.id AS message_id, m.subject, m.created_at, m.body_offset, m.sandbox, w.sender, w.ret, w.envid,
       w.orcpts, f.up_to, f.oldest_at,
       (SELECT count FROM notice_count WHERE sender = w.sender AND hour = $1) AS told
     FROM message m JOIN message_notice w ON w.message_seq = m.seq
       JOIN LATERAL (SELECT max(id) AS up_to, min(at) AS oldest_at FROM notice_due WHERE message_seq = m.seq) f
         ON f.up_to IS NOT NULL
     WHERE m.seq = $2`,
    hour,
    seq,
  );
  if (row === undefined) return [];
  const rows = await db.all<FactRow>(
    `SELECT n.kind, n.at, d.address, d.state, d.route, d.expires_at, d.last_reply,
       (SELECT detail FROM event WHERE seq = n.event_seq) AS detail
     ${NEWEST} ORDER BY n.kind = 2 DESC, n.id LIMIT $3`,
    ...[seq, row.up_to, maxRecipients],
  );
  const total = (await db.get<{ n: number }>(`SELECT count(*) AS n ${NEWEST}`, seq, row.up_to))?.n ?? 0;
  return [noticeView(seq, row, rows, total)];
}
