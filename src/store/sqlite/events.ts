/**
 * The event log and outbox. `appendEvent` stores a fact and, in the same transaction, one pending call for each enabled
 * webhook of the domain that listens to its kind; if the transaction has created many for this domain, or others are
 * recorded, the calls are only recorded.
 * Reading goes by (domain, kind, at): a query without a kind merges one index range per kind, so not every combination
 * needs an index and nothing is sorted. Those of one recipient are the events of its messages, sorted, unless there are many;
 * those that may be duplicates have their own index.
 */

import type { SQLInputValue } from 'node:sqlite';
import { uuidText } from '../../lib/ids.ts';
import { wellFormedJson } from '../../lib/well-formed-json.ts';
import { EVENT_KINDS, type EventKind } from '../../model/event.ts';
import { listensTo } from '../../model/webhook.ts';
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
import { MOST_CALLS, makeLater, owesCalls } from './call-portions.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { lastOfLook, mergedRows, RANGES_PER_STATEMENT, type Ranges } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds, idBytes, type Session } from './engine/session.ts';
import { messagesTo } from './messages.ts';

/** Index ranges that are read as one: the kinds of all events in a hundred domains. */
const MAX_RANGES = 2_500;
/** The most keys that the merge of several statements holds. */
const MOST_MERGED = 20_000;
const LATEST = Number.MAX_SAFE_INTEGER;
/** A query reads at most so many messages to one recipient, and so many events of them; if there are more, it uses the index by time. */
const MOST_MESSAGES = 1_000;
const MOST_EVENTS = 10_000;
const OF_MESSAGES =
  'json_each(?) s CROSS JOIN event e INDEXED BY event_message ON e.message_seq = s.value WHERE true';
const OF_DUPLICATES = `event e INDEXED BY event_duplicate WHERE instr(e.detail, '${DUPLICATE_MARK}') > 0`;

const ALL_KINDS = Object.keys(EVENT_KINDS) as EventKind[];

/** Stores one event and the webhook calls it causes; its seq. */
export function appendEvent(session: Session, event: NewEvent, subject: EventSubject): number {
  const seq = session.db.insert('event', {
    event_id: uuidBytes(event.id),
    domain_id: subject.domainId,
    kind: eventKindCode.of(event.kind),
    at: event.at,
    message_seq: subject.messageSeq,
    delivery_id: subject.deliveryId,
    detail: event.detail === null ? null : wellFormedJson(event.detail),
  }).lastId;
  const { token, payloadType } = EVENT_KINDS[event.kind];
  if (payloadType === null || event.notify === false) return seq;
  const told = session.hooks(subject.domainId).filter((hook) => listensTo(hook.events, token));
  if (told.length === 0) return seq;
  const { db, calls } = session;
  const { domainId } = subject;
  // Those of a domain with recorded calls come after them.
  const made = (calls.get(domainId) ?? (owesCalls(db, domainId) ? MOST_CALLS : 0)) + told.length;
  calls.set(domainId, made);
  if (made <= MOST_CALLS) for (const { id } of told) insertCall(db, id, seq, event.at);
  else
    makeLater(
      db,
      { domainId, seq, at: event.at },
      told.map(({ id }) => id),
    );
  return seq;
}

/** Whether the event is already stored, because the write is repeated after a lost answer. */
export function isStored(
  db: Connection,
  domainId: number,
  event: Pick<NewEvent, 'id' | 'kind' | 'at'>,
): boolean {
  const sql =
    'SELECT 1 FROM event INDEXED BY event_kind WHERE domain_id = ? AND kind = ? AND at = ? AND event_id = ?';
  return db.get(sql, domainId, eventKindCode.of(event.kind), event.at, uuidBytes(event.id)) !== undefined;
}

/**
 * The ids of all events with the times and kinds of the given ones: the index is read once for each, however many there
 * are.
 */
export function storedBeside(
  db: Connection,
  domainId: number,
  events: readonly Pick<NewEvent, 'kind' | 'at'>[],
): ReadonlySet<string> {
  const moments = new Map(events.map((event) => [`${event.kind} ${event.at}`, event]));
  const sql = 'SELECT event_id FROM event INDEXED BY event_kind WHERE domain_id = ? AND kind = ? AND at = ?';
  return new Set(
    [...moments.values()]
      .flatMap(({ kind, at }) => db.all<{ event_id: Uint8Array }>(sql, domainId, eventKindCode.of(kind), at))
      .map((row) => uuidText(row.event_id)),
  );
}

/** Appends facts from outside the queue: opens, clicks, complaints, changes of a domain. */
export const appendEvents = write(
  'appendEvents',
  'by key',
  { synced: true, patient: 'events' },
  (session, params) => {
    for (const event of params.events) {
      const messageSeq =
        event.deliveryId === null
          ? null
          : (session.db.get<{ message_seq: number }>(
              'SELECT message_seq FROM delivery WHERE id = ?',
              event.deliveryId,
            )?.message_seq ?? null);
      const domainId = session.nameId(event.domain);
      if (isStored(session.db, domainId, event)) continue;
      appendEvent(session, event, {
        domainId,
        messageSeq,
        deliveryId: messageSeq === null ? null : event.deliveryId,
      });
    }
  },
);

