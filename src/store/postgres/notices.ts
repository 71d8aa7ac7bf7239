/**
 * Notices to senders: a change of a recipient whose sender requested a notice inserts a row in `notice_due` in the same
 * transaction; the commit of a notice deletes its rows, so that each fact is reported once even after a crash. A
 * recipient without a request (`delivery.notify` null: all HTTP mail) costs nothing here.
 */
import type { NoticeKind } from '../../model/notice.ts';
import { noticeKindCode } from '../shared/codes.ts';
import type { NewMessage, ToldNotice } from '../topics/acceptance.ts';
import { dropUnkeptContents } from './contents.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Session } from './engine/session.ts';

/** In `delivery.notify`, in addition to the codes of the kinds: the delay was reported. */
const DELAY_TOLD = 8;
const DELAY_AFTER_MS = 4 * 3_600_000;
const HOUR_MS = 3_600_000;
const HOURS_KEPT = 2;

/** A fact about a recipient, as far as the store knows it when it happens. */
export interface Fact {
  messageSeq: number;
  deliveryId: number;
  /** Column `notify` of its row. */
  notify: number;
  kind: NoticeKind;
  /** Absent: the last event of the recipient. */
  eventSeq?: number | null;
  at: number;
}

/** Column `delivery.notify`. */
export function notifyBits(kinds: readonly NoticeKind[] | undefined): number | null {
  if (kinds === undefined || kinds.length === 0) return null;
  return kinds.reduce((bits, kind) => bits | noticeKindCode.of(kind), 0);
}

/** Column `message_notice.orcpts`. */
export function orcptsOf({ recipients }: NewMessage): string | null {
  const given = recipients.flatMap(({ address, orcpt }) =>
    orcpt === undefined ? [] : [[address, orcpt] as const],
  );
  return given.length === 0 ? null : JSON.stringify(Object.fromEntries(given));
}

/** Stores the facts to report whose kind the sender requested. */
export async function noteFacts({ db }: Session, facts: readonly Fact[]): Promise<void> {
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
