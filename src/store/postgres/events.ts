/**
 * The event log and outbox. `appendEvents` stores facts and, in the same statement, one pending call for each enabled
 * webhook of the domain that listens to their kind; if the transaction has created many for this domain, or others are
 * recorded, the calls are only recorded.
 * Reading uses (domain, kind, at), one index range for each domain and kind; those that may be duplicates have their own
 * index; clients that follow the events read them by number, up to the horizon (engine/horizon.ts).
 */

import { wellFormedJson } from '../../lib/well-formed-json.ts';
import { EVENT_KINDS, type EventKind } from '../../model/event.ts';
import { eventKindCode, uuidBytes } from '../shared/codes.ts';
import { createKnownLists } from '../shared/known-lists.ts';
import {
  DUPLICATE_MARK,
  EVENT_VIEW_COLUMNS,
  EVENT_VIEW_JOINS,
  type EventSubject,
  type EventViewRow,
  isByRow,
  toEventView,
} from '../shared/rows/events.ts';
import type { EventLook, EventPlace, EventView, NewEvent } from '../topics/events.ts';
import { MOST_CALLS } from './call-portions.ts';
import { int2s, int8s, texts, uuids } from './engine/arrays.ts';
import type { Db, Value } from './engine/db.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { lastInSpans } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds, isId, type Session, type Shared } from './engine/session.ts';

/** Index ranges that are read as one: the kinds of all events in a hundred domains. */
const MAX_RANGES = 2_500;
/** The most keys that one query reads from its ranges. */
const MOST_MERGED = 20_000;
/** To read a whole look from each of so few ranges costs no more than to go through them in spans. */
const FEW_RANGES = 5;
const FIRST_SPAN_MS = 60_000;
const LATEST = Number.MAX_SAFE_INTEGER;

const ALL_KINDS = Object.keys(EVENT_KINDS) as EventKind[];

/**
 * Takes the id of the transaction before any row gets a number, because the horizon of events relies on that order.
 * `numbered` reads its one row.
 */
export const TAKE_XID = 'tx AS MATERIALIZED (SELECT pg_current_xact_id() AS xid)';

/**
 * CTEs that store the rows of `ev` (seq, event_id, domain_id, kind, at, message_seq, delivery_id, detail, token) and the
 * calls they cause. `token` as `tokenOf` gives it. `most`: an expression, the calls of each domain that are created now;
 * those of a domain with recorded calls come after them.
 */
export const storingEvents = (most: string): string => `
  stored AS (
    INSERT INTO event (seq, event_id, domain_id, kind, at, message_seq, delivery_id, detail)
    SELECT seq, event_id, domain_id, kind, at, message_seq, delivery_id, detail FROM ev),
  owing AS MATERIALIZED (
    SELECT d.id FROM (SELECT DISTINCT domain_id AS id FROM ev WHERE token IS NOT NULL) d
    WHERE EXISTS (SELECT FROM later_call l WHERE l.domain_id = d.id OFFSET 0)),
  told AS MATERIALIZED (
    SELECT e.seq, e.domain_id, e.at, array_agg(w.id ORDER BY w.id) AS hooks,
      sum(count(*)) OVER (PARTITION BY e.domain_id ORDER BY e.seq) <= ${most}
        AND e.domain_id NOT IN (SELECT id FROM owing) AS at_once
    FROM ev e JOIN webhook w ON w.domain_id = e.domain_id AND w.enabled
      AND string_to_array(w.event, ',') && ARRAY['all', e.token]
    WHERE e.token IS NOT NULL GROUP BY e.seq, e.domain_id, e.at),
  calls AS (
    INSERT INTO webhook_call
      (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
    SELECT hook, seq, 0, 0, at, 0, 0, '', at, at FROM told, unnest(hooks) hook WHERE at_once),
  later AS (
    INSERT INTO later_call (domain_id, event_seq, at, webhooks)
    SELECT domain_id, seq, at, array_to_json(hooks)::text FROM told WHERE NOT at_once)`;

/** Which webhooks get it: null = none, '' = those for all kinds, otherwise also those for this token. */
export function tokenOf(event: NewEvent): string | null {
  const { token, payloadType } = EVENT_KINDS[event.kind];
  return payloadType === null || event.notify === false ? null : (token ?? '');
}

