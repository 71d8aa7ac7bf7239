/**
 * Retention: finds expired data by reading, and deletes it in small steps. A content is deleted when every recipient of
 * its message is final and no capture of the sandbox shows it; a message is deleted with everything that belongs to it.
 * Searches follow an index from the oldest row and end at the first one that is too young, so their cost depends on
 * what they find, not on what is kept. Rows from a time when the clock was ahead do not end them.
 */
import { ERASED } from '../shared/erased.ts';
import { isYoung } from '../shared/young.ts';
import { dropLater } from './call-portions.ts';
import { dropContent, SHOWN, WAITS } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import { namesIn } from './engine/names-in.ts';
import { read, readInSteps, write } from './engine/operation.ts';
import { findNameId } from './engine/session.ts';
import { keepOptOuts } from './opt-outs.ts';
import { totalOf } from './totals.ts';

/** Contents of one domain, oldest first. Tests check that these plans use their indexes. */
export const KEPT_CONTENTS_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} OR ${SHOWN} AS stays
  FROM kept_content k CROSS JOIN message m ON m.seq = k.message_seq
  WHERE k.domain_id = ? AND k.message_seq > ? ORDER BY k.message_seq LIMIT ?`;

/** Messages of one domain, oldest first. */
export const OLD_MESSAGES_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} AS stays
  FROM message m INDEXED BY message_domain WHERE m.domain_id = ? AND m.seq > ? ORDER BY m.seq LIMIT ?`;

/** Contents of all domains, oldest first. */
export const OLDEST_CONTENTS_SQL = `SELECT m.seq, m.created_at, m.size, ${WAITS} OR ${SHOWN} AS stays
  FROM content c CROSS JOIN message m ON m.seq = c.message_seq WHERE c.message_seq > ? ORDER BY c.message_seq LIMIT ?`;

/** Calls after an id, oldest first. `stays`: the call is still needed. */
export const OLD_CALLS_SQL = `SELECT c.id, c.created_at, c.updated_at,
    c.state IN (0, 1) AND EXISTS (SELECT 1 FROM webhook w WHERE w.id = c.webhook_id AND w.enabled = 1) AS stays
  FROM webhook_call c WHERE c.id > ? ORDER BY c.id LIMIT ?`;

interface Candidate {
  seq: number;
  created_at: number;
  size: number;
  stays: number;
}

/** Sender domains with messages: one step of the index each. */
export const domainsWithMail = readInSteps('domainsWithMail', (db) => namesIn(db, 'message'));

export const findExpired = read('findExpired', 'measured', { search: true }, (db, params) => {
  const domainId = findNameId(db, params.domain);
  if (domainId === null) return { seqs: [], nextSeq: null };
  const sql = params.what === 'contents' ? KEPT_CONTENTS_SQL : OLD_MESSAGES_SQL;
  const rows = db.all<Candidate>(sql, domainId, params.afterSeq, params.limit);
  const old = rows.findIndex((row) => isYoung(row.created_at, params));
  const looked = old < 0 ? rows : rows.slice(0, old);
  const last = rows.at(-1);
  return {
    seqs: looked.filter((row) => row.stays === 0 && row.created_at < params.before).map((row) => row.seq),
    nextSeq: old < 0 && rows.length === params.limit && last !== undefined ? last.seq : null,
  };
});

/** Octets of all contents: a scan of their narrow table. */
export const contentBytes = read('contentBytes', 'measured', (db) => totalOf(db, 'contents'));

export const domainUse = read('domainUse', 'by key', { search: true }, (db, params) => {
  return params.domains.map((domain) => {
    const id = findNameId(db, domain);
    const row =
      id === null
        ? undefined
        : db.get<{ bytes: number | null; recipients: number | null }>(
            `SELECT (SELECT bytes FROM stored_bytes WHERE domain_id = ?1) AS bytes,
               (SELECT recipients FROM unfinished WHERE domain_id = ?1) AS recipients`,
            id,
          );
    return { domain, bytes: row?.bytes ?? 0, recipients: row?.recipients ?? 0 };
  });
});

export const findOldestContents = read('findOldestContents', 'measured', { search: true }, (db, params) => {
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
});

export const purgeContents = write('purgeContents', 'measured', { portion: true }, ({ db }, params) => {
  let removed = 0;
  let done = 0;
  let bytes = 0;
  for (const seq of params.seqs) {
    if (bytes >= params.maxBytes) break;
    done += 1;
    const size = dropContent(db, seq);
    if (size === null) continue;
    removed += 1;
    bytes += size;
  }
  return { done, removed };
});

/** Rows of the events of one message, with their calls, that one step reads. */
const EVENT_ROWS = 1000;

export const purgeMessages = write('purgeMessages', 'measured', { portion: true }, ({ db }, params) => {
  let rows = 0;
  let done = 0;
  let messages = 0;
  for (const seq of params.seqs) {
    if (rows >= params.maxRows) break;
    const first = firstEvents(db, seq);
    if (!mayForget(db, seq, first.seqs)) {
      done += 1;
    } else if (first.more) {
      // Very many events: first the oldest of them, and the message itself in a later step.
      rows += dropEvents(db, first);
      break;
    } else {
      rows += dropMessage(db, seq, first);
      done += 1;
      messages += 1;
    }
  }
  return { done, messages };
});

