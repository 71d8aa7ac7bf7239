/**
 * The captured mail of the sandbox, one row per recipient's copy. A capture contains only the lines that delivery put
 * before the message; the content is the message's own. Newest first, paged by capture id.
 */
import type { CaptureFilter, CaptureView, ReleaseFacts } from '../../topics/captures.ts';
import type { Filter } from '../filter.ts';
import { createKnownLists } from '../known-lists.ts';
import { anyOf, type Db, type ParamsOf, type Ranges, read, write } from '../operation.ts';
import { type ColumnValue, record } from '../record.ts';
import { CAPTURE_VIEW, type CaptureRow, captureView, isNarrow } from '../rows/captures.ts';
import { isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';
import { STEP_BYTES } from './removal.ts';

const JOINS = `{CROSS|} JOIN message m ON m.seq = c.message_seq {CROSS|} JOIN name n ON n.id = c.domain_id`;

export const findCaptures = read('findCaptures', 'measured', { search: true }, function* (db, params) {
  const below = params.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const range = { from: yield* placesOf(db, params), above: 0, below, order: 'DESC' } as const;
  const last = isNarrow(params) ? yield* lastOfLook(db, range, params.look) : undefined;
  const filter = narrowing(db, params);
  // A message whose text was not indexed yet stays in the result, because it may match.
  filter.when("coalesce({instr|strpos}(c.subject || ' ' || t.text, ?) > 0, {1|true})", params.text);
  filter.when('coalesce({t.has_files|t.has_files::int} = ?, {1|true})', flagOf(params.hasFiles));
  const inside = params.text !== undefined || params.hasFiles !== undefined;
  const looked = { ...range, above: (last ?? 1) - 1 };
  const ranges = rangesOf(db, looked, { filter, inside, ofMessage: ofMessage(params) });
  const matches = yield* db.merged<Key>(ranges, params.limit);
  const { views, read } = yield* viewsOf(db, matches);
  const isWhole = read.length === matches.length;
  return {
    captures: views,
    unread: inside ? read.filter(({ unread = false }) => isTrue(unread)).map(({ seq }) => seq) : [],
    nextSeq: (isWhole && matches.length < params.limit ? last : read.at(-1)?.seq) ?? null,
  };
});

export const capturesSince = read('capturesSince', 'measured', { search: true }, function* (db, params) {
  const { afterSeq, limit, look } = params;
  const sql = 'SELECT seq FROM capture WHERE seq <= ? ORDER BY seq DESC LIMIT 1';
  // Captures that are committed meanwhile belong to the next call.
  const newest = (yield* db.get<Key>(sql, yield* db.safeCaptureSeq()))?.seq ?? 0;
  const from = yield* placesOf(db, params);
  const range = { from, above: afterSeq, below: newest + 1, order: 'ASC' } as const;
  const end = yield* lastOfLook(db, range, look);
  const upTo = end ?? newest;
  const conditions = { filter: narrowing(db, params), inside: false, ofMessage: ofMessage(params) };
  const matches = yield* db.merged<Key>(rangesOf(db, { ...range, below: upTo + 1 }, conditions), limit);
  const { views, read } = yield* viewsOf(db, matches);
  const last = matches.length === limit || read.length < matches.length ? read.at(-1)?.seq : undefined;
  const lastSeq = last ?? upTo;
  return { captures: views, lastSeq, more: lastSeq < newest && (last ?? end) !== undefined };
});

interface Key {
  seq: number;
  unread?: StoredFlag;
}

/** The ranges that may contain matching captures: one inbox, one recipient, a sender domain, or all. */
interface Places {
  ids: readonly number[] | undefined;
  index: string;
  fixed: readonly { column: string; value: string; bound: string }[];
}

/** In their index, between two numbers. */
interface Range {
  from: Places;
  above: number;
  below: number;
  order: 'ASC' | 'DESC';
}

const TO = { column: 'lower(c.envelope_to)', value: 'lower(?{|::text COLLATE "C"})' };

function* placesOf(db: Db, { domains, inbox, to }: CaptureFilter): Work<Places> {
  const ids = yield* db.nameIds(domains);
  if (inbox === undefined && to === undefined)
    return { ids, index: ids === undefined ? 'NOT INDEXED' : 'INDEXED BY capture_domain', fixed: [] };
  const fixed =
    inbox !== undefined ? { column: 'c.inbox', value: '?', bound: inbox } : { ...TO, bound: to ?? '' };
  const index = `INDEXED BY ${inbox !== undefined ? 'capture_inbox' : 'capture_to'}`;
  return { ids: ids ?? (yield* db.domainIdsIn('capture')), index, fixed: [fixed] };
}

interface Conditions {
  filter: Filter<ColumnValue>;
  /** There are some on the text of the message. */
  inside: boolean;
  /** Or on the message. */
  ofMessage: boolean;
}

/** The matching captures of the ranges, by seq; without conditions all. */
function rangesOf(
  db: Db,
  { from: { ids, index, fixed }, above, below, order }: Range,
  { filter, inside, ofMessage }: Conditions = { filter: db.filter(), inside: false, ofMessage: false },
): Ranges {
  // Looked up one by one: a plan of PostgreSQL that joins may read all messages or texts.
  const text = inside
    ? `LEFT JOIN {capture_text t ON t.message_seq = c.message_seq|
        LATERAL (SELECT * FROM capture_text WHERE message_seq = c.message_seq OFFSET 0) t ON true}`
    : '';
  const message = ofMessage
    ? 'CROSS JOIN {message m ON m.seq = c.message_seq|LATERAL (SELECT * FROM message WHERE seq = c.message_seq OFFSET 0) m}'
    : '';
  return {
    select: `SELECT c.seq AS seq${inside ? ', t.message_seq IS NULL AS unread' : ''} FROM capture c {${index}|} ${text} ${message}`,
    ...{ column: 'c.domain_id', places: ids, filter, order: `seq ${order}` },
    along: { fixed, number: 'c.seq', above, below },
  };
}

/** The seq of the last of the `look` captures that are examined, undefined if there are fewer. */
function* lastOfLook(db: Db, range: Range, look: number): Work<number | undefined> {
  return (yield* db.merged<Key>(rangesOf(db, range), 1, look - 1))[0]?.seq;
}

/** The conditions of a filter besides its range. */
function narrowing(db: Db, params: CaptureFilter): Filter<ColumnValue> {
  const filter = db.filter();
  if (params.inbox !== undefined) filter.when(`${TO.column} = ${TO.value}`, params.to);
  filter.when('c.at >= ?', params.since);
  filter.when('c.at < ?', params.until);
  filter.when('{instr|strpos}(c.subject, ?) > 0', params.subject);
  filter.when('lower(m.from_address) = lower(?{|::text COLLATE "C"})', params.from);
  filter.when('{EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)|? = ANY (m.tags)}', params.tag);
  filter.when('CASE WHEN c.seen_at IS NULL THEN 0 ELSE 1 END = ?', flagOf(params.seen));
  return filter;
}

function flagOf(wanted: boolean | undefined): number | undefined {
  return wanted === undefined ? undefined : +wanted;
}

function ofMessage({ from, tag }: CaptureFilter): boolean {
  return from !== undefined || tag !== undefined;
}

/** Views that are read together: all their lists of addresses are in memory. */
const VIEWS_AT_ONCE = { sqlite: 10, postgres: 100 };

/** As many of them as cross to the event loop at once, and those that were read. */
function* viewsOf(db: Db, keys: readonly Key[]): Work<{ views: CaptureView[]; read: readonly Key[] }> {
  const known = createKnownLists();
  const views: CaptureView[] = [];
  const step = VIEWS_AT_ONCE[db.engine];
  for (let from = 0; from < keys.length; from += step) {
    const given = db.rows('g', { seq: { int8: keys.slice(from, from + step).map(({ seq }) => seq) } });
    const rows = yield* db.all<CaptureRow>(
      `SELECT ${CAPTURE_VIEW} FROM ${given.from} {CROSS|} JOIN capture c ON c.seq = g.seq ${JOINS} ORDER BY g.place`,
      ...given.values,
    );
    for (const row of rows) {
      views.push(captureView(row, known));
      if (known.isFull)
        return { views, read: keys.slice(0, keys.findIndex(({ seq }) => seq === row.seq) + 1) };
    }
  }
  return { views, read: keys };
}

/** One capture, or null if those domains have none with this id. */
export const getCapture = read('getCapture', 'by key', {}, function* (db, { id, domains }) {
  const row = yield* db.get<CaptureRow>(`SELECT ${CAPTURE_VIEW} FROM capture c ${JOINS} WHERE c.id = ?`, id);
  return row === undefined || domains?.includes(row.domain) === false ? null : captureView(row);
});

const FACTS = record<ReleaseFacts>({
  keepContent: 'flag',
  bodyOffset: 'plain',
  needsSmtpUtf8: 'flag',
  eightBit: 'flag',
  dateOffset: 'plain',
});

export const releaseFacts = read('releaseFacts', 'by key', {}, function* (db, { messageSeq }) {
  const columns = FACTS.columns.replace('needs_smtp_utf8', 'needs_smtputf8');
  const row = yield* db.get(`SELECT ${columns} FROM message WHERE seq = ?`, messageSeq);
  return row === undefined ? null : FACTS.value(row);
});

export const markCaptures = write('markCaptures', 'measured', { portion: true }, function* ({ db }, params) {
  const { seenAt, limit } = params;
  const found = yield* chosen(db, params);
  const among = anyOf(db, 'seq', found);
  const changed = yield* db.run(
    `UPDATE capture SET seen_at = {?|?::int8} WHERE seq IN (SELECT seq FROM capture ${among.where()}
       AND (seen_at IS NULL) <> ({?|?::int8} IS NULL) ORDER BY seq {|FOR UPDATE})`,
    ...[seenAt, ...among.values(), seenAt],
  );
  return { changed, next: found.length < limit ? null : (found.at(-1) ?? null) };
});

export const deleteCaptures = write('deleteCaptures', 'measured', { portion: true }, function* (on, params) {
  const found = yield* chosen(on.db, params);
  const gone = yield* upToStep(on.db, found);
  yield* on.dropCaptures(gone);
  const isWhole = found.length < params.limit && gone.length === found.length;
  return { deleted: gone.length, next: isWhole ? null : (gone.at(-1) ?? null) };
});

export const purgeCaptures = write('purgeCaptures', 'measured', { portion: true }, function* (on, params) {
  const { before, now, limit } = params;
  const sql = 'SELECT seq, at FROM capture WHERE at <= ? ORDER BY seq LIMIT ?';
  const oldest = yield* on.db.all<{ seq: number; at: number }>(sql, now, limit);
  const young = oldest.findIndex(({ at }) => at >= before);
  const old = young < 0 ? oldest : oldest.slice(0, young);
  const gone = yield* upToStep(
    on.db,
    old.map(({ seq }) => seq),
  );
  yield* on.dropCaptures(gone);
  return gone.length;
});

/** The captures to delete or mark: given ids, or the next portion of an inbox, of domains or of all. */
function* chosen(db: Db, params: ParamsOf<'deleteCaptures'>): Work<number[]> {
  const { ids, beforeSeq = Number.MAX_SAFE_INTEGER, limit } = params;
  if (ids === undefined) {
    const range = { from: yield* placesOf(db, params), above: 0, below: beforeSeq, order: 'DESC' } as const;
    return (yield* db.merged<Key>(rangesOf(db, range), limit)).map(({ seq }) => seq);
  }
  const filter = db.filter();
  filter.oneOf('id', ids);
  filter.when('inbox = ?', params.inbox);
  filter.oneOf('domain_id', yield* db.nameIds(params.domains));
  filter.when('seq < ?', beforeSeq);
  const sql = `SELECT seq FROM capture ${filter.where()} ORDER BY seq DESC LIMIT ?`;
  return (yield* db.all<Key>(sql, ...filter.values(), limit)).map(({ seq }) => seq);
}

/**
 * The first of the captures, until the contents that may be deleted with them are as much as one step deletes. Captures of one
 * message have one content.
 */
function* upToStep(db: Db, seqs: readonly number[]): Work<number[]> {
  const given = db.rows('g', { seq: { int8: seqs } });
  const rows = yield* db.all<Key>(
    `SELECT s.seq FROM (
       SELECT f.seq, f.place, sum(f.size) OVER (ORDER BY f.place) - f.size AS bytes FROM (
         SELECT g.seq, g.place, CASE row_number() OVER (PARTITION BY o.message_seq ORDER BY g.place)
           WHEN 1 THEN coalesce(o.size, 0) ELSE 0 END AS size
         FROM ${given.from} LEFT JOIN capture c ON c.seq = g.seq
           LEFT JOIN message m ON m.seq = c.message_seq AND {m.keep_content = 0|NOT m.keep_content}
           LEFT JOIN {kept_content o ON o.domain_id = m.domain_id AND o.message_seq = m.seq|content o ON o.message_seq = m.seq}) f) s
     WHERE s.bytes < ${STEP_BYTES} ORDER BY s.place`,
    ...given.values,
  );
  return rows.map(({ seq }) => seq);
}
