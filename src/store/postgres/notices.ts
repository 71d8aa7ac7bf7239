/**
 * Notices to senders: a change of a recipient whose sender requested a notice inserts a row in `notice_due` in the same
 * transaction; the commit of a notice deletes its rows, so that each fact is reported once even after a crash. A
 * recipient without a request (`delivery.notify` null: all HTTP mail) costs nothing here.
 */

import { noticeKindCode } from '../shared/codes.ts';
import { DELAY_AFTER_MS, DELAY_TOLD, type Fact, HOUR_MS, HOURS_KEPT } from '../shared/rows/notices.ts';
import type { ToldNotice } from '../topics/acceptance.ts';
import { dropUnkeptContents } from './contents.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Session } from './engine/session.ts';

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
