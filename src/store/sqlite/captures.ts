/**
 * The captured mail of the sandbox, one row per recipient's copy. A capture contains only the lines that delivery put
 * before the message; the content is the message's own. Newest first, paged by capture id.
 */

import type { SQLInputValue } from 'node:sqlite';
import { createKnownLists } from '../shared/known-lists.ts';
import type { ParamsOf } from '../shared/operation.ts';
import { STEP_BYTES } from '../shared/operations/removal.ts';
import {
  CAPTURE_VIEW,
  type CaptureRow,
  captureView,
  isNarrow,
  SENDER_NAME,
  searchedSubject,
} from '../shared/rows/captures.ts';
import type { CaptureFilter, CaptureView, NewCapture, UnreadCapture } from '../topics/captures.ts';
import { dropUnkeptContent } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { lastOfLook, mergedRows, type Ranges } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { domainIdsIn, findNameIds, type Session } from './engine/session.ts';

/** Stores a capture together with its outcome, and has it reported after the commit. */
export function insertCapture(
  session: Session,
  capture: NewCapture,
  subject: { domainId: number; messageSeq: number; deliveryId: number; envelopeTo: string },
): void {
  const { db } = session;
  const message = db.get<
    Pick<CaptureRow, 'message_id' | 'lists' | 'subject' | 'size' | 'tags' | 'domain'> & { sender: string }
  >(
    `SELECT m.id AS message_id, m.lists, m.subject, m.size, m.tags, n.text AS domain, ${SENDER_NAME} AS sender
     FROM message m CROSS JOIN name n ON n.id = m.domain_id WHERE m.seq = ?`,
    subject.messageSeq,
  );
  if (message === undefined) throw new Error('A capture of a message that does not exist');
  const row = {
    ...message,
    released_at: null,
    released_as: null,
    seen_at: null,
    id: capture.id,
    message_seq: subject.messageSeq,
    inbox: (capture.inbox ?? message.sender).toLowerCase(),
    at: capture.at,
    envelope_from: capture.envelopeFrom,
    envelope_to: subject.envelopeTo,
    prefix: capture.prefix,
    fill: capture.fill === undefined ? null : capture.fill.join(' '),
  };
  const seq = db.insert('capture', {
    id: row.id,
    domain_id: subject.domainId,
    message_seq: row.message_seq,
    delivery_id: subject.deliveryId,
    at: row.at,
    inbox: row.inbox,
    envelope_from: row.envelope_from,
    envelope_to: row.envelope_to,
    prefix: row.prefix,
    fill: row.fill,
    subject: searchedSubject(row.subject),
  }).lastId;
  db.run(
    `INSERT INTO capture_unread (message_seq, domain_id) SELECT ?1, ?2
     WHERE NOT EXISTS (SELECT 1 FROM capture_text WHERE message_seq = ?1) ON CONFLICT DO NOTHING`,
    row.message_seq,
    subject.domainId,
  );
  session.captured.push(captureView({ ...row, seq }));
}

const MESSAGE = 'CROSS JOIN message m ON m.seq = c.message_seq CROSS JOIN name n ON n.id = c.domain_id';

export const findCaptures = read('findCaptures', 'measured', { search: true }, (db, params) => {
  const before = params.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const keys = keysOf(db, params, before, 'DESC');
  const last = isNarrow(params) ? lastOfLook<Key>(db, keys, params.look)?.seq : undefined;
  const filter = createFilter();
  filter.when('c.seq >= ?', last);
  narrow(filter, params);
  // A message whose text was not indexed yet stays in the result, because it may match.
  filter.when("coalesce(instr(c.subject || ' ' || t.text, ?) > 0, 1)", params.text);
  filter.when('coalesce(t.has_files = ?, 1)', params.hasFiles === undefined ? undefined : +params.hasFiles);
  const inside = params.text !== undefined || params.hasFiles !== undefined;
  const matches = matching(db, params, before, 'DESC', filter, inside, params.limit);
  const { views, read } = viewsOf(db, matches);
  const isWhole = read.length === matches.length;
  return {
    captures: views,
    unread: inside ? read.filter((row) => row.unread === 1).map((row) => row.seq) : [],
    nextSeq: (isWhole && matches.length < params.limit ? last : read.at(-1)?.seq) ?? null,
  };
});

