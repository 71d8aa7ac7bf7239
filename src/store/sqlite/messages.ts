/**
 * Reading messages: contents for delivery, one message with its recipients, and lists. Lists are sorted newest first by
 * seq and paged by it; several domains are read one by one through the domain index and merged. Those to one address are
 * found in each run of messages (`recipient_index`); the messages behind the last that is indexed are read.
 */
import type { SQLInputValue } from 'node:sqlite';
import { laneCode, routeCode, stateCode } from '../shared/codes.ts';
import {
  MESSAGE_VIEW,
  type MessageRow,
  messageView,
  RECIPIENT,
  WAITING_STATES,
} from '../shared/rows/messages.ts';
import type { MessageFilter, MessageView, RecipientView } from '../topics/messages.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { lastOfLook, mergedRows, type Ranges } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { domainIdsIn, findNameIds, idBytes } from './engine/session.ts';

const VIEW = `SELECT ${MESSAGE_VIEW}`;
const FROM_MESSAGE = 'FROM message m CROSS JOIN name n ON n.id = m.domain_id';
/** Goes by the given pair, newest message first. Tests check that its plan uses the index. */
export const FROM_METADATA = `FROM message_metadata x CROSS JOIN message m ON m.seq = x.message_seq
  WHERE x.domain_id = ? AND x.name = ? AND x.value = ?`;

export const readContent = read('readContent', 'by key', (db, params) => {
  const sql = 'SELECT bytes FROM content WHERE message_seq = ?';
  return db.get<{ bytes: Uint8Array }>(sql, params.messageSeq)?.bytes ?? null;
});

/** One message with its recipients, or null if those domains have none with this id. */
export const getMessage = read('getMessage', 'by key', (db, params) => {
  const id = idBytes(params.id);
  if (id === null) return null;
  const row = db.get<MessageRow>(`${VIEW} ${FROM_MESSAGE} WHERE m.id = ?`, id);
  if (row === undefined || params.domains?.includes(row.domain) === false) return null;
  return toView(db, row);
});

export const listMessages = read('listMessages', 'measured', { search: true }, (db, params) => {
  const { since, until, look, limit } = params;
  // The order of acceptance can differ from the order of seq by clocks and commits, so the range is wider than the
  // given time.
  const latest = until === undefined ? undefined : seqBehind(db, until + TIME_SLACK_MS);
  const before = Math.min(params.beforeSeq ?? Number.MAX_SAFE_INTEGER, latest ?? Number.MAX_SAFE_INTEGER);
  const first = since === undefined ? 0 : (seqBehind(db, since - TIME_SLACK_MS) ?? 0);
  const indexed = params.to === undefined || params.metadata !== undefined ? 0 : indexedUpTo(db);
  const found =
    params.to !== undefined && before <= indexed + 1
      ? indexedTo(db, params.to, { before, first, limit: look })
      : undefined;
  const place = found === undefined ? placeOf(db, params) : ofMessages(db, params.domains, found);
  // The next query reads those that are indexed.
  const earliest = found !== undefined || indexed === 0 ? first : Math.max(first, indexed + 1);
  const conditions = conditionsOf(params);
  const last =
    found?.[look - 1] ??
    (found !== undefined || conditions.and() === ''
      ? undefined
      : lastOfLook<{ seq: number }>(db, rangesOf(place, before, earliest, '', []), look)?.seq);
  const end = last ?? (earliest > first ? earliest : undefined);
  const matching = rangesOf(
    place,
    before,
    Math.max(earliest, last ?? 0),
    conditions.and(),
    conditions.values(),
  );
  const keys = mergedRows<{ seq: number }>(db, matching, limit);
  const messages: MessageView[] = [];
  let recipients = 0;
  for (const { seq } of keys) {
    const row = db.get<MessageRow>(`${VIEW} ${FROM_MESSAGE} WHERE m.seq = ?`, seq);
    if (row === undefined) continue;
    const view = toView(db, row);
    messages.push(view);
    recipients += view.recipients.length;
    if (recipients >= RECIPIENTS_A_LOOK) return { messages, nextSeq: seq };
  }
  return { messages, nextSeq: (keys.length === limit ? keys.at(-1)?.seq : end) ?? null };
});

/** Recipients that go from the reader to the main thread at once: each costs the event loop some microseconds. */
const RECIPIENTS_A_LOOK = 2_000;

/** How much two clocks and a slow commit can change the order of acceptance. */
const TIME_SLACK_MS = 3_600_000;

interface IndexRange {
  from: string;
  /** The column of its order. */
  key: string;
  values: readonly (readonly SQLInputValue[])[];
}

/** Messages whose recipients are beside each other; the triggers of `recipient_index` have this number too. */
const RUN_BITS = 13;
const INDEXED = 'recipients_indexed';

