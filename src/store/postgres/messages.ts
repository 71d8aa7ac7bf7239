/**
 * Reading messages: contents for delivery, one message with its recipients, and lists. Lists are sorted newest first by
 * seq and paged by it; several domains are read one by one through the domain index and merged.
 */
import { laneCode, routeCode, stateCode } from '../shared/codes.ts';
import {
  MESSAGE_VIEW,
  type MessageRow,
  messageView,
  RECIPIENT,
  WAITING_STATES,
} from '../shared/rows/messages.ts';
import type { MessageFilter, MessageView, RecipientView } from '../topics/messages.ts';
import { int2s, int8s, texts } from './engine/arrays.ts';
import type { Db, Value } from './engine/db.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { alongIndex, lastInSpans, lastOfLook, mergedRows, messageOf, type Ranges } from './engine/merged.ts';
import { read } from './engine/operation.ts';
import { findNameIds, isId } from './engine/session.ts';

export const readContent = read('readContent', async (db, params) => {
  const sql = 'SELECT bytes FROM content WHERE message_seq = $1';
  return (await db.get<{ bytes: Uint8Array }>(sql, params.messageSeq))?.bytes ?? null;
});

/** One message with its recipients, or null if those domains have none with this id. */
export const getMessage = read('getMessage', async (db, params) => {
  if (!isId(params.id)) return null;
  const row = await db.get<MessageRow>(
    `SELECT ${MESSAGE_VIEW} FROM message m JOIN name n ON n.id = m.domain_id WHERE m.id = $1`,
    params.id,
  );
  if (row === undefined || params.domains?.includes(row.domain) === false) return null;
  return messageView(row, (await recipientsOf(db, [row.seq])).get(row.seq) ?? []);
});

export const listMessages = read('listMessages', { search: true }, async (db, params) => {
  const { since, until, limit, beforeSeq = Number.MAX_SAFE_INTEGER } = params;
  // The order of acceptance can differ from the order of seq by clocks and commits, so the range is wider than the
  // given time.
  const [place, latest, earliest] = await Promise.all([
    placeOf(db, params),
    until === undefined ? undefined : seqBehind(db, until + TIME_SLACK_MS),
    since === undefined ? undefined : seqBehind(db, since - TIME_SLACK_MS),
  ]);
  const before = Math.min(beforeSeq, latest ?? Number.MAX_SAFE_INTEGER);
  const { ranges, end } = await lookOf(db, params, place, before, earliest ?? 0);
  const keys = (await mergedRows<{ seq: number }>(db, ranges, limit)).map(({ seq }) => seq);
  const { messages, read } = await viewsOf(db, keys);
  const isWhole = read === keys.length;
  return { messages, nextSeq: (isWhole && keys.length < limit ? end : keys[read - 1]) ?? null };
});

/** What is read of the messages in that range, and where the next look begins: undefined if nothing is left. */
async function lookOf(
  db: Db,
  params: MessageFilter & { look: number },
  place: IndexRange,
  before: number,
  first: number,
): Promise<{ ranges: Ranges; end: number | undefined }> {
  const { look, to, recipientDomain, metadata = [] } = params;
  const filter = conditionsOf(params);
  if (filter.and() === '') return { ranges: rangesOf(place, before, first), end: undefined };
  const isByRecipient = (to ?? recipientDomain) !== undefined && metadata.length === 0;
  const [last, recipient] = await Promise.all([
    lastOf(db, place, before, first, look),
    isByRecipient
      ? db.get<{ seq: number }>(LAST_RECIPIENT, before, look * RECIPIENTS_FOR_A_MESSAGE)
      : undefined,
  ]);
  const least = Math.max(first, recipient?.seq ?? 0);
  if (isByRecipient && last !== undefined && least <= last.seq) {
    const wanted = conditionsOf(params, (and) => `true${and}`);
    wanted.oneOf('m.domain_id', place.places);
    const ranges = rangesOf(BY_RECIPIENT, before, least, wanted);
    return { ranges, end: least === first ? undefined : least };
  }
  return { ranges: rangesOf(place, before, last?.seq ?? first, filter), end: last?.seq };
}

/** The last of the first `look` messages; undefined if there are fewer. */
async function lastOf(
  db: Db,
  place: IndexRange,
  before: number,
  first: number,
  look: number,
): Promise<{ seq: number } | undefined> {
  const within = (below: number, least: number, rows: number) =>
    lastOfLook<{ seq: number }>(db, rangesOf(place, below, Math.max(first, least)), rows);
  if (place.places === undefined || place.places.length === 1) return within(before, first, look);
  // Of all domains: it is one step, and in a span there are at most as many messages of these domains as numbers.
  const newest = await db.get<{ seq: number }>(NEWEST, before, first);
  if (newest === undefined) return undefined;
  return lastInSpans(
    look,
    (span) => within(before, newest.seq - span, look),
    async (span) => {
      const next = await within(newest.seq - span, first, 1);
      return next && newest.seq - next.seq;
    },
  );
}