interface Key {
  seq: number;
  unread?: number;
}

const TO = 'lower(c.envelope_to) = lower(?)';

/**
 * The ranges that may contain matching captures, in capture order: one inbox, one recipient, a sender domain, or all.
 * The first two indexes contain all that most queries need; a row is read only if those columns match.
 */
function placesOf(db: Connection, params: CaptureFilter): { from: string; values: SQLInputValue[][] } {
  const domainIds = findNameIds(db, params.domains);
  const [index, within, value] =
    params.inbox !== undefined
      ? ['capture_inbox', ' AND c.inbox = ?', params.inbox]
      : params.to !== undefined
        ? ['capture_to', ` AND ${TO}`, params.to]
        : ['capture_domain', '', null];
  if (value === null && domainIds === undefined) {
    return { from: 'FROM capture c NOT INDEXED WHERE true', values: [[]] };
  }
  return {
    from: `FROM capture c INDEXED BY ${index} WHERE c.domain_id = ?${within}`,
    values: (domainIds ?? domainIdsIn(db, 'capture')).map((id) => (value === null ? [id] : [id, value])),
  };
}

/** Every capture of the ranges before (or after) a seq, by its seq. */
function keysOf(db: Connection, params: CaptureFilter, seq: number, order: 'ASC' | 'DESC'): Ranges {
  return rangesOf(placesOf(db, params), '', order, [seq], '');
}

function rangesOf(
  { from, values }: ReturnType<typeof placesOf>,
  column: string,
  order: 'ASC' | 'DESC',
  more: readonly SQLInputValue[],
  conditions: string,
  joins = '',
): Ranges {
  const behind = order === 'DESC' ? '<' : '>';
  return {
    sql: `SELECT c.seq AS seq${column} ${from.replace(' WHERE', ` ${joins} WHERE`)} AND c.seq ${behind} ?${conditions}`,
    values: values.map((range) => [...range, ...more]),
    order: `seq ${order}`,
  };
}

/** The matching captures of the ranges, by seq; `inside`: with a condition on indexed columns. */
function matching(
  db: Connection,
  params: CaptureFilter,
  seq: number,
  order: 'ASC' | 'DESC',
  filter: Filter,
  inside: boolean,
  limit: number,
): Key[] {
  const ofMessage = params.from !== undefined || params.tag !== undefined;
  const joins = [
    inside ? 'LEFT JOIN capture_text t ON t.message_seq = c.message_seq' : '',
    ofMessage ? 'CROSS JOIN message m ON m.seq = c.message_seq' : '',
  ].join(' ');
  const column = inside ? ', t.message_seq IS NULL AS unread' : '';
  const more = [seq, ...filter.values()];
  return mergedRows(db, rangesOf(placesOf(db, params), column, order, more, filter.and(), joins), limit);
}

/** As many of them as cross to the event loop at once. */
function viewsOf(db: Connection, keys: readonly Key[]): { views: CaptureView[]; read: readonly Key[] } {
  const known = createKnownLists();
  const views: CaptureView[] = [];
  for (const [i, { seq }] of keys.entries()) {
    const row = db.get<CaptureRow>(`SELECT ${CAPTURE_VIEW} FROM capture c ${MESSAGE} WHERE c.seq = ?`, seq);
    if (row !== undefined) views.push(captureView(row, known));
    if (known.isFull) return { views, read: keys.slice(0, i + 1) };
  }
  return { views, read: keys };
}