/** The columns of events that are given, as `unnest($n::uuid[], …) g (event_id, kind, at, detail, token)`. */
export function eventColumns(events: readonly NewEvent[]): [Buffer, Buffer, Buffer, Buffer, Buffer] {
  return [
    uuids(events.map(({ id }) => uuidBytes(id))),
    int2s(events.map(({ kind }) => eventKindCode.of(kind))),
    int8s(events.map(({ at }) => at)),
    texts(events.map(({ detail }) => (detail === null ? null : wellFormedJson(detail)))),
    texts(events.map(tokenOf)),
  ];
}

const APPEND = `WITH ${TAKE_XID},
  ev AS MATERIALIZED (
    SELECT nextval('event_seq_seq') AS seq, g.*
    FROM tx CROSS JOIN unnest($1::uuid[], $2::int2[], $3::int8[], $4::text[], $5::text[], $6::int8[], $7::int8[], $8::int8[], $9::int8[])
      g (event_id, kind, at, detail, token, domain_id, message_seq, delivery_id, most) WHERE tx.xid IS NOT NULL),
  ${storingEvents('min(e.most)')}
  SELECT ev.seq, cardinality(told.hooks) AS calls FROM ev LEFT JOIN told ON told.seq = ev.seq ORDER BY ev.seq`;

/**
 * Stores events and the webhook calls they cause; returns their seqs. Does not check whether they are stored already.
 */
export async function appendAll(
  session: Session,
  events: readonly { event: NewEvent; subject: EventSubject }[],
): Promise<number[]> {
  if (events.length === 0) return [];
  const { db, calls } = session;
  const rows = await db.all<{ seq: number; calls: number | null }>(
    APPEND,
    ...eventColumns(events.map(({ event }) => event)),
    int8s(events.map(({ subject }) => subject.domainId)),
    int8s(events.map(({ subject }) => subject.messageSeq)),
    int8s(events.map(({ subject }) => subject.deliveryId)),
    int8s(events.map(({ subject }) => MOST_CALLS - (calls.get(subject.domainId) ?? 0))),
  );
  for (const [i, { subject }] of events.entries()) {
    const made = rows[i]?.calls ?? 0;
    if (made > 0) calls.set(subject.domainId, (calls.get(subject.domainId) ?? 0) + made);
  }
  return rows.map(({ seq }) => seq);
}

/** Stores one event and the webhook calls it causes; its seq. */
export async function appendEvent(session: Session, event: NewEvent, subject: EventSubject): Promise<number> {
  const [seq] = await appendAll(session, [{ event, subject }]);
  if (seq === undefined) throw new Error('An event got no number');
  return seq;
}

/** Which of the events are already stored, because the write is repeated after a lost answer: their ids. */
export async function storedAmong(
  db: Db,
  domainId: number,
  events: readonly Pick<NewEvent, 'id' | 'kind' | 'at'>[],
): Promise<ReadonlySet<string>> {
  if (events.length === 0) return new Set();
  const rows = await db.all<{ id: string }>(
    // OFFSET 0 makes the planner look each event up in the index, however many eras there are.
    `SELECT e.event_id AS id FROM unnest($2::uuid[], $3::int2[], $4::int8[]) g (id, kind, at) CROSS JOIN LATERAL (
       SELECT e.event_id FROM event e WHERE e.domain_id = $1 AND e.kind = g.kind AND e.at = g.at AND e.event_id = g.id OFFSET 0) e`,
    domainId,
    uuids(events.map(({ id }) => uuidBytes(id))),
    int2s(events.map(({ kind }) => eventKindCode.of(kind))),
    int8s(events.map(({ at }) => at)),
  );
  return new Set(rows.map(({ id }) => id));
}

/** Whether the event is already stored. */
export async function isStored(
  db: Db,
  domainId: number,
  event: Pick<NewEvent, 'id' | 'kind' | 'at'>,
): Promise<boolean> {
  return (await storedAmong(db, domainId, [event])).size > 0;
}