const NEWEST = 'SELECT seq FROM message WHERE seq < $1 AND seq >= $2 ORDER BY seq DESC LIMIT 1';

/** Reading so many recipients in the order of their messages takes as long as looking for those of one message. */
const RECIPIENTS_FOR_A_MESSAGE = 10;

const LAST_RECIPIENT =
  'SELECT message_seq AS seq FROM delivery WHERE message_seq < $1 ORDER BY message_seq DESC OFFSET $2 LIMIT 1';

/** Recipients that are read at once: each costs the event loop some microseconds. */
const RECIPIENTS_A_LOOK = 2_000;

/** How much two clocks and a slow commit can change the order of acceptance. */
const TIME_SLACK_MS = 3_600_000;

/** Recipients are read in the order of their messages here. */
export const indexRecipients = read('indexRecipients', async () => false);

/** The ranges that may contain matching messages, newest last: sender domains, pairs of metadata, or all. */
interface IndexRange {
  select?: 'SELECT' | 'SELECT DISTINCT';
  from: string;
  /** The columns of its index before `key`, whose values are `g.place` and `values`. */
  fixed: readonly string[];
  /** The column of its order. */
  key: string;
  places: readonly number[] | undefined;
  values: readonly Value[];
}

/** The recipients of all messages; one message can have several that match. */
const BY_RECIPIENT: IndexRange = {
  select: 'SELECT DISTINCT',
  from: `delivery d ${messageOf('d.message_seq')}`,
  fixed: [],
  key: 'd.message_seq',
  places: undefined,
  values: [],
};

async function placeOf(db: Db, { domains, metadata }: MessageFilter): Promise<IndexRange> {
  const domainIds = await findNameIds(db, domains);
  const [pair] = metadata ?? [];
  if (pair !== undefined) {
    return {
      from: `message_metadata x ${messageOf('x.message_seq')}`,
      fixed: ['x.domain_id', 'x.name', 'x.value'],
      key: 'x.message_seq',
      places: domainIds ?? (await domainIdsIn(db, 'message_metadata')),
      values: pair,
    };
  }
  const fixed = domainIds === undefined ? [] : ['m.domain_id'];
  return { from: 'message m', fixed, key: 'm.seq', places: domainIds, values: [] };
}

function rangesOf(
  { select = 'SELECT', from, fixed, key, places, values }: IndexRange,
  before: number,
  atLeast: number,
  filter = createFilter(),
): Ranges {
  const index = alongIndex(
    fixed.map((column, i) => [column, i === 0 ? 'g.place' : '?']),
    key,
  );
  // No index can use an OR, so it only selects the eras.
  const inEras = `AND (${key} > ? AND ${key} < ? OR ${key} < 0)`;
  const [above, below] = [atLeast - 1, before];
  return {
    sql: `${select} ${key} AS seq FROM ${from} WHERE ${index.condition} ${fixed.length === 0 ? '' : inEras}${filter.and()}`,
    values: [
      ...[...values, above, ...values, below],
      ...(fixed.length === 0 ? [] : [above, below]),
      ...filter.values(),
    ],
    places,
    order: 'seq DESC',
    orderWithin: index.order('DESC'),
  };
}

/** The first message accepted at that time or later; undefined if there is none. Binary search over the numbers. */
async function seqBehind(db: Db, at: number): Promise<number | undefined> {
  const next = 'SELECT seq, created_at FROM message WHERE seq >=';
  const row = await db.get<{ seq: number }>(
    `WITH RECURSIVE step (low, high) AS (
       SELECT min(seq), max(seq) + 1 FROM message
       UNION ALL
       SELECT CASE WHEN n.created_at < $1 THEN n.seq + 1 ELSE s.low END,
         CASE WHEN n.created_at < $1 THEN s.high ELSE (s.low + s.high) / 2 END
       FROM step s LEFT JOIN LATERAL (${next} (s.low + s.high) / 2 ORDER BY seq LIMIT 1) n ON true WHERE s.low < s.high)
     SELECT n.seq FROM step s CROSS JOIN LATERAL (${next} s.low ORDER BY seq LIMIT 1) n WHERE s.low >= s.high`,
    at,
  );
  return row?.seq;
}

/**
 * Condition: some recipient of the message matches all of it. `OFFSET 0` makes the planner test it message by message: a
 * cause or an address may have any number of recipients. `+ 0` hides the indexes over causes and waiting rows, of which it
 * would read all for each message.
 */
