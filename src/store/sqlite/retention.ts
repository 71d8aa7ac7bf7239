/**
 * Retention: what may be forgotten, found by readers, and the small steps that forget it. A content goes when every
 * recipient of its message is final and no capture of the sandbox shows it; a message goes with everything that hangs
 * on it. Searches walk an index from the oldest on and end at the first that is too young, so their cost follows what
 * they find, not what is kept.
 */
import type { ExpiredPage } from '../topics/retention.ts';
import { dropLater } from './call-portions.ts';
import type { Connection } from './connection.ts';
import { ERASED } from './erasing.ts';
import type { ParamsOf, ResultOf } from './operation-types.ts';
import { keepOptOuts } from './opt-outs.ts';
import { findNameId, type Session } from './session.ts';

/** Somebody's copy is not final, or its sender is still to be told of it. */
const WAITS = `(EXISTS (SELECT 1 FROM delivery WHERE message_seq = m.seq AND state IN (0, 1))
  OR EXISTS (SELECT 1 FROM notice_due WHERE message_seq = m.seq))`;
const SHOWN = 'EXISTS (SELECT 1 FROM capture WHERE message_seq = m.seq)';

/** Contents that one domain keeps, oldest first. Tests hold the plans of these to their indexes. */
export const KEPT_CONTENTS_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} OR ${SHOWN} AS stays
  FROM kept_content k CROSS JOIN message m ON m.seq = k.message_seq
  WHERE k.domain_id = ? AND k.message_seq > ? ORDER BY k.message_seq LIMIT ?`;

/** Messages of one domain, oldest first. */
export const OLD_MESSAGES_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} AS stays
  FROM message m INDEXED BY message_domain WHERE m.domain_id = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`;