const APPEND_NEW = `WITH ${TAKE_XID},
  ev AS MATERIALIZED (
    SELECT nextval('event_seq_seq') AS seq, n.*
    FROM tx CROSS JOIN (
      SELECT g.event_id, g.kind, g.at, g.detail, g.token, g.domain_id, d.message_seq, d.id AS delivery_id
      FROM unnest($1::uuid[], $2::int2[], $3::int8[], $4::text[], $5::text[], $6::int8[], $7::int8[])
        WITH ORDINALITY g (event_id, kind, at, detail, token, domain_id, delivery_id, place)
      LEFT JOIN delivery d ON d.id = g.delivery_id
      WHERE NOT EXISTS (SELECT FROM event e
        WHERE e.domain_id = g.domain_id AND e.kind = g.kind AND e.at = g.at AND e.event_id = g.event_id OFFSET 0)
      ORDER BY g.place) n WHERE tx.xid IS NOT NULL),
  ${storingEvents(String(MOST_CALLS))}
  SELECT count(*) FROM ev`;

export const appendEvents = write(
  'appendEvents',
  { lane: 'settle', whole: true, repeatable: true },
  async ({ db, nameIds }, params) => {
    const domains = await nameIds(params.events.map(({ domain }) => domain));
    await db.run(
      APPEND_NEW,
      ...eventColumns(params.events),
      int8s(params.events.map(({ domain }) => domains.get(domain) ?? 0)),
      int8s(params.events.map(({ deliveryId }) => deliveryId)),
    );
  },
);

const VIEWS = `SELECT ${EVENT_VIEW_COLUMNS} FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place)
  JOIN event e ON e.seq = g.seq ${EVENT_VIEW_JOINS} WHERE g.place > $2 ORDER BY g.place LIMIT $3`;
/** Message views that are read together: each message has its own lists of recipients. */
const VIEWS_AT_ONCE = 100;

export const findEvents = read('findEvents', { search: true }, async (db, params, shared) => {
  const { keys, next } = await look(db, params, params.limit, shared);
  const events: EventView[] = [];
  const known = createKnownLists();
  const seqs = int8s(keys.map(({ seq }) => seq));
  for (let place = 0; place < keys.length; place += VIEWS_AT_ONCE) {
    for (const row of await db.all<EventViewRow>(VIEWS, seqs, place, VIEWS_AT_ONCE)) {
      events.push(toEventView(row, known));
      if (known.isFull) return { events, next: { at: row.at, seq: row.seq } };
    }
  }
  return { events, next };
});

export const countEvents = read('countEvents', { search: true }, async (db, params, shared) => {
  const { keys, next } = await look(db, params, params.upTo, shared);
  return { count: keys.length, next };
});

/** Seq of the newest event that can be read, or 0. */
export const lastEventSeq = read('lastEventSeq', async (db, _, shared) => {
  const sql = 'SELECT seq FROM event WHERE seq <= $1 ORDER BY seq DESC LIMIT 1';
  return (await db.get<{ seq: number }>(sql, await shared.horizon.safe()))?.seq ?? 0;
});

/** The first `limit` matches after the position, and where the next query begins; null = there is nothing more. */
async function look(
  db: Db,
  params: EventLook,
  limit: number,
  shared: Shared,
): Promise<{ keys: EventPlace[]; next: EventPlace | null }> {
  const ranges = await rangesOf(db, params, shared);
  const most = Math.min(limit, MOST_MERGED);
  const end = await ranges.end(db, ranges.narrow ? Math.min(params.look, MOST_MERGED) : Math.max(most, 1));
  const filter = createFilter();
  if (ranges.narrow) addRowConditions(filter, params);
  const keys = await ranges.rows(db, { end, filter }, most, 0);
  return { keys, next: (keys.length === most && most > 0 ? keys.at(-1) : end) ?? null };
}

interface EventRanges {
  /**
   * Matching rows of all ranges in order, after `offset`; null: all rows. `end`: only rows up to this place.
   */
  rows(
    db: Db,
    matching: { end: EventPlace | undefined; filter: Filter } | null,
    limit: number,
    offset: number,
  ): Promise<EventPlace[]>;
  /** The last of the first `look` rows; undefined if there are fewer. */
  end(db: Db, look: number): Promise<EventPlace | undefined>;
  /** Whether rows in the ranges may not match. */
  narrow: boolean;
}

/**
 * The ranges that may contain matching events, in order: one message, all events by seq, or a range of the index for
 * every domain and kind. Very many ranges cost more than skipping rows that do not match.
 */
