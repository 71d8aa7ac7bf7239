/**
 * The event log and outbox. Given a fact, `appendEvent` stores it and, in the same transaction, one pending call for
 * each enabled webhook of the domain that listens to its kind. Reading goes by (domain, kind, at): a query without a
 * kind merges one index range per kind, so no index has to exist for every combination and nothing is sorted.
 */
import { uuidText } from '../../lib/ids.ts';
import { EVENT_KINDS, type EventKind } from '../../model/event.ts';
import type { AddressLists, MessageId } from '../../model/message.ts';
import { listensTo } from '../../model/webhook.ts';
import type { EventDetail, EventFilter, EventView, NewEvent } from '../topics/events.ts';
import { eventKindCode, routeCode, uuidBytes } from './codes.ts';
import type { Connection } from './connection.ts';
import { createFilter, type Filter } from './filter.ts';
import type { ParamsOf, ResultOf } from './operation-types.ts';
import { findNameIds, type Session } from './session.ts';

/** Index ranges merged by one statement; SQLite allows 500. */
const RANGES_PER_STATEMENT = 100;

const ALL_KINDS = Object.keys(EVENT_KINDS) as EventKind[];

/** Whom an event is about: numbers of this database. */
export interface EventSubject {
  domainId: number;
  messageSeq: number | null;
  deliveryId: number | null;
}