/** Contents of all domains, oldest first. */
export const OLDEST_CONTENTS_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} OR ${SHOWN} AS stays
  FROM content c CROSS JOIN message m ON m.seq = c.message_seq WHERE c.message_seq > ? ORDER BY c.message_seq LIMIT ?`;

/** Calls behind an id, oldest first. `stays`: somebody still waits for it. */
export const OLD_CALLS_SQL = `SELECT c.id, c.created_at, c.updated_at,
    c.state IN (0, 1) AND EXISTS (SELECT 1 FROM webhook w WHERE w.id = c.webhook_id AND w.enabled = 1) AS stays
  FROM webhook_call c WHERE c.id > ? ORDER BY c.id LIMIT ?`;

interface Candidate {
  seq: number;
  created_at: number;
  size: number;
  stays: number;
}

/** Sender domains that have messages: one step of the index each. */
export function domainsWithMail(db: Connection): string[] {
  const next = 'SELECT min(domain_id) FROM message INDEXED BY message_domain';
  return db
    .all<{ text: string }>(
      `WITH RECURSIVE step (id) AS (
         ${next} UNION ALL SELECT (${next} WHERE domain_id > step.id) FROM step WHERE step.id IS NOT NULL
       ) SELECT n.text FROM step CROSS JOIN name n ON n.id = step.id`,
    )
    .map((row) => row.text);
}

/** One page of what may go; see `Store.findExpired`. */
export function findExpired(db: Connection, params: ParamsOf<'findExpired'>): ExpiredPage {
  const domainId = findNameId(db, params.domain);
  if (domainId === null) return { seqs: [], nextSeq: null };
  const sql = params.what === 'contents' ? KEPT_CONTENTS_SQL : OLD_MESSAGES_SQL;
  const rows = db.all<Candidate>(sql, domainId, params.afterSeq, params.limit);
  const old = rows.findIndex((row) => row.created_at >= params.before);
  const looked = old < 0 ? rows : rows.slice(0, old);
  const last = rows.at(-1);
  return {
    seqs: looked.filter((row) => row.stays === 0).map((row) => row.seq),
    nextSeq: old < 0 && rows.length === params.limit && last !== undefined ? last.seq : null,
  };
}

/** Octets of all contents that are kept: a walk over the narrow table of them. */
export function contentBytes(db: Connection): number {
  return db.get<{ bytes: number }>('SELECT coalesce(sum(size), 0) AS bytes FROM kept_content')?.bytes ?? 0;
}

/** See `Store.storedBytes`. */
export function storedBytes(db: Connection, params: ParamsOf<'storedBytes'>): ResultOf<'storedBytes'> {
  return params.domains.map((domain) => {
    const id = findNameId(db, domain);
    const row =
      id === null
        ? undefined
        : db.get<{ bytes: number }>('SELECT bytes FROM stored_bytes WHERE domain_id = ?', id);
    return { domain, bytes: row?.bytes ?? 0 };
  });
}

/** The oldest contents that may go; see `Store.findOldestContents`. */
export function findOldestContents(
  db: Connection,
  params: ParamsOf<'findOldestContents'>,
): ResultOf<'findOldestContents'> {
  const rows = db.all<Candidate>(OLDEST_CONTENTS_SQL, params.afterSeq, params.limit);
  const seqs: number[] = [];
  let bytes = 0;
  for (const row of rows) {
    if (bytes >= params.atLeastBytes) return { seqs, bytes, nextSeq: seqs.at(-1) ?? params.afterSeq };
    if (row.stays !== 0) continue;
    seqs.push(row.seq);
    bytes += row.size;
  }
  const last = rows.at(-1);
  return { seqs, bytes, nextSeq: rows.length === params.limit && last !== undefined ? last.seq : null };
}

/** Removes contents that may go; how many. */
export function purgeContents({ db }: Session, params: ParamsOf<'purgeContents'>): number {
  let removed = 0;
  for (const seq of params.seqs) if (dropContent(db, seq)) removed += 1;
  return removed;
}

/**
 * Removes the content of a message where all its recipients are final and no capture shows it. To be called after
 * whatever may have been the last reason to keep it, for messages that ask for that (`keep_content` 0).
 */
export function dropUnkeptContent(db: Connection, messageSeq: number): void {
  const row = db.get<{ keep_content: number }>('SELECT keep_content FROM message WHERE seq = ?', messageSeq);
  if (row?.keep_content === 0) dropContent(db, messageSeq);
}

/** Removes whole messages until enough rows are gone; see `Store.purgeMessages`. */
export function purgeMessages({ db }: Session, params: ParamsOf<'purgeMessages'>): ResultOf<'purgeMessages'> {
  let rows = 0;
  let done = 0;
  let messages = 0;
  for (const seq of params.seqs) {
    if (rows >= params.maxRows) break;
    done += 1;
    if (mayForget(db, seq)) {
      rows += dropMessage(db, seq);
      messages += 1;
    }
  }
  return { done, messages };
}

/** Removes old captures, and contents that were kept for them alone. */
export function purgeCaptures({ db }: Session, params: ParamsOf<'purgeCaptures'>): number {
  const oldest = db.all<{ seq: number; at: number; message_seq: number }>(
    'SELECT seq, at, message_seq FROM capture ORDER BY seq LIMIT ?',
    params.limit,
  );
  const young = oldest.findIndex((row) => row.at >= params.before);
  const gone = young < 0 ? oldest : oldest.slice(0, young);
  for (const row of gone) db.run('DELETE FROM capture WHERE seq = ?', row.seq);
  for (const seq of new Set(gone.map((row) => row.message_seq))) dropUnkeptContent(db, seq);
  return gone.length;
}

/** Removes calls that are over; see `Store.purgeCalls`. */
export function purgeCalls({ db }: Session, params: ParamsOf<'purgeCalls'>): ResultOf<'purgeCalls'> {
  const rows = db.all<{ id: number; created_at: number; updated_at: number; stays: number }>(
    OLD_CALLS_SQL,
    params.afterId,
    params.limit,
  );
  let removed = 0;
  for (const row of rows) {
    if (row.created_at >= params.before) return { removed, nextId: null };
    if (row.updated_at >= params.before || row.stays !== 0) continue;
    removed += db.run('DELETE FROM webhook_call WHERE id = ?', row.id).changes;
  }
  return { removed, nextId: rows.length === params.limit ? (rows.at(-1)?.id ?? null) : null };
}

/** Removes events without a message that are old enough. */
export function purgeLooseEvents({ db }: Session, params: ParamsOf<'purgeLooseEvents'>): number {
  const rows = db.all<{ seq: number; domain_id: number }>(
    'SELECT seq, domain_id FROM event INDEXED BY event_loose WHERE message_seq IS NULL AND at < ? ORDER BY at LIMIT ?',
    params.before,
    params.limit,
  );
  for (const row of rows) {
    dropCalls(db, row.domain_id, row.seq);
    db.run('DELETE FROM event WHERE seq = ?', row.seq);
  }
  return rows.length;
}

/** Whether it was there and is gone. */
function dropContent(db: Connection, seq: number): boolean {
  const row = db.get<{ domain_id: number; stays: number }>(
    `SELECT domain_id, ${WAITS} OR ${SHOWN} AS stays FROM message m WHERE m.seq = ?`,
    seq,
  );
  if (row === undefined || row.stays !== 0) return false;
  db.run('DELETE FROM kept_content WHERE domain_id = ? AND message_seq = ?', row.domain_id, seq);
  return db.run('DELETE FROM content WHERE message_seq = ?', seq).changes > 0;
}

function mayForget(db: Connection, seq: number): boolean {
  const row = db.get<{ stays: number }>(
    `SELECT ${WAITS} OR EXISTS (
       SELECT 1 FROM event e CROSS JOIN webhook w ON w.domain_id = e.domain_id AND w.enabled = 1
         CROSS JOIN webhook_call c ON c.webhook_id = w.id AND c.event_seq = e.seq AND c.state IN (0, 1)
       WHERE e.message_seq = m.seq) OR EXISTS (
       SELECT 1 FROM event e CROSS JOIN later_call l ON l.domain_id = e.domain_id AND l.event_seq = e.seq
       WHERE e.message_seq = m.seq) AS stays FROM message m WHERE m.seq = ?`,
    seq,
  );
  return row?.stays === 0;
}

/** Removes a message and all that hangs on it but for the meaning of its unsubscribe links; how many rows that were. */
export function dropMessage(db: Connection, seq: number): number {
  const message = db.get<{ domain_id: number; personal: number; sandbox: number; created_at: number }>(
    'SELECT domain_id, personal, sandbox, created_at FROM message WHERE seq = ?',
    seq,
  );
  if (message === undefined) return 0;
  const { domain_id: domainId, personal, sandbox, created_at: createdAt } = message;
  const kept = keepOptOuts(db, { seq, domainId, personal, sandbox, createdAt }, ERASED);
  const events = db.all<{ seq: number }>('SELECT seq FROM event WHERE message_seq = ?', seq);
  let rows = kept;
  rows += db.run(
    'DELETE FROM return_fact WHERE delivery_id IN (SELECT id FROM delivery WHERE message_seq = ?)',
    seq,
  ).changes;
  for (const event of events) rows += dropCalls(db, message.domain_id, event.seq);
  for (const [table, column] of HANGING)
    rows += db.run(`DELETE FROM ${table} WHERE ${column} = ?`, seq).changes;
  db.run('DELETE FROM kept_content WHERE domain_id = ? AND message_seq = ?', message.domain_id, seq);
  return rows;
}

/** Everything that goes with a message, by its number, the message last. */
const HANGING = [
  ['event', 'message_seq'],
  ['capture', 'message_seq'],
  ['content', 'message_seq'],
  ['notice_due', 'message_seq'],
  ['message_notice', 'message_seq'],
  ['delivery', 'message_seq'],
  ['message', 'seq'],
] as const;

/** Calls of an event, found through the webhooks of its domain. */
export function dropCalls(db: Connection, domainId: number, eventSeq: number): number {
  const owed = dropLater(db, domainId, eventSeq);
  const made = db.run(
    `DELETE FROM webhook_call WHERE event_seq = ?
       AND webhook_id IN (SELECT id FROM webhook WHERE domain_id = ?)`,
    eventSeq,
    domainId,
  ).changes;
  return owed + made;
}
