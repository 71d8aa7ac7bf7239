/** What erasing a person (`../shared/operations/erasing.ts`) does in another way than PostgreSQL. */
import { suppressionKey } from '../../model/suppression.ts';
import { EVENTS_READ } from '../shared/erased.ts';
import { KEPT_TEXTS } from '../shared/rows/messages.ts';
import { read, write } from './engine/operation.ts';

const SCRUB_BYTES = 262_144;

/** Approximate rows of messages, recipients and events that one query or step reads. */
const ROWS_AT_ONCE = 2_000;

/** The size of a message: its recipients and events, counted up to a limit. */
const WEIGHT_SQL = `SELECT (SELECT count(*) FROM (SELECT 1 FROM delivery WHERE message_seq = ?1 LIMIT 1000))
    AS recipients, (SELECT count(*) FROM (SELECT 1 FROM event WHERE message_seq = ?1 LIMIT ${EVENTS_READ + 1})) AS events`;

/** Whether a message may mention an address; only reading it tells exactly. */
const MENTIONS_SQL = `SELECT
    instr(fold(m.lists ${KEPT_TEXTS.map(({ column }) => `|| coalesce(m.${column}, '')`).join(' ')}), ?1) > 0
    OR EXISTS (SELECT 1 FROM delivery d WHERE d.message_seq = m.seq
      AND instr(fold(d.address || ' ' || coalesce(d.last_reply, '') || coalesce(d.wait_reason, '')), ?1) > 0)
    OR EXISTS (SELECT 1 FROM event e WHERE e.message_seq = m.seq AND instr(fold(e.detail), ?1) > 0)
    OR EXISTS (SELECT 1 FROM message_notice w WHERE w.message_seq = m.seq
      AND instr(fold(w.sender || ' ' || coalesce(w.envid, '') || ' ' || coalesce(w.orcpts, '')), ?1) > 0) AS found
  FROM message m WHERE m.seq = ?2`;

export const findMentions = read('findMentions', 'measured', { search: true }, (db, params) => {
  const key = suppressionKey(params.address);
  const sql = 'SELECT seq FROM message WHERE seq > ? ORDER BY seq LIMIT ?';
  const rows = db.all<{ seq: number }>(sql, params.afterSeq, params.limit);
  const seqs: number[] = [];
  let read = 0;
  let last: number | undefined;
  for (const { seq } of rows) {
    if (read >= ROWS_AT_ONCE) break;
    const { recipients = 0, events = 0 } =
      db.get<{ recipients: number; events: number }>(WEIGHT_SQL, seq) ?? {};
    read += 1 + recipients + events;
    const found = events > EVENTS_READ || db.get<{ found: number }>(MENTIONS_SQL, key, seq)?.found === 1;
    if (found) seqs.push(seq);
    last = seq;
  }
  const waiting = seqs.flatMap((messageSeq) =>
    db
      .all<{ id: number }>(
        'SELECT id FROM delivery WHERE message_seq = ? AND state IN (0, 1) AND fold(address) = ?',
        messageSeq,
        key,
      )
      .map(({ id }) => ({ messageSeq, deliveryId: id })),
  );
  const isOver = rows.length < params.limit && last === rows.at(-1)?.seq;
  return {
    seqs,
    waiting,
    nextSeq: isOver ? null : (last ?? null),
    lastSeq: db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM message')?.seq ?? 0,
  };
});

/** Overwrites free pages with zeros; when there are none left, all of them are released. */
export const scrub = write('scrub', 'as asked', { portion: true }, ({ db }, params) => {
  for (let done = 0; done < params.bytes; done += SCRUB_BYTES) {
    const free = db.get<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0;
    if (free === 0) {
      db.run('DELETE FROM probe');
      return false;
    }
    db.run('INSERT INTO probe (filler) VALUES (zeroblob(?))', SCRUB_BYTES);
  }
  return true;
});