/** Up to this message, recipients are indexed. */
function indexedUpTo(db: Connection): number {
  return db.get<{ value: number }>('SELECT value FROM meta WHERE name = ?', INDEXED)?.value ?? 0;
}

/** Sorted, so that a portion changes each page of its run once. */
export const indexRecipients = write('indexRecipients', 'measured', { portion: true }, ({ db }, params) => {
  const after = indexedUpTo(db);
  const next = db.get<{ seq: number | null; n: number }>(
    `SELECT max(message_seq) AS seq, count(*) AS n FROM (SELECT message_seq FROM delivery INDEXED BY delivery_message
       WHERE message_seq > ? ORDER BY message_seq LIMIT ?)`,
    after,
    params.limit,
  );
  if (next === undefined || next.seq === null || next.n < params.limit) return false;
  db.run(
    `INSERT OR IGNORE INTO recipient_index (run, address, message_seq)
     SELECT message_seq >> ${RUN_BITS}, lower(address), message_seq FROM delivery INDEXED BY delivery_message
     WHERE message_seq > ? AND message_seq <= ? ORDER BY 1, 2, 3`,
    after,
    next.seq,
  );
  db.put('meta', 'name', { name: INDEXED, value: next.seq });
  return true;
});

/** Runs that there are, newest first: the numbers of messages may have gaps. */
const RUNS = `WITH RECURSIVE runs (run) AS (
    SELECT max(run) FROM recipient_index WHERE run <= ?
    UNION ALL SELECT (SELECT max(i.run) FROM recipient_index i WHERE i.run < runs.run) FROM runs WHERE run > ?)
  SELECT run FROM runs WHERE run >= ?`;

/** Messages to an address, newest first; only those that are indexed. */
function indexedTo(
  db: Connection,
  address: string,
  { before, first, limit }: { before: number; first: number; limit: number },
): number[] {
  const runOf = (seq: number) => Math.floor(seq / 2 ** RUN_BITS);
  const seqs: number[] = [];
  for (const { run } of db.all<{ run: number }>(RUNS, runOf(before), runOf(first), runOf(first))) {
    if (seqs.length >= limit) break;
    const rows = db.all<{ seq: number }>(
      `SELECT message_seq AS seq FROM recipient_index
       WHERE run = ? AND address = lower(?) AND message_seq < ? AND message_seq >= ? ORDER BY message_seq DESC LIMIT ?`,
      ...[run, address, before, first, limit - seqs.length],
    );
    for (const { seq } of rows) seqs.push(seq);
  }
  return seqs;
}

/** Recipients that are not indexed yet, and read to find an address among them. */
const MOST_UNINDEXED = 10_000;

/** All messages to an address; undefined: more than `most`, or too many to read. */
export function messagesTo(db: Connection, address: string, most: number): number[] | undefined {
  const indexed = indexedUpTo(db);
  const unindexed = `SELECT message_seq AS seq, address FROM delivery INDEXED BY delivery_message
    WHERE message_seq > ? ORDER BY message_seq LIMIT ?`;
  const { n } = db.get<{ n: number }>(
    `SELECT count(*) AS n FROM (${unindexed})`,
    indexed,
    MOST_UNINDEXED + 1,
  ) ?? { n: 0 };
  if (n > MOST_UNINDEXED) return undefined;
  const rows = db.all<{ seq: number }>(
    `SELECT DISTINCT seq FROM (${unindexed}) WHERE lower(address) = lower(?) LIMIT ?`,
    ...[indexed, MOST_UNINDEXED, address, most + 1],
  );
  const seqs = rows.map(({ seq }) => seq);
  seqs.push(...indexedTo(db, address, { before: indexed + 1, first: 0, limit: most + 1 }));
  return seqs.length > most ? undefined : seqs;
}

function ofMessages(
  db: Connection,
  domains: readonly string[] | undefined,
  seqs: readonly number[],
): IndexRange {
  const domainIds = findNameIds(db, domains);
  const among = domainIds === undefined ? '' : ' AND m.domain_id IN (SELECT value FROM json_each(?))';
  return {
    from: `FROM json_each(?) s CROSS JOIN message m ON m.seq = s.value WHERE true${among}`,
    key: 'm.seq',
    values: [[JSON.stringify(seqs), ...(domainIds === undefined ? [] : [JSON.stringify(domainIds)])]],
  };
}

/** The ranges that may contain matching messages, newest last: sender domains, pairs of metadata, or all. */
function placeOf(db: Connection, { domains, metadata }: MessageFilter): IndexRange {
  const domainIds = findNameIds(db, domains);
  const [pair] = metadata ?? [];
  if (pair !== undefined) {
    return {
      from: FROM_METADATA,
      key: 'x.message_seq',
      values: (domainIds ?? domainIdsIn(db, 'message_metadata')).map((id) => [id, pair[0], pair[1]]),
    };
  }
  if (domainIds === undefined) return { from: FROM_ALL, key: 'm.seq', values: [[]] };
  return { from: FROM_DOMAIN, key: 'm.seq', values: domainIds.map((id) => [id]) };
}