interface FirstEvents {
  domainId: number;
  seqs: readonly number[];
  more: boolean;
}

/** The oldest events of a message, as many as one step may read: a domain has at most some hundred webhooks. */
function firstEvents(db: Connection, seq: number): FirstEvents {
  const row = db.get<{ domain_id: number; hooks: number }>(
    `SELECT domain_id, (SELECT count(*) FROM webhook w WHERE w.domain_id = m.domain_id) AS hooks
     FROM message m WHERE seq = ?`,
    seq,
  );
  if (row === undefined) return { domainId: 0, seqs: [], more: false };
  const most = Math.max(8, Math.floor(EVENT_ROWS / (1 + row.hooks)));
  const sql = 'SELECT seq FROM event INDEXED BY event_message WHERE message_seq = ? ORDER BY seq LIMIT ?';
  const seqs = db.all<{ seq: number }>(sql, seq, most + 1).map((event) => event.seq);
  return { domainId: row.domain_id, seqs: seqs.slice(0, most), more: seqs.length > most };
}

export const purgeCalls = write('purgeCalls', 'measured', { portion: true }, ({ db }, params) => {
  const rows = db.all<{ id: number; created_at: number; updated_at: number; stays: number }>(
    OLD_CALLS_SQL,
    params.afterId,
    params.limit,
  );
  let removed = 0;
  for (const row of rows) {
    if (isYoung(row.created_at, params)) return { removed, nextId: null };
    if (row.created_at >= params.before) continue;
    if (row.updated_at >= params.before || row.stays !== 0) continue;
    removed += db.run('DELETE FROM webhook_call WHERE id = ?', row.id).changes;
  }
  return { removed, nextId: rows.length === params.limit ? (rows.at(-1)?.id ?? null) : null };
});

export const purgeLooseEvents = write('purgeLooseEvents', 'as asked', { portion: true }, ({ db }, params) => {
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
});

function mayForget(db: Connection, seq: number, events: readonly number[]): boolean {
  const row = db.get<{ stays: number }>(
    `SELECT ${WAITS} OR EXISTS (
       SELECT 1 FROM json_each(?1) given CROSS JOIN event e ON e.seq = given.value
         CROSS JOIN webhook w ON w.domain_id = e.domain_id AND w.enabled = 1
         CROSS JOIN webhook_call c ON c.webhook_id = w.id AND c.event_seq = e.seq AND c.state IN (0, 1)) OR EXISTS (
       SELECT 1 FROM json_each(?1) given CROSS JOIN later_call l
         ON l.domain_id = m.domain_id AND l.event_seq = given.value) AS stays FROM message m WHERE m.seq = ?2`,
    JSON.stringify(events),
    seq,
  );
  return row?.stays === 0;
}

function dropEvents(db: Connection, { domainId, seqs }: FirstEvents): number {
  let rows = 0;
  for (const seq of seqs) {
    rows += dropCalls(db, domainId, seq);
    rows += db.run('DELETE FROM event WHERE seq = ?', seq).changes;
  }
  return rows;
}

/**
 * Deletes a message and everything that belongs to it except the meaning of its unsubscribe links; returns how many
 * rows.
 */
function dropMessage(db: Connection, seq: number, events: FirstEvents): number {
  const message = db.get<{ domain_id: number; personal: number; sandbox: number; created_at: number }>(
    'SELECT domain_id, personal, sandbox, created_at FROM message WHERE seq = ?',
    seq,
  );
  if (message === undefined) return 0;
  const { domain_id: domainId, personal, sandbox, created_at: createdAt } = message;
  let rows = keepOptOuts(db, { seq, domainId, personal, sandbox, createdAt }, ERASED);
  rows += db.run(
    'DELETE FROM return_fact WHERE delivery_id IN (SELECT id FROM delivery WHERE message_seq = ?)',
    seq,
  ).changes;
  rows += dropEvents(db, events);
  for (const [table, column] of HANGING)
    rows += db.run(`DELETE FROM ${table} WHERE ${column} = ?`, seq).changes;
  db.run('DELETE FROM kept_content WHERE domain_id = ? AND message_seq = ?', message.domain_id, seq);
  return rows;
}

/** Everything else that is deleted with a message, by its number, the message last. */
const HANGING = [
  ['capture', 'message_seq'],
  ['content', 'message_seq'],
  ['notice_due', 'message_seq'],
  ['message_notice', 'message_seq'],
  ['delivery', 'message_seq'],
  ['message', 'seq'],
] as const;

/** Calls of an event, found through the webhooks of its domain. */
function dropCalls(db: Connection, domainId: number, eventSeq: number): number {
  const owed = dropLater(db, domainId, eventSeq);
  const made = db.run(
    `DELETE FROM webhook_call WHERE event_seq = ?
       AND webhook_id IN (SELECT id FROM webhook WHERE domain_id = ?)`,
    eventSeq,
    domainId,
  ).changes;
  return owed + made;
}
