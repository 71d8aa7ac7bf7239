/**
 * Cause groups. Settling an unsuccessful outcome puts its recipient under the named cause, which is created if it is
 * new; a delivery or a retry removes it. Counts use the partial index over members and stop at a limit.
 */

import { uuidText } from '../../lib/ids.ts';
import { stateCode } from '../shared/codes.ts';
import { MAX_CAUSES, MEMBER, MOST_COUNTED, RESENT_STATES } from '../shared/rows/causes.ts';
import type { CauseView, NewCause } from '../topics/causes.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

type CauseRow = Omit<CauseView, 'waiting' | 'failed' | 'example'>;

const COLUMNS = `c.id, c.category, c.scope, c.site, coalesce(n.text, '') AS senderDomain, c.shape, c.reply,
  c.first_seen AS firstSeen, c.last_seen AS lastSeen`;
const FROM = 'FROM cause c LEFT JOIN name n ON n.id = c.sender_domain';

/** Members in one state after an id. Tests check that its plan uses the index. */
export const MEMBERS_SQL = `SELECT d.id AS deliveryId, d.message_seq AS messageSeq, n.text AS domain, m.lane,
    d.sandbox IS NOT NULL AS sandbox, d.address, q.route_key AS routeKey
  FROM delivery d INDEXED BY delivery_cause CROSS JOIN message m ON m.seq = d.message_seq
    CROSS JOIN name n ON n.id = m.domain_id CROSS JOIN dest_queue q ON q.id = d.queue_id
  WHERE d.cause_id = ? AND d.state = ? AND d.id > ? ORDER BY d.id LIMIT ?`;

/** The id of a cause, created if new; null if there are too many. */
export function causeId(session: Session, cause: NewCause, now: number): number | null {
  const { db } = session;
  const sender = cause.senderDomain === '' ? 0 : session.nameId(cause.senderDomain);
  const known = db.get<{ id: number }>(
    `UPDATE cause SET last_seen = max(last_seen, ?) WHERE category = ? AND site = ? AND sender_domain = ? AND shape = ?
     RETURNING id`,
    now,
    cause.category,
    cause.site,
    sender,
    cause.shape,
  );
  if (known !== undefined) return known.id;
  if ((db.get<{ n: number }>('SELECT count(*) AS n FROM cause')?.n ?? 0) >= MAX_CAUSES) return null;
  return db.insert('cause', {
    category: cause.category,
    scope: cause.scope,
    site: cause.site,
    sender_domain: sender,
    shape: cause.shape,
    reply: cause.reply,
    first_seen: now,
    last_seen: now,
  }).lastId;
}

export const listCauses = read('listCauses', 'measured', { search: true }, (db, params) => {
  const rows = db.all<CauseRow>(
    `SELECT ${COLUMNS} ${FROM} WHERE EXISTS (SELECT 1 FROM delivery d INDEXED BY delivery_cause WHERE d.cause_id = c.id
         AND d.state IN (0, 1, ?, ?)) AND (c.last_seen, c.id) < (?, ?)
       ORDER BY c.last_seen DESC, c.id DESC LIMIT ?`,
    stateCode.of('bounced'),
    stateCode.of('failed'),
    params.before?.lastSeen ?? Number.MAX_SAFE_INTEGER,
    params.before?.id ?? Number.MAX_SAFE_INTEGER,
    params.limit,
  );
  const views: CauseView[] = [];
  let counted = 0;
  for (const row of rows) {
    if (counted >= MOST_COUNTED) break;
    const view = toView(db, row, params.countUpTo);
    counted += view.waiting + view.failed;
    views.push(view);
  }
  return views;
});

export const getCause = read('getCause', 'measured', (db, params) => {
  const row = db.get<CauseRow>(`SELECT ${COLUMNS} ${FROM} WHERE c.id = ?`, params.id);
  if (row === undefined) return null;
  const view = toView(db, row, params.countUpTo);
  return view.waiting + view.failed === 0 ? null : view;
});

export const causeMembers = read('causeMembers', 'measured', (db, params) => {
  // Each state is one range of the index in the order of ids; one statement over all of them would sort every member.
  const rows = RESENT_STATES.flatMap((state) =>
    db.all<{ deliveryId: number }>(MEMBERS_SQL, params.id, stateCode.of(state), params.afterId, params.limit),
  );
  return rows
    .sort((a, b) => a.deliveryId - b.deliveryId)
    .slice(0, params.limit)
    .map(MEMBER.value);
});

export const purgeCauses = write('purgeCauses', 'as asked', { portion: true }, ({ db }, params) => {
  return db.run(
    `DELETE FROM cause WHERE id IN (SELECT id FROM cause INDEXED BY cause_seen WHERE last_seen < ?
       AND NOT EXISTS (SELECT 1 FROM delivery WHERE cause_id = cause.id) ORDER BY last_seen LIMIT ?)`,
    params.before,
    params.limit,
  ).changes;
});

function toView(db: Connection, row: CauseRow, countUpTo: number): CauseView {
  const count = (states: string): number =>
    db.get<{ n: number }>(
      `SELECT count(*) AS n FROM (SELECT 1 FROM delivery INDEXED BY delivery_cause
         WHERE cause_id = ? AND state IN (${states}) LIMIT ?)`,
      row.id,
      countUpTo,
    )?.n ?? 0;
  const latest = db.get<{ id: Uint8Array; address: string }>(
    `SELECT m.id, d.address FROM delivery d CROSS JOIN message m ON m.seq = d.message_seq
     WHERE d.id = (SELECT max(id) FROM delivery INDEXED BY delivery_cause WHERE cause_id = ? AND state IN (0, 1, 3, 4))`,
    row.id,
  );
  return {
    ...row,
    waiting: count('0, 1'),
    failed: count('3, 4'),
    example: latest === undefined ? null : { messageId: uuidText(latest.id), recipient: latest.address },
  };
}