const RECIPIENT_WITH = (and: string) =>
  `EXISTS (SELECT FROM delivery d WHERE d.message_seq = m.seq${and} OFFSET 0)`;

/** What is asked of one recipient, `d`, whatever its state. */
function recipientFilter({ to, recipientDomain }: MessageFilter): Filter {
  const filter = createFilter();
  // Compared first, because it takes a third of the time. In the collation of the column, case does not change the length.
  filter.when('octet_length(d.address) = ?', to === undefined ? undefined : Buffer.byteLength(to));
  filter.when('lower(d.address) = lower(?::text COLLATE "C")', to);
  filter.when("split_part(d.address, '@', -1) = ?", recipientDomain);
  return filter;
}

function conditionsOf(params: MessageFilter, recipientWith = RECIPIENT_WITH): Filter {
  const filter = createFilter();
  for (const pair of params.metadata?.slice(1) ?? []) {
    filter.when(
      `EXISTS (SELECT FROM (SELECT ?::text[] AS pair) p JOIN message_metadata y ON y.domain_id = m.domain_id
         AND y.name = p.pair[1] AND y.value = p.pair[2] AND y.message_seq = m.seq OFFSET 0)`,
      texts(pair),
    );
  }
  filter.when('lower(m.from_address) = lower(?::text COLLATE "C")', params.from);
  filter.when(RECIPIENT_WITH(' AND d.cause_id + 0 = ?'), params.cause);
  filter.when('position(? IN lower(m.subject COLLATE "und-x-icu")) > 0', params.subject?.toLowerCase());
  filter.when('? = ANY (m.tags)', params.tag);
  filter.when('m.lane = ?', params.lane === undefined ? undefined : laneCode.of(params.lane));
  filter.when('m.created_at >= ?', params.since);
  filter.when('m.created_at < ?', params.until);
  const { states, waiting, route } = params;
  const given = states && int2s(states.map(stateCode.of));
  const having = [
    ...(waiting === undefined ? [] : [` AND ${WAITING_STATES[waiting]}`]),
    ...(route === undefined ? [] : [` AND d.route = ${routeCode.of(route)}`]),
  ].join('');
  const one = recipientFilter(params);
  one.when(`d.state + 0 = ANY (?::int2[])${having}`, given);
  filter.within(recipientWith, one);
  if (params.mixed === true) {
    const another = recipientFilter(params);
    another.when('d.state <> ALL (?::int2[])', given);
    filter.within(RECIPIENT_WITH, another);
  }
  return filter;
}

/**
 * Views of messages in this order, as many as may be read at once, from the first `read` ones, without those that
 * were removed.
 */
async function viewsOf(
  db: Db,
  seqs: readonly number[],
): Promise<{ messages: readonly MessageView[]; read: number }> {
  const rows = await db.all<Omit<MessageRow, 'seq'> & { seq: number | null }>(
    `SELECT ${MESSAGE_VIEW} FROM (
       SELECT g.seq, g.place, sum(c.n) OVER (ORDER BY g.place) - c.n AS recipients
       FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place)
         CROSS JOIN LATERAL (SELECT count(*) AS n FROM delivery d WHERE d.message_seq = g.seq) c) g
     LEFT JOIN (message m JOIN name n ON n.id = m.domain_id) ON m.seq = g.seq
     WHERE g.recipients < ${RECIPIENTS_A_LOOK} ORDER BY g.place`,
    int8s(seqs),
  );
  const there = rows.filter((row): row is MessageRow => row.seq !== null);
  const recipients = await recipientsOf(
    db,
    there.map(({ seq }) => seq),
  );
  return { messages: there.map((row) => messageView(row, recipients.get(row.seq) ?? [])), read: rows.length };
}

/** In the order of acceptance, by message. */
async function recipientsOf(
  db: Db,
  seqs: readonly number[],
): Promise<ReadonlyMap<number, readonly RecipientView[]>> {
  const rows = await db.all<
    { messageSeq: number } & Pick<RecipientView, 'deliveryId' | 'lastCode' | 'routeKey'>
  >(
    `SELECT d.message_seq AS "messageSeq", d.id AS "deliveryId", coalesce(d.last_code, 0) AS "lastCode",
       q.route_key AS "routeKey", ${RECIPIENT.columns}
     FROM delivery d JOIN dest_queue q ON q.id = d.queue_id WHERE d.message_seq = ANY ($1::int8[])
     ORDER BY d.message_seq, d.id`,
    int8s(seqs),
  );
  const found = new Map<number, RecipientView[]>();
  for (const { messageSeq, ...row } of rows) {
    const own = found.get(messageSeq) ?? [];
    own.push({ ...row, ...RECIPIENT.value(row) });
    found.set(messageSeq, own);
  }
  return found;
}
