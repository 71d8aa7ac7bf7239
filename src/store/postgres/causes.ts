/**
 * Cause groups. Settling an unsuccessful outcome puts its recipient under the named cause, which is created if it is
 * new; a delivery or a retry removes it. Counts use the partial index over members and stop at a limit.
 */

import { stateCode } from '../shared/codes.ts';
import { MAX_CAUSES, MEMBER, MOST_COUNTED, RESENT_STATES } from '../shared/rows/causes.ts';
import type { CauseView, NewCause } from '../topics/causes.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** A cause that occurs constantly is not updated every time. */
const SEEN_WITHIN_MS = 60_000;

/** The id of a cause, created if new; null if there are too many. */
export async function causeId(session: Session, cause: NewCause, now: number): Promise<number | null> {
  const { db } = session;
  const sender = cause.senderDomain === '' ? 0 : await session.nameId(cause.senderDomain);
  const key = [cause.category, cause.site, sender, cause.shape] as const;
  const find = () =>
    db.get<{ id: number; last_seen: number }>(
      'SELECT id, last_seen FROM cause WHERE category = $1 AND site = $2 AND sender_domain = $3 AND shape = $4',
      ...key,
    );
  const known = await find();
  if (known !== undefined) {
    if (known.last_seen + SEEN_WITHIN_MS <= now) {
      await db.run('UPDATE cause SET last_seen = $1 WHERE id = $2 AND last_seen < $1', now, known.id);
    }
    return known.id;
  }
  const count = await db.get<{ n: number }>('SELECT count(*) AS n FROM cause');
  if ((count?.n ?? 0) >= MAX_CAUSES) return null;
  await db.run(
    `INSERT INTO cause (category, site, sender_domain, shape, scope, reply, first_seen, last_seen)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING`,
    ...key,
    cause.scope,
    cause.reply,
    now,
  );
  return (await find())?.id ?? null;
}

/** Of recipient `d`: it waits, or failed and can be sent again. */
const MEMBER_STATES = ['queued', 'sending', 'bounced', 'failed'] as const;
const IS_MEMBER = `d.state IN (${MEMBER_STATES.map(stateCode.of).join(', ')})`;

export const listCauses = read('listCauses', { lane: 'search' }, async (db, params) => {
  const { before, limit, countUpTo } = params;
  const rows = await db.all<{ id: number }>(
    `SELECT c.id FROM cause c WHERE (c.last_seen, c.id) < ($1::int8, $2::int8)
       AND EXISTS (SELECT FROM delivery d WHERE d.cause_id = c.id AND ${IS_MEMBER} OFFSET 0)
     ORDER BY c.last_seen DESC, c.id DESC LIMIT $3`,
    before?.lastSeen ?? Number.MAX_SAFE_INTEGER,
    before?.id ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  // If very many recipients are counted, the page ends early.
  const most = Math.max(1, Math.floor(MOST_COUNTED / Math.max(1, countUpTo)));
  return viewsOf(
    db,
    rows.slice(0, most).map(({ id }) => id),
    countUpTo,
  );
});

export const getCause = read('getCause', async (db, { id, countUpTo }) => {
  const [view] = await viewsOf(db, [id], countUpTo);
  return view === undefined || view.waiting + view.failed === 0 ? null : view;
});

/** Each state is one range of the index in the order of ids. */
const MEMBERS = `SELECT d.id AS "deliveryId", d.message_seq AS "messageSeq", n.text AS domain, m.lane,
    d.sandbox IS NOT NULL AS sandbox, d.address, q.route_key AS "routeKey"
  FROM (SELECT f.* FROM unnest($2::int2[]) s (state) CROSS JOIN LATERAL (
      SELECT * FROM delivery d WHERE d.cause_id = $1 AND d.state = s.state AND d.id > $3 ORDER BY d.id LIMIT $4) f
    ORDER BY f.id LIMIT $4) d
  JOIN message m ON m.seq = d.message_seq JOIN name n ON n.id = m.domain_id JOIN dest_queue q ON q.id = d.queue_id
  ORDER BY d.id`;

export const causeMembers = read('causeMembers', async (db, { id, afterId, limit }) => {
  return (await db.all(MEMBERS, id, int2s(RESENT_STATES.map(stateCode.of)), afterId, limit)).map(
    MEMBER.value,
  );
});

export const purgeCauses = write('purgeCauses', { whole: true }, async ({ db }, { before, limit }) => {
  return db.run(
    `DELETE FROM cause WHERE last_seen < $1 AND id IN (SELECT c.id FROM cause c WHERE c.last_seen < $1
       AND NOT EXISTS (SELECT FROM delivery d WHERE d.cause_id = c.id OFFSET 0) ORDER BY c.last_seen LIMIT $2)`,
    before,
    limit,
  );
});

interface CauseRow extends Omit<CauseView, 'example'> {
  messageId: string | null;
  recipient: string | null;
}

/** In the order of the ids, without those that are gone. */
async function viewsOf(db: Db, ids: readonly number[], countUpTo: number): Promise<CauseView[]> {
  const count = (states: string) =>
    `(SELECT count(*) FROM (SELECT FROM delivery d WHERE d.cause_id = c.id AND d.state IN (${states}) LIMIT $2) w)`;
  const rows = await db.all<CauseRow>(
    `SELECT c.id, c.category, c.scope, c.site, coalesce(n.text, '') AS "senderDomain", c.shape, c.reply,
       c.first_seen AS "firstSeen", c.last_seen AS "lastSeen", ${count('0, 1')} AS waiting, ${count('3, 4')} AS failed,
       m.id AS "messageId", d.address AS recipient
     FROM unnest($1::int8[]) WITH ORDINALITY g (id, place) JOIN cause c ON c.id = g.id
       LEFT JOIN name n ON n.id = c.sender_domain
       LEFT JOIN LATERAL (SELECT max(f.id) AS id FROM (VALUES (0), (1), (3), (4)) s (state) CROSS JOIN LATERAL (
         SELECT d.id FROM delivery d WHERE d.cause_id = c.id AND d.state = s.state ORDER BY d.id DESC LIMIT 1) f) latest ON true
       LEFT JOIN delivery d ON d.id = latest.id LEFT JOIN message m ON m.seq = d.message_seq
     ORDER BY g.place`,
    int8s(ids),
    countUpTo,
  );
  return rows.map(({ messageId, recipient, ...row }) => ({
    ...row,
    example: messageId === null || recipient === null ? null : { messageId, recipient },
  }));
}
