/** Causes of failures: their members as rows, the id of one, and how many are kept and counted. */
import type { CauseMember, NewCause } from '../../topics/causes.ts';
import { laneCode, stateCode } from '../codes.ts';
import { count, type Db } from '../operation.ts';
import { record } from '../record.ts';
import type { Work } from '../work.ts';

/** Maximum of causes; above it no new one is created, and its recipients stay without a group. */
const MAX_CAUSES = 5_000;

/** A cause that occurs constantly is not updated every time. */
const SEEN_WITHIN_MS = 60_000;

/** Approximate number of recipients that one read counts. */
export const MOST_COUNTED = 20_000;

/** Recipients in these states may be sent again together. */
const RESENT_STATES = ['queued', 'bounced', 'failed'] as const;

export const MEMBER = record<CauseMember>({
  deliveryId: 'plain',
  messageSeq: 'plain',
  domain: 'plain',
  lane: laneCode,
  sandbox: 'flag',
  address: 'plain',
  routeKey: 'plain',
});

/** Members of a cause (?1) after an id (?2), at most ?3: each state is one range of the index in the order of ids. */
export const MEMBERS_SQL = `SELECT d.id AS "deliveryId", d.message_seq AS "messageSeq", n.text AS domain, m.lane,
    d.sandbox IS NOT NULL AS sandbox, d.address, q.route_key AS "routeKey"
  FROM (${RESENT_STATES.map(
    (
      state,
    ) => `SELECT * FROM (SELECT id, message_seq, sandbox, address, queue_id FROM delivery {INDEXED BY delivery_cause|}
      WHERE cause_id = ?1 AND state = ${stateCode.of(state)} AND id > ?2 ORDER BY id LIMIT ?3) d`,
  ).join(' UNION ALL ')} ORDER BY id LIMIT ?3) d
    {CROSS|} JOIN message m ON m.seq = d.message_seq {CROSS|} JOIN name n ON n.id = m.domain_id
    {CROSS|} JOIN dest_queue q ON q.id = d.queue_id
  ORDER BY d.id`;

/** The id of a cause, created if new; null if there are too many. `sender`: the number of its sender domain, 0 = none. */
export function* causeIdOf(db: Db, sender: number, cause: NewCause, now: number): Work<number | null> {
  const { category, site, shape, scope, reply } = cause;
  const find = () =>
    db.get<{ id: number; last_seen: number }>(
      'SELECT id, last_seen FROM cause WHERE category = ? AND site = ? AND sender_domain = ? AND shape = ?',
      ...[category, site, sender, shape],
    );
  const known = yield* find();
  if (known !== undefined) {
    if (known.last_seen + SEEN_WITHIN_MS <= now) {
      yield* db.run('UPDATE cause SET last_seen = ?1 WHERE id = ?2 AND last_seen < ?1', now, known.id);
    }
    return known.id;
  }
  if ((yield* count(db, 'SELECT count(*) AS n FROM cause')) >= MAX_CAUSES) return null;
  const row = { category, site, sender_domain: sender, shape, scope, reply, first_seen: now, last_seen: now };
  yield* db.insert('cause', row, 'ON CONFLICT DO NOTHING');
  return (yield* find())?.id ?? null;
}