/**
 * Creates the call of a webhook for an event, due at `dueAt`: a new one, or a finished one again from its first try.
 * Returns 1, or 0 if such a call is still pending.
 */
export function insertCall(db: Connection, webhookId: number, eventSeq: number, dueAt: number): number {
  return db.insert(
    'webhook_call',
    {
      webhook_id: webhookId,
      event_seq: eventSeq,
      state: 0,
      epoch: 0,
      due_at: dueAt,
      tries: 0,
      response_code: 0,
      error: '',
      created_at: dueAt,
      updated_at: dueAt,
    },
    'ON CONFLICT (webhook_id, event_seq) DO UPDATE SET state = 0, epoch = 0, due_at = excluded.due_at, tries = 0, updated_at = excluded.updated_at WHERE state IN (2, 3)',
  ).changes;
}

/** One query for events. */
export const findEvents = read('findEvents', 'measured', { search: true }, (db, params) => {
  const { keys, next } = look(db, params, params.limit);
  const events: EventView[] = [];
  const known = createKnownLists();
  for (const key of keys) {
    const row = db.get<EventViewRow>(
      `SELECT ${EVENT_VIEW_COLUMNS} FROM event e ${EVENT_VIEW_JOINS} WHERE e.seq = ?`,
      key.seq,
    );
    if (row !== undefined) events.push(toEventView(row, known));
    if (known.isFull) return { events, next: key };
  }
  return { events, next };
});

export const countEvents = read('countEvents', 'measured', { search: true }, (db, params) => {
  const { keys, next } = look(db, params, params.upTo);
  return { count: keys.length, next };
});

/** Seq of the newest event, or 0. */
export const lastEventSeq = read('lastEventSeq', 'by key', (db) => {
  return db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM event')?.seq ?? 0;
});

/** The first `limit` matches after the position, and where the next query begins; null = there is nothing more. */
function look(
  db: Connection,
  params: EventLook,
  limit: number,
): { keys: EventPlace[]; next: EventPlace | null } {
  const { ranges, places, narrow } = rangesOf(db, params);
  // Each statement adds its share to the merge.
  const share = Math.max(1, Math.floor(MOST_MERGED / Math.ceil(places.length / RANGES_PER_STATEMENT || 1)));
  const most = Math.min(limit, share);
  const end = narrow ? lastOfLook<EventPlace>(db, ranges(null), Math.min(params.look, share)) : undefined;
  const filter = createFilter();
  if (narrow) addRowConditions(filter, params);
  const keys = mergedRows<EventPlace>(db, ranges({ end, filter }), most);
  return { keys, next: (keys.length === most && most > 0 ? keys.at(-1) : end) ?? null };
}

interface EventRanges {
  /** Matching rows in every range; null: all rows of the range. `end`: only rows up to this place. */
  ranges(matching: { end: EventPlace | undefined; filter: Filter } | null): Ranges;
  places: readonly (readonly SQLInputValue[])[];
  /** Whether rows in the ranges may not match. */
  narrow: boolean;
}

/**
 * The ranges that may contain matching events, in order: one message, all events by seq, or a range of the index for
 * every domain and kind. Very many ranges cost more than skipping rows that do not match.
 */
function rangesOf(db: Connection, params: EventLook): EventRanges {
  const domainIds = findNameIds(db, params.domains);
  const kinds = [...new Set(params.kinds ?? ALL_KINDS)].map(eventKindCode.of);
  if (params.messageId !== undefined) {
    const from = 'event e INDEXED BY event_message WHERE e.message_seq = ?';
    return bySeq(params, from, [messageSeqOf(db, params.messageId)], domainIds, kinds);
  }
  const inOrder = params.afterSeq !== undefined && !params.newestFirst;
  const ids = domainIds ?? (inOrder ? [] : everyDomain(db, MAX_RANGES));
  const messages = params.recipient === undefined ? undefined : eventfulMessagesTo(db, params.recipient);
  // The order must not depend on how many messages there are, which can change from page to page.
  if (inOrder || (!params.possibleDuplicate && ids.length * kinds.length > MAX_RANGES)) {
    return messages === undefined
      ? bySeq(params, 'event e NOT INDEXED WHERE true', [], domainIds, kinds)
      : bySeq(params, OF_MESSAGES, [messages], domainIds, kinds);
  }
  if (messages !== undefined || params.possibleDuplicate) {
    const filter = createFilter();
    filter.oneOf('e.domain_id', domainIds);
    if (params.kinds !== undefined) filter.oneOf('e.kind', kinds);
    return messages === undefined
      ? byTime(params, `${OF_DUPLICATES}${filter.and()}`, [filter.values()])
      : byTime(params, `${OF_MESSAGES}${filter.and()}`, [[messages, ...filter.values()]]);
  }
  return byTime(
    params,
    'event e INDEXED BY event_kind WHERE e.domain_id = ? AND e.kind = ?',
    ids.flatMap((id) => kinds.map((kind) => [id, kind])),
  );
}

