/** Cause groups: what is shown of them, their members, and removing those that nobody is in any more. */

import type { CauseView } from '../../topics/causes.ts';
import { stateCode } from '../codes.ts';
import { type Db, read, write } from '../operation.ts';
import { MEMBER, MEMBERS_SQL, MOST_COUNTED } from '../rows/causes.ts';
import { idOf, type StoredId } from '../stored.ts';
import type { Work } from '../work.ts';

/** Of a recipient: it waits, or failed and can be sent again. */
const MEMBER_STATES = (['queued', 'sending', 'bounced', 'failed'] as const).map(stateCode.of);

export const listCauses = read('listCauses', 'measured', { search: true }, function* (db, params) {
  const { before, limit, countUpTo } = params;
  const rows = yield* db.all<{ id: number }>(
    `SELECT c.id FROM cause c WHERE (c.last_seen, c.id) < ({?, ?|?::int8, ?::int8})
       AND EXISTS (SELECT 1 FROM delivery d {INDEXED BY delivery_cause|}
         WHERE d.cause_id = c.id AND d.state IN (${MEMBER_STATES.join(', ')}) {|OFFSET 0})
     ORDER BY c.last_seen DESC, c.id DESC LIMIT ?`,
    before?.lastSeen ?? Number.MAX_SAFE_INTEGER,
    before?.id ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  // If very many recipients are counted, the page ends early.
  const most = Math.max(1, Math.floor(MOST_COUNTED / Math.max(1, countUpTo)));
  return yield* viewsOf(
    db,
    rows.slice(0, most).map(({ id }) => id),
    countUpTo,
  );
});

export const getCause = read('getCause', 'measured', {}, function* (db, { id, countUpTo }) {
  const [view] = yield* viewsOf(db, [id], countUpTo);
  return view === undefined || view.waiting + view.failed === 0 ? null : view;
});

export const causeMembers = read('causeMembers', 'measured', {}, function* (db, { id, afterId, limit }) {
  return (yield* db.all(MEMBERS_SQL, id, afterId, limit)).map(MEMBER.value);
});

export const purgeCauses = write(
  'purgeCauses',
  'as asked',
  { portion: true, whole: true },
  ({ db }, params) =>
    db.run(
      `DELETE FROM cause WHERE {+|}last_seen < ?1 AND id IN (SELECT c.id FROM cause c {INDEXED BY cause_seen|}
       WHERE c.last_seen < ?1 AND NOT EXISTS (SELECT 1 FROM delivery d WHERE d.cause_id = c.id {|OFFSET 0})
       ORDER BY c.last_seen LIMIT ?2)`,
      params.before,
      params.limit,
    ),
);

interface CauseRow extends Omit<CauseView, 'example'> {
  messageId: StoredId | null;
  recipient: string | null;
}

const COUNT = (
  states: string,
) => `(SELECT count(*) FROM (SELECT 1 FROM delivery d {INDEXED BY delivery_cause|}
  WHERE d.cause_id = c.id AND d.state IN (${states}) LIMIT ?) w)`;
/** Each state is one range of the index, whose end is looked up. */
const LATEST = `{max|greatest}(${MEMBER_STATES.map(
  (state) => `coalesce((SELECT max(d.id) FROM delivery d {INDEXED BY delivery_cause|}
    WHERE d.cause_id = c.id AND d.state = ${state}), 0)`,
).join(', ')})`;

/** In the order of the ids, without those that are gone. */
function* viewsOf(db: Db, ids: readonly number[], countUpTo: number): Work<CauseView[]> {
  const given = db.rows('g', { id: { int8: ids } });
  const rows = yield* db.all<CauseRow>(
    `SELECT f.id, f.category, f.scope, f.site, coalesce(n.text, '') AS "senderDomain", f.shape, f.reply,
       f.first_seen AS "firstSeen", f.last_seen AS "lastSeen", f.waiting, f.failed, m.id AS "messageId",
       d.address AS recipient
     FROM (SELECT g.place, c.*, ${COUNT('0, 1')} AS waiting, ${COUNT('3, 4')} AS failed, ${LATEST} AS latest
         FROM ${given.from} {CROSS|} JOIN cause c ON c.id = g.id {|OFFSET 0}) f
       LEFT JOIN name n ON n.id = f.sender_domain LEFT JOIN delivery d ON d.id = f.latest
       LEFT JOIN message m ON m.seq = d.message_seq
     ORDER BY f.place`,
    countUpTo,
    countUpTo,
    ...given.values,
  );
  return rows.map(({ messageId, recipient, ...row }) => ({
    ...row,
    example: messageId === null || recipient === null ? null : { messageId: idOf(messageId), recipient },
  }));
}