/** The conditions of a filter besides its range. */
function narrow(filter: Filter, params: CaptureFilter): void {
  if (params.inbox !== undefined) filter.when(TO, params.to);
  filter.when('c.at >= ?', params.since);
  filter.when('c.at < ?', params.until);
  filter.when('instr(c.subject, ?) > 0', params.subject);
  filter.when('lower(m.from_address) = lower(?)', params.from);
  filter.when('EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)', params.tag);
  filter.when('(c.seen_at IS NOT NULL) = ?', params.seen === undefined ? undefined : +params.seen);
}

export const capturesSince = read('capturesSince', 'measured', (db, params) => {
  const newest = db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM capture')?.seq ?? 0;
  const { afterSeq, limit, look } = params;
  const end = lastOfLook<Key>(db, keysOf(db, params, afterSeq, 'ASC'), look)?.seq;
  // Captures committed between the two statements belong to the next call.
  const upTo = end ?? newest;
  const filter = createFilter();
  filter.when('c.seq <= ?', upTo);
  narrow(filter, params);
  const matches = matching(db, params, afterSeq, 'ASC', filter, false, limit);
  const { views, read } = viewsOf(db, matches);
  const last = matches.length === limit || read.length < matches.length ? read.at(-1)?.seq : undefined;
  const lastSeq = last ?? Math.max(upTo, 0);
  return { captures: views, lastSeq, more: lastSeq < newest && (last ?? end) !== undefined };
});

/** One capture, or null if those domains have none with this id. */
export const getCapture = read('getCapture', 'by key', (db, params) => {
  const filter = createFilter();
  filter.when('c.id = ?', params.id);
  filter.oneOf('c.domain_id', findNameIds(db, params.domains));
  const row = db.get<CaptureRow>(
    `SELECT ${CAPTURE_VIEW} FROM capture c ${MESSAGE} ${filter.where()}`,
    ...filter.values(),
  );
  return row === undefined ? null : captureView(row);
});

export const releaseFacts = read('releaseFacts', 'by key', (db, params) => {
  const row = db.get<{
    keep_content: number;
    body_offset: number;
    needs_smtputf8: number;
    eight_bit: number;
    date_offset: number | null;
  }>(
    'SELECT keep_content, body_offset, needs_smtputf8, eight_bit, date_offset FROM message WHERE seq = ?',
    params.messageSeq,
  );
  if (row === undefined) return null;
  return {
    keepContent: row.keep_content === 1,
    bodyOffset: row.body_offset,
    needsSmtpUtf8: row.needs_smtputf8 === 1,
    eightBit: row.eight_bit === 1,
    dateOffset: row.date_offset,
  };
});

export const listInboxes = read('listInboxes', 'measured', (db, params) => {
  const domainIds = findNameIds(db, params.domains);
  const { inbox = '', domain = '' } = params.after ?? {};
  const behind = '(i.inbox > ? OR (i.inbox = ? AND n.text > ?))';
  const name = 'CROSS JOIN name n ON n.id = i.domain_id WHERE i.inbox >= ?';
  const columns =
    'SELECT i.inbox AS inbox, n.text AS domain, i.domain_id AS domainId, i.count AS count, i.unseen AS unseen';
  const after = [inbox, inbox, inbox, domain];
  const ranges: Ranges = {
    ...(domainIds === undefined
      ? { sql: `${columns} FROM inbox i ${name} AND ${behind}`, values: [after] }
      : {
          sql: `${columns} FROM inbox i INDEXED BY inbox_domain ${name} AND i.domain_id = ? AND ${behind}`,
          values: domainIds.map((id) => [inbox, id, ...after.slice(1)]),
        }),
    order: 'inbox, domain',
  };
  return mergedRows<InboxRow>(db, ranges, params.limit).flatMap((row) => {
    const latest = db.get<{ id: string; at: number; subject: string }>(
      `SELECT c.id, c.at, m.subject FROM capture c CROSS JOIN message m ON m.seq = c.message_seq
       WHERE c.seq = (SELECT max(seq) FROM capture INDEXED BY capture_inbox WHERE domain_id = ? AND inbox = ?)`,
      row.domainId,
      row.inbox,
    );
    const { domain, inbox, count, unseen } = row;
    return latest === undefined ? [] : [{ domain, inbox, count, unseen, latest }];
  });
});

