/** Notices to senders that are due: what each reports, and putting it off. */
import type { DueNotice } from '../../topics/notices.ts';
import { count, type Db, read, write } from '../operation.ts';
import { DUE_FACTS_SQL, type FactRow, HOUR_MS, type NoticeRow, noticeView } from '../rows/notices.ts';
import type { Work } from '../work.ts';

/** Facts read for each message to be found. */
const LOOK_AHEAD = 20;

/** The newest fact of each recipient of a message, without delays that have ended. */
const NEWEST = `FROM notice_due n {CROSS|} JOIN delivery d ON d.id = n.delivery_id
  WHERE n.id IN (SELECT max(id) FROM notice_due WHERE message_seq = ?1 AND id <= ?2 GROUP BY delivery_id)
    AND (n.kind <> 4 OR d.state IN (0, 1))`;

export const putOffNotices = write(
  'putOffNotices',
  'by key',
  {},
  function* ({ db, dropUnkeptContent }, params) {
    const { messageSeq, upToId, dueFrom } = params;
    if (dueFrom !== null) {
      const sql = 'UPDATE notice_due SET due_from = ? WHERE message_seq = ? AND id <= ?';
      return yield* db.run(sql, dueFrom, messageSeq, upToId);
    }
    const sql = 'DELETE FROM notice_due WHERE message_seq = ? AND id <= ?';
    const removed = yield* db.run(sql, messageSeq, upToId);
    yield* dropUnkeptContent(messageSeq);
    return removed;
  },
);

export const dueNotices = read('dueNotices', 'as asked', {}, function* (db, params) {
  const { dueBefore, limit, maxRecipients, now } = params;
  const facts = yield* db.all<{ message_seq: number }>(DUE_FACTS_SQL, dueBefore, limit * LOOK_AHEAD);
  const seqs = [...new Set(facts.map((fact) => fact.message_seq))].slice(0, limit);
  const notices: DueNotice[] = [];
  for (const seq of seqs) {
    const notice = yield* noticeOf(db, seq, maxRecipients, Math.floor(now / HOUR_MS));
    if (notice !== null) notices.push(notice);
  }
  return notices;
});

/** null: its facts were reported meanwhile. */
function* noticeOf(db: Db, seq: number, maxRecipients: number, hour: number): Work<DueNotice | null> {
  const row = yield* db.get<NoticeRow>(
    `SELECT m.id AS message_id, m.subject, m.created_at, m.body_offset, m.sandbox, w.sender, w.ret, w.envid,
       w.orcpts, (SELECT max(id) FROM notice_due WHERE message_seq = m.seq) AS up_to,
       (SELECT min(at) FROM notice_due WHERE message_seq = m.seq) AS oldest_at,
       (SELECT count FROM notice_count WHERE sender = w.sender AND hour = ?) AS told
     FROM message m {CROSS|} JOIN message_notice w ON w.message_seq = m.seq
     WHERE m.seq = ? AND EXISTS (SELECT 1 FROM notice_due WHERE message_seq = m.seq)`,
    hour,
    seq,
  );
  if (row === undefined) return null;
  const rows = yield* db.all<FactRow>(
    `SELECT n.kind, n.at, d.address, d.state, d.route, d.expires_at, d.last_reply,
       (SELECT detail FROM event WHERE seq = n.event_seq) AS detail
     ${NEWEST} ORDER BY n.kind = 2 DESC, n.id LIMIT ?3`,
    ...[seq, row.up_to, maxRecipients],
  );
  const total = yield* count(db, `SELECT count(*) AS n ${NEWEST}`, seq, row.up_to);
  return noticeView(seq, row, rows, total);
}