async function rangesOf(db: Db, params: EventLook, shared: Shared): Promise<EventRanges> {
  const domainIds = await findNameIds(db, params.domains);
  const kinds = [...new Set(params.kinds ?? ALL_KINDS)].map(eventKindCode.of);
  if (params.messageId !== undefined) {
    return bySeq(params, 'e.message_seq = ?', [await messageSeqOf(db, params.messageId)], domainIds, kinds);
  }
  const inOrder = params.afterSeq !== undefined && !params.newestFirst;
  if (inOrder) return bySeq(params, 'e.seq <= ?', [await shared.horizon.safe()], domainIds, kinds);
  if (params.possibleDuplicate) return ofDuplicates(params, domainIds, kinds);
  const ids = domainIds ?? (await domainIdsIn(db, 'event', MAX_RANGES));
  if (ids.length * kinds.length > MAX_RANGES) return bySeq(params, 'true', [], domainIds, kinds);
  return byTime(db, params, ids, kinds);
}

function bySeq(
  params: EventLook,
  place: string,
  placeValues: readonly Value[],
  domainIds: readonly number[] | undefined,
  kinds: readonly number[],
): EventRanges {
  const { newestFirst, from, afterSeq = 0 } = params;
  const filter = createFilter();
  filter.oneOf('e.domain_id', domainIds);
  if (params.kinds !== undefined) filter.oneOf('e.kind', kinds);
  filter.when('e.at >= ?', params.since);
  filter.when('e.at < ?', params.until);
  const start = newestFirst ? (from?.seq ?? LATEST) : (from?.seq ?? afterSeq);
  const [before, order] = newestFirst ? ['<', 'DESC'] : ['>', 'ASC'];
  return {
    narrow: true,
    async end(db, look) {
      return (await this.rows(db, null, 1, look - 1))[0];
    },
    rows(db, matching, limit, offset) {
      const upTo = matching?.end === undefined ? '' : ` AND e.seq ${newestFirst ? '>' : '<'}= ?`;
      const conditions = matching === null ? '' : `${filter.and()}${upTo}${matching.filter.and()}`;
      return db.all<EventPlace>(
        `SELECT e.at, e.seq FROM event e WHERE ${place} AND e.seq ${before} ?${conditions}
         ORDER BY e.seq ${order} LIMIT ? OFFSET ?`,
        ...placeValues,
        start,
        ...(matching === null ? [] : filter.values()),
        ...(matching?.end === undefined ? [] : [matching.end.seq]),
        ...(matching?.filter.values() ?? []),
        limit,
        offset,
      );
    },
  };
}

/** Deliveries that may have been repeated are few among all events. */
function ofDuplicates(
  params: EventLook,
  domainIds: readonly number[] | undefined,
  kinds: readonly number[],
): EventRanges {
  const { newestFirst, from } = params;
  const filter = createFilter();
  filter.oneOf('e.domain_id', domainIds);
  if (params.kinds !== undefined) filter.oneOf('e.kind', kinds);
  filter.when('e.at >= ?', params.since);
  filter.when('e.at < ?', params.until);
  const [before, upTo, order] = newestFirst ? ['<', '>=', 'DESC'] : ['>', '<=', 'ASC'];
  const behind = from === undefined ? '' : ` AND (e.at, e.seq) ${before} (?, ?)`;
  return {
    narrow: true,
    async end(db, look) {
      return (await this.rows(db, null, 1, look - 1))[0];
    },
    rows(db, matching, limit, offset) {
      const end = matching?.end;
      const within = end === undefined ? '' : ` AND (e.at, e.seq) ${upTo} (?, ?)`;
      return db.all<EventPlace>(
        `SELECT e.at, e.seq FROM event e WHERE strpos(e.detail, '${DUPLICATE_MARK}') > 0
           ${filter.and()}${behind}${within}${matching?.filter.and() ?? ''}
         ORDER BY e.at ${order}, e.seq ${order} LIMIT ? OFFSET ?`,
        ...filter.values(),
        ...(from === undefined ? [] : [from.at, from.seq]),
        ...(end === undefined ? [] : [end.at, end.seq]),
        ...(matching?.filter.values() ?? []),
        limit,
        offset,
      );
    },
  };
}

/** Of a domain and a kind. */
interface DomainKind {
  id: number;
  kind: number;
}