const FROM_ALL = 'FROM message m NOT INDEXED WHERE true';
const FROM_DOMAIN = 'FROM message m INDEXED BY message_domain WHERE m.domain_id = ?';

function rangesOf(
  { from, key, values }: IndexRange,
  before: number,
  atLeast: number,
  conditions: string,
  more: readonly SQLInputValue[],
): Ranges {
  return {
    sql: `SELECT ${key} AS seq ${from} AND ${key} < ? AND ${key} >= ?${conditions}`,
    values: values.map((place) => [...place, before, atLeast, ...more]),
    order: 'seq DESC',
  };
}

/** The first message accepted at that time or later; undefined if there is none. Binary search over the numbers. */
function seqBehind(db: Connection, at: number): number | undefined {
  const next = (seq: number) =>
    db.get<{ seq: number; created_at: number }>(
      'SELECT seq, created_at FROM message WHERE seq >= ? ORDER BY seq LIMIT 1',
      seq,
    );
  let low = next(0)?.seq ?? 0;
  let high = (db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM message')?.seq ?? 0) + 1;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const row = next(middle);
    if (row === undefined || row.created_at >= at) high = middle;
    else low = row.seq + 1;
  }
  return next(low)?.seq;
}

function conditionsOf(params: MessageFilter): Filter {
  const filter = createFilter();
  for (const [name, value] of params.metadata?.slice(1) ?? []) {
    filter.when(
      `EXISTS (SELECT 1 FROM (SELECT ? AS pair) p CROSS JOIN message_metadata y WHERE y.domain_id = m.domain_id
         AND y.name = p.pair ->> '$[0]' AND y.value = p.pair ->> '$[1]' AND y.message_seq = m.seq)`,
      JSON.stringify([name, value]),
    );
  }
  filter.when('lower(m.from_address) = lower(?)', params.from);
  filter.when(HAS_CAUSE, params.cause);
  filter.when('instr(fold(m.subject), ?) > 0', params.subject?.toLowerCase());
  filter.when('EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)', params.tag);
  filter.when('m.lane = ?', params.lane === undefined ? undefined : laneCode.of(params.lane));
  filter.when('m.created_at >= ?', params.since);
  filter.when('m.created_at < ?', params.until);
  const { states, waiting, route } = params;
  const given = states && JSON.stringify(states.map(stateCode.of));
  const having = [
    ...(waiting === undefined ? [] : [` AND ${WAITING_STATES[waiting]}`]),
    ...(route === undefined ? [] : [` AND d.route = ${routeCode.of(route)}`]),
  ].join('');
  const one = recipientFilter(params);
  one.when(`d.state IN (SELECT value FROM json_each(?))${having}`, given);
  filter.within(RECIPIENT_WITH, one);
  if (params.mixed === true) {
    const another = recipientFilter(params);
    another.when('d.state NOT IN (SELECT value FROM json_each(?))', given);
    filter.within(RECIPIENT_WITH, another);
  }
  return filter;
}

/** What is asked of one recipient, `d`, whatever its state. */
function recipientFilter({ to, recipientDomain }: MessageFilter): Filter {
  const filter = createFilter();
  filter.when('lower(d.address) = lower(?)', to);
  filter.when("instr(d.address || char(10), '@' || ? || char(10)) > 0", recipientDomain);
  return filter;
}

/** Some recipient of the message matches all of it. */
const RECIPIENT_WITH = (and: string) => `EXISTS (SELECT 1 FROM delivery d WHERE d.message_seq = m.seq${and})`;

/** By the message: a cause may have any number of members, also of other domains. Tests check its plan. */
export const HAS_CAUSE =
  'EXISTS (SELECT 1 FROM delivery INDEXED BY delivery_message WHERE message_seq = m.seq AND cause_id = ?)';

function toView(db: Connection, row: MessageRow): MessageView {
  return messageView(row, recipientsOf(db, row.seq));
}

function recipientsOf(db: Connection, messageSeq: number): RecipientView[] {
  const rows = db.all<Pick<RecipientView, 'deliveryId' | 'lastCode' | 'routeKey'>>(
    `SELECT d.id AS deliveryId, coalesce(d.last_code, 0) AS lastCode, q.route_key AS routeKey, ${RECIPIENT.columns}
     FROM delivery d CROSS JOIN dest_queue q ON q.id = d.queue_id WHERE d.message_seq = ? ORDER BY d.id`,
    messageSeq,
  );
  return rows.map((row) => ({ ...row, ...RECIPIENT.value(row) }));
}