interface InboxRow {
  inbox: string;
  domain: string;
  domainId: number;
  count: number;
  unseen: number;
}

export const markCaptures = write('markCaptures', 'measured', { portion: true }, ({ db }, params) => {
  const { seenAt, limit } = params;
  const found = chosen(db, params);
  let changed = 0;
  for (const { seq } of found) {
    const sql = 'UPDATE capture SET seen_at = ?1 WHERE seq = ?2 AND (seen_at IS NULL) <> (?1 IS NULL)';
    changed += Number(db.run(sql, seenAt, seq).changes);
  }
  const isWhole = found.length < limit;
  return { changed, next: isWhole ? null : (found.at(-1)?.seq ?? null) };
});

export const deleteCaptures = write('deleteCaptures', 'measured', { portion: true }, ({ db }, params) => {
  const { limit } = params;
  const gone = chosen(db, params);
  let deleted = 0;
  let bytes = 0;
  for (const { seq } of gone) {
    const sql = 'DELETE FROM capture WHERE seq = ? RETURNING message_seq';
    const row = db.get<{ message_seq: number }>(sql, seq);
    if (row !== undefined) bytes += dropUnkeptContent(db, row.message_seq);
    deleted += 1;
    if (bytes >= STEP_BYTES) break;
  }
  const isWhole = gone.length < limit && deleted === gone.length;
  return { deleted, next: isWhole ? null : (gone[deleted - 1]?.seq ?? null) };
});

/** The captures to delete or mark: given ids, or the next portion of an inbox, of domains or of all. */
function chosen(db: Connection, params: ParamsOf<'deleteCaptures'>): Key[] {
  const { ids, beforeSeq = Number.MAX_SAFE_INTEGER, limit } = params;
  if (ids === undefined) return mergedRows(db, keysOf(db, params, beforeSeq, 'DESC'), limit);
  const filter = createFilter();
  filter.oneOf('id', ids);
  filter.when('inbox = ?', params.inbox);
  filter.oneOf('domain_id', findNameIds(db, params.domains));
  filter.when('seq < ?', beforeSeq);
  return db.all<Key>(
    `SELECT seq FROM capture ${filter.where()} ORDER BY seq DESC LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
}

export const unreadCaptures = read('unreadCaptures', 'as asked', (db, params) => {
  const { afterDomain = -1, limit } = params;
  const found: UnreadCapture[] = [];
  const next = 'SELECT min(domain_id) AS id FROM capture_unread WHERE domain_id > ?';
  let domainId = db.get<{ id: number | null }>(next, afterDomain)?.id ?? null;
  for (let domains = 0; domains < limit && domainId !== null; domains += 1) {
    const sql = `SELECT domain_id AS domainId, message_seq AS messageSeq FROM capture_unread
      WHERE domain_id = ? ORDER BY message_seq DESC LIMIT ?`;
    found.push(...db.all<UnreadCapture>(sql, domainId, limit));
    domainId = db.get<{ id: number | null }>(next, domainId)?.id ?? null;
  }
  return found;
});

export const putCaptureTexts = write('putCaptureTexts', 'by key', { patient: 'texts' }, ({ db }, params) => {
  for (const { messageSeq, hasFiles, text } of params.texts) {
    db.run('DELETE FROM capture_unread WHERE message_seq = ?', messageSeq);
    db.run(
      `INSERT OR REPLACE INTO capture_text (message_seq, has_files, text)
       SELECT ?1, ?2, ?3 WHERE EXISTS (SELECT 1 FROM capture WHERE message_seq = ?1)`,
      messageSeq,
      hasFiles ? 1 : 0,
      text,
    );
  }
});