/** The messages to a recipient, as JSON; undefined: they, or their events, are many. */
function eventfulMessagesTo(db: Connection, recipient: string): string | undefined {
  const messages = messagesTo(db, recipient, MOST_MESSAGES);
  if (messages === undefined) return undefined;
  const given = JSON.stringify(messages);
  const sql = `SELECT count(*) AS n FROM (SELECT 1 FROM ${OF_MESSAGES} LIMIT ?)`;
  const n = db.get<{ n: number }>(sql, given, MOST_EVENTS + 1)?.n ?? 0;
  return n > MOST_EVENTS ? undefined : given;
}

function bySeq(
  params: EventLook,
  from: string,
  place: readonly SQLInputValue[],
  domainIds: readonly number[] | undefined,
  kinds: readonly number[],
): EventRanges {
  const { newestFirst, from: behind, afterSeq = 0 } = params;
  const filter = createFilter();
  filter.oneOf('e.domain_id', domainIds);
  if (params.kinds !== undefined) filter.oneOf('e.kind', kinds);
  filter.when('e.at >= ?', params.since);
  filter.when('e.at < ?', params.until);
  const start = newestFirst ? (behind?.seq ?? Number.MAX_SAFE_INTEGER) : (behind?.seq ?? afterSeq);
  return {
    narrow: true,
    places: [place],
    ranges: (matching) => {
      const upTo = matching?.end === undefined ? '' : ` AND e.seq ${newestFirst ? '>=' : '<='} ?`;
      const conditions = matching === null ? '' : `${filter.and()}${upTo}${matching.filter.and()}`;
      const values = [
        ...(matching === null ? [] : filter.values()),
        ...(matching?.end === undefined ? [] : [matching.end.seq]),
        ...(matching?.filter.values() ?? []),
      ];
      return {
        sql: `SELECT e.at AS at, e.seq AS seq FROM ${from} AND e.seq ${newestFirst ? '<' : '>'} ?${conditions}`,
        values: [[...place, start, ...values]],
        order: newestFirst ? 'seq DESC' : 'seq ASC',
      };
    },
  };
}

function byTime(params: EventLook, of: string, places: readonly (readonly SQLInputValue[])[]): EventRanges {
  const { newestFirst, from, since = 0, until = LATEST } = params;
  const direction = newestFirst ? 'DESC' : 'ASC';
  const [before, beyond] = newestFirst ? ['<', '>'] : ['>', '<'];
  const behind = from === undefined ? '' : ` AND (e.at ${before} ? OR e.seq ${before} ?)`;
  return {
    narrow: isByRow(params),
    places,
    ranges: (matching) => {
      const end = matching?.end;
      const [low, high] = newestFirst ? [end, from] : [from, end];
      const upTo = end === undefined ? '' : ` AND (e.at ${beyond} ? OR e.seq ${beyond}= ?)`;
      const values = [
        // One bound a side: of two, SQLite may go by the wider one along the index.
        ...[Math.max(since, low?.at ?? 0), Math.min(until - 1, high?.at ?? LATEST)],
        ...(from === undefined ? [] : [from.at, from.seq]),
        ...(end === undefined ? [] : [end.at, end.seq]),
        ...(matching?.filter.values() ?? []),
      ];
      return {
        sql: `SELECT e.at AS at, e.seq AS seq FROM ${of} AND e.at >= ? AND e.at <= ?${behind}${upTo}${matching?.filter.and() ?? ''}`,
        values: places.map((place) => [...place, ...values]),
        order: `at ${direction}, seq ${direction}`,
      };
    },
  };
}

/** Conditions that no index helps with; they are tested row by row within the ranges. */
function addRowConditions(filter: Filter, given: EventLook): void {
  if (given.afterSeq !== undefined && given.newestFirst) filter.when('e.seq > ?', given.afterSeq);
  filter.when('(SELECT address FROM delivery WHERE id = e.delivery_id) = ?', given.recipient);
  filter.when(
    'EXISTS (SELECT 1 FROM message m, json_each(m.tags) t WHERE m.seq = e.message_seq AND t.value = ?)',
    given.tag,
  );
  filter.when('instr(e.detail, ?) > 0', given.possibleDuplicate && DUPLICATE_MARK);
}

/** -1, which no message has, if the id is unknown or not a UUID. */
function messageSeqOf(db: Connection, id: string): number {
  const bytes = idBytes(id);
  if (bytes === null) return -1;
  return db.get<{ seq: number }>('SELECT seq FROM message WHERE id = ?', bytes)?.seq ?? -1;
}

/** Names that have events, up to a limit: steps through the index from one domain to the next. */
function everyDomain(db: Connection, limit: number): number[] {
  return db
    .all<{ id: number }>(
      `WITH RECURSIVE known (id) AS (
         SELECT min(domain_id) FROM event INDEXED BY event_kind
         UNION ALL
         SELECT (SELECT min(domain_id) FROM event INDEXED BY event_kind WHERE domain_id > known.id) FROM known
         WHERE known.id IS NOT NULL
       ) SELECT id FROM known WHERE id IS NOT NULL LIMIT ?`,
      limit,
    )
    .map((row) => row.id);
}