/** A look reads only those places again that have rows: most kinds of events are rare, and each place costs a step for every era. */
async function byTime(
  db: Db,
  params: EventLook,
  ids: readonly number[],
  kinds: readonly number[],
): Promise<EventRanges> {
  const { newestFirst, from, since = 0, until = LATEST } = params;
  const [before, upTo, order] = newestFirst ? ['<', '>=', 'DESC'] : ['>', '<=', 'ASC'];
  const least = newestFirst || from === undefined ? since : Math.max(since, from.at);
  const most = newestFirst && from !== undefined ? Math.min(until - 1, from.at) : until - 1;
  const behind = from === undefined ? '' : ` AND (e.at, e.seq) ${before} (?, ?)`;
  type Matching = Parameters<EventRanges['rows']>[1];
  const read = <Row>(
    columns: string,
    places: readonly DomainKind[],
    matching: Matching,
    limits: readonly number[],
  ) => {
    const end = matching?.end;
    const conditions = `${behind}${end === undefined ? '' : ` AND (e.at, e.seq) ${upTo} (?, ?)`}`;
    return db.all<Row>(
      `SELECT ${columns} FROM unnest(?::int8[], ?::int2[]) p (id, kind) CROSS JOIN LATERAL (
         SELECT e.at, e.seq FROM event e WHERE e.domain_id = p.id AND e.kind = p.kind
           AND e.at >= ? AND e.at <= ?${conditions}${matching?.filter.and() ?? ''}
         ORDER BY e.at ${order}, e.seq ${order} LIMIT ?) f
       ORDER BY f.at ${order}, f.seq ${order} LIMIT ? OFFSET ?`,
      int8s(places.map(({ id }) => id)),
      int2s(places.map(({ kind }) => kind)),
      least,
      most,
      ...(from === undefined ? [] : [from.at, from.seq]),
      ...(end === undefined ? [] : [end.at, end.seq]),
      ...(matching?.filter.values() ?? []),
      ...limits,
    );
  };
  const every = ids.flatMap((id) => kinds.map((kind) => ({ id, kind })));
  const columns = 'p.id, p.kind, f.at, f.seq';
  const firsts = await read<DomainKind & EventPlace>(columns, every, null, [1, every.length, 0]);
  const rows: EventRanges['rows'] = (_db, matching, limit, offset) =>
    read('f.at, f.seq', firsts, matching, [limit + offset, limit, offset]);
  return {
    narrow: isByRow(params),
    rows,
    async end(db, look) {
      const [first] = firsts;
      if (first === undefined) return undefined;
      if (firsts.length <= FEW_RANGES) return (await rows(db, null, 1, look - 1))[0];
      const filter = createFilter();
      const timeOf = (span: number) => first.at + (newestFirst ? -span : span);
      return lastInSpans(
        FIRST_SPAN_MS,
        async (span) => {
          const end = { at: timeOf(span), seq: newestFirst ? 0 : LATEST };
          return (await rows(db, { end, filter }, 1, look - 1))[0];
        },
        async (span) => {
          const beyond = createFilter();
          beyond.when(`e.at ${before} ?`, timeOf(span));
          const [next] = await rows(db, { end: undefined, filter: beyond }, 1, 0);
          return next && Math.abs(next.at - first.at);
        },
      );
    },
  };
}

/** Conditions that no index helps with; they are tested row by row within the ranges. */
function addRowConditions(filter: Filter, given: EventLook): void {
  if (given.afterSeq !== undefined && given.newestFirst) filter.when('e.seq > ?', given.afterSeq);
  filter.when('(SELECT d.address FROM delivery d WHERE d.id = e.delivery_id) = ?', given.recipient);
  filter.when(
    'EXISTS (SELECT FROM message m WHERE m.seq = e.message_seq AND ? = ANY (m.tags) OFFSET 0)',
    given.tag,
  );
  filter.when('strpos(e.detail, ?) > 0', given.possibleDuplicate && DUPLICATE_MARK);
}

/** -1, which no message has, if the id is unknown or not a UUID. */
async function messageSeqOf(db: Db, id: string): Promise<number> {
  if (!isId(id)) return -1;
  return (await db.get<{ seq: number }>('SELECT seq FROM message WHERE id = $1', id))?.seq ?? -1;
}