/** Stores one event and the webhook calls it causes; its seq. */
export function appendEvent(session: Session, event: NewEvent, subject: EventSubject): number {
  const seq = session.db.run(
    `INSERT INTO event (event_id, domain_id, kind, at, message_seq, delivery_id, detail)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    uuidBytes(event.id),
    subject.domainId,
    eventKindCode.of(event.kind),
    event.at,
    subject.messageSeq,
    subject.deliveryId,
    event.detail === null ? null : JSON.stringify(event.detail),
  ).lastId;
  const { token, payloadType } = EVENT_KINDS[event.kind];
  if (payloadType === null || event.notify === false) return seq;
  for (const hook of session.hooks(subject.domainId)) {
    if (listensTo(hook.events, token)) insertCall(session.db, hook.id, seq, event.at);
  }
  return seq;
}

/** Appends facts from outside the queue: opens, clicks, complaints, changes of a domain. */
export function appendEvents(session: Session, params: ParamsOf<'appendEvents'>): void {
  for (const event of params.events) {
    const messageSeq =
      event.deliveryId === null
        ? null
        : (session.db.get<{ message_seq: number }>(
            'SELECT message_seq FROM delivery WHERE id = ?',
            event.deliveryId,
          )?.message_seq ?? null);
    appendEvent(session, event, {
      domainId: session.nameId(event.domain),
      messageSeq,
      deliveryId: messageSeq === null ? null : event.deliveryId,
    });
  }
}

/**
 * Makes the call of a webhook for an event, due at `dueAt`: a new one, or the finished one again from its first
 * try. 1, or 0 where such a call is still on its way.
 */
export function insertCall(db: Connection, webhookId: number, eventSeq: number, dueAt: number): number {
  return db.run(
    `INSERT INTO webhook_call (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at,
       updated_at)
     VALUES (?, ?, 0, 0, ?, 0, 0, '', ?, ?)
     ON CONFLICT (webhook_id, event_seq) DO UPDATE
       SET state = 0, epoch = 0, due_at = excluded.due_at, tries = 0, updated_at = excluded.updated_at
       WHERE state IN (2, 3)`,
    webhookId,
    eventSeq,
    dueAt,
    dueAt,
    dueAt,
  ).changes;
}

/** Everything a view of an event needs; `e` is the event. */
export const EVENT_VIEW_COLUMNS = `e.seq, e.event_id, e.kind, e.at, e.detail, e.delivery_id, en.text AS domain,
  ed.address AS recipient, ed.route, em.id AS message_id, em.lists, em.subject, em.size, em.tags, em.metadata,
  (em.sandbox OR ed.sandbox IS NOT NULL) AS sandbox`;

/** The joins of EVENT_VIEW_COLUMNS, all by primary key. */
export const EVENT_VIEW_JOINS = `JOIN name en ON en.id = e.domain_id LEFT JOIN delivery ed ON ed.id = e.delivery_id
  LEFT JOIN message em ON em.seq = e.message_seq`;

export interface EventViewRow {
  seq: number;
  event_id: Uint8Array;
  kind: number;
  at: number;
  detail: string | null;
  delivery_id: number | null;
  domain: string;
  recipient: string | null;
  route: number | null;
  message_id: Uint8Array | null;
  lists: string | null;
  subject: string | null;
  size: number | null;
  tags: string | null;
  metadata: string | null;
  sandbox: number | null;
}

/** A joined row as the event everyone knows. */
export function toEventView(row: EventViewRow): EventView {
  const detail = row.detail === null ? null : (JSON.parse(row.detail) as EventDetail);
  return {
    seq: row.seq,
    id: uuidText(row.event_id),
    kind: eventKindCode.word(row.kind),
    at: row.at,
    domain: row.domain,
    detail,
    message:
      row.message_id === null || row.lists === null
        ? null
        : {
            id: uuidText(row.message_id) as MessageId,
            lists: JSON.parse(row.lists) as AddressLists,
            subject: row.subject ?? '',
            size: row.size ?? 0,
            tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
            metadata: row.metadata === null ? {} : (JSON.parse(row.metadata) as Record<string, string>),
            sandbox: row.sandbox === 1,
          },
    recipient: row.recipient ?? detail?.recipient ?? null,
    deliveryId: row.delivery_id,
    route: detail?.route ?? (row.route === null ? null : routeCode.word(row.route)),
  };
}

/** One page of events and how many match (counted up to `countUpTo`); see `Store.findEvents` for the order. */
export function findEvents(db: Connection, filter: EventFilter): ResultOf<'findEvents'> {
  const domainIds = findNameIds(db, filter.domains);
  const kinds = [...new Set(filter.kinds ?? ALL_KINDS)].map(eventKindCode.of);
  const bySeq = filter.afterSeq !== undefined && !filter.newestFirst;
  const source =
    filter.messageId !== undefined || bySeq
      ? oneRange(db, filter, domainIds, kinds, bySeq)
      : manyRanges(db, filter, domainIds ?? everyDomain(db), kinds);
  const total = source.count(filter.countUpTo);
  const page = total === 0 && filter.countUpTo > 0 ? [] : source.page(filter.offset, filter.limit);
  const events: EventView[] = [];
  for (const seq of page) {
    const row = db.get<EventViewRow>(
      `SELECT ${EVENT_VIEW_COLUMNS} FROM event e ${EVENT_VIEW_JOINS} WHERE e.seq = ?`,
      seq,
    );
    if (row !== undefined) events.push(toEventView(row));
  }
  return { total, events };
}

/** Seq of the newest event, or 0. */
export function lastEventSeq(db: Connection): number {
  return db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM event')?.seq ?? 0;
}

interface Matches {
  count(upTo: number): number;
  /** Seqs in order. */
  page(offset: number, limit: number): number[];
}

/** The events of one message, or everything after a seq: a walk along one index, in one statement. */
function oneRange(
  db: Connection,
  given: EventFilter,
  domainIds: readonly number[] | undefined,
  kinds: readonly number[],
  bySeq: boolean,
): Matches {
  const filter = createFilter();
  if (given.messageId !== undefined) {
    filter.when('e.message_seq = ?', messageSeqOf(db, given.messageId));
  }
  filter.oneOf('e.domain_id', domainIds);
  if (given.kinds !== undefined) filter.oneOf('e.kind', kinds);
  filter.when('e.at >= ?', given.since);
  filter.when('e.at < ?', given.until);
  addRowConditions(filter, given);
  const direction = given.newestFirst ? 'DESC' : 'ASC';
  // Left alone, the planner takes all events of a domain and sorts them, to give the few behind a seq.
  const table = bySeq && given.messageId === undefined ? 'event e NOT INDEXED' : 'event e';
  const order = bySeq ? 'e.seq' : `e.at ${direction}, e.seq ${direction}`;
  return {
    count: (upTo) =>
      db.get<{ n: number }>(
        `SELECT count(*) AS n FROM (SELECT 1 FROM ${table} ${filter.where()} LIMIT ?)`,
        ...filter.values(),
        upTo,
      )?.n ?? 0,
    page: (offset, limit) =>
      db
        .all<{ seq: number }>(
          `SELECT e.seq FROM ${table} ${filter.where()} ORDER BY ${order} LIMIT ? OFFSET ?`,
          ...filter.values(),
          limit,
          offset,
        )
        .map((row) => row.seq),
  };
}

/** Every (domain, kind) pair is one range of the index, in time order already; the ranges are merged. */
function manyRanges(
  db: Connection,
  given: EventFilter,
  domainIds: readonly number[],
  kinds: readonly number[],
): Matches {
  const pairs = domainIds.flatMap((domainId) => kinds.map((kind) => [domainId, kind] as const));
  const filter = createFilter();
  filter.when('e.at >= ?', given.since);
  filter.when('e.at < ?', given.until);
  addRowConditions(filter, given);
  const range = `FROM event e INDEXED BY event_kind WHERE e.domain_id = ? AND e.kind = ?${filter.and()}`;
  const direction = given.newestFirst ? 'DESC' : 'ASC';
  return {
    count(upTo) {
      let total = 0;
      for (const pair of pairs) {
        if (total >= upTo) break;
        const sql = `SELECT count(*) AS n FROM (SELECT 1 ${range} LIMIT ?)`;
        total += db.get<{ n: number }>(sql, ...pair, ...filter.values(), upTo - total)?.n ?? 0;
      }
      return total;
    },
    page(offset, limit) {
      // In one statement the rows in front of the page never leave the engine.
      const isOne = pairs.length <= RANGES_PER_STATEMENT;
      const merged: { at: number; seq: number }[] = [];
      for (let start = 0; start < pairs.length; start += RANGES_PER_STATEMENT) {
        const chunk = pairs.slice(start, start + RANGES_PER_STATEMENT);
        const sql = `${chunk.map(() => `SELECT e.at AS at, e.seq AS seq ${range}`).join(' UNION ALL ')}
          ORDER BY at ${direction}, seq ${direction} LIMIT ? OFFSET ?`;
        const values = chunk.flatMap((pair) => [...pair, ...filter.values()]);
        const rows = db.all<{ at: number; seq: number }>(
          sql,
          ...values,
          isOne ? limit : offset + limit,
          isOne ? offset : 0,
        );
        for (const row of rows) merged.push(row);
      }
      if (isOne) return merged.map((row) => row.seq);
      const sign = given.newestFirst ? -1 : 1;
      merged.sort((a, b) => sign * (a.at - b.at || a.seq - b.seq));
      return merged.slice(offset, offset + limit).map((row) => row.seq);
    },
  };
}

/** Conditions that no index helps with; they are tested row by row within the ranges. */
function addRowConditions(filter: Filter, given: EventFilter): void {
  filter.when('e.seq > ?', given.afterSeq);
  filter.when('(SELECT address FROM delivery WHERE id = e.delivery_id) = ?', given.recipient);
  filter.when(
    'EXISTS (SELECT 1 FROM message m, json_each(m.tags) t WHERE m.seq = e.message_seq AND t.value = ?)',
    given.tag,
  );
}

/** -1, which no message has, where the id is unknown or no UUID. */
function messageSeqOf(db: Connection, id: string): number {
  const bytes = idBytes(id);
  if (bytes === null) return -1;
  return db.get<{ seq: number }>('SELECT seq FROM message WHERE id = ?', bytes)?.seq ?? -1;
}

/** The stored form of an id that a client gave, or null where it cannot be one. */
export function idBytes(id: string): Uint8Array | null {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id) ? uuidBytes(id) : null;
}

/** Names that have events: steps through the index from one domain to the next. */
export function everyDomain(db: Connection): number[] {
  return db
    .all<{ id: number }>(
      `WITH RECURSIVE known (id) AS (
         SELECT min(domain_id) FROM event INDEXED BY event_kind
         UNION ALL
         SELECT (SELECT min(domain_id) FROM event INDEXED BY event_kind WHERE domain_id > known.id) FROM known
         WHERE known.id IS NOT NULL
       ) SELECT id FROM known WHERE id IS NOT NULL`,
    )
    .map((row) => row.id);
}
