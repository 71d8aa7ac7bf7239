/**
 * The captured mail of the sandbox, one row per recipient's copy. A capture contains only the lines that delivery put
 * before the message; the content is the message's own. Newest first, paged by capture id. Inboxes are counted when they
 * are asked for.
 */

import { createKnownLists } from '../shared/known-lists.ts';
import {
  CAPTURE_VIEW,
  type CaptureRow,
  captureView,
  isNarrow,
  SENDER_NAME,
  searchedSubject,
} from '../shared/rows/captures.ts';
import type { CaptureFilter, CaptureView, NewCapture } from '../topics/captures.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { domainIdsIn } from './engine/domains-in.ts';
import { createFilter, type Filter } from './engine/filter.ts';
import { alongIndex, lastOfLook, mergedRows, messageOf, type Ranges } from './engine/merged.ts';
import { read } from './engine/operation.ts';
import { findNameIds, type Session } from './engine/session.ts';

const MESSAGE = `m.id AS message_id, m.lists, m.subject, m.size, m.tags, n.text AS domain`;

/** Stores a capture together with its outcome, and has it reported after the commit. */
export async function insertCapture(
  session: Session,
  capture: NewCapture,
  subject: { domainId: number; messageSeq: number; deliveryId: number; envelopeTo: string },
): Promise<void> {
  const { db } = session;
  // A transaction that deletes another copy waits for this one, and then keeps what is indexed of the message.
  const message = await db.get<
    Pick<CaptureRow, 'message_id' | 'lists' | 'subject' | 'size' | 'tags' | 'domain'> & { sender: string }
  >(
    `SELECT ${MESSAGE}, ${SENDER_NAME} AS sender FROM message m JOIN name n ON n.id = m.domain_id WHERE m.seq = $1
     FOR NO KEY UPDATE OF m`,
    subject.messageSeq,
  );
  if (message === undefined) throw new Error('A capture of a message that does not exist');
  const row = {
    id: capture.id,
    message_seq: subject.messageSeq,
    at: capture.at,
    inbox: (capture.inbox ?? message.sender).toLowerCase(),
    envelope_from: capture.envelopeFrom,
    envelope_to: subject.envelopeTo,
    prefix: capture.prefix,
    fill: capture.fill === undefined ? null : capture.fill.join(' '),
  };
  const seq = await db.insertId('capture', 'seq', {
    ...row,
    domain_id: subject.domainId,
    delivery_id: subject.deliveryId,
    subject: searchedSubject(message.subject),
  });
  await db.run(
    `INSERT INTO capture_unread (message_seq, domain_id) SELECT $1::int8, $2::int8
     WHERE NOT EXISTS (SELECT FROM capture_text WHERE message_seq = $1::int8) ON CONFLICT DO NOTHING`,
    row.message_seq,
    subject.domainId,
  );
  const { sender: _, ...rest } = message;
  session.captured.push(
    captureView({ ...rest, ...row, seq, released_at: null, released_as: null, seen_at: null }),
  );
}

const JOINS = 'JOIN message m ON m.seq = c.message_seq JOIN name n ON n.id = c.domain_id';

export const findCaptures = read('findCaptures', { lane: 'search' }, async (db, params) => {
  const before = params.beforeSeq ?? Number.MAX_SAFE_INTEGER;
  const range = { from: await placesOf(db, params), above: 0, below: before, order: 'DESC' } as const;
  const last = isNarrow(params) ? (await lastOfLook<Key>(db, rangesOf(range), params.look))?.seq : undefined;
  const filter = createFilter();
  narrow(filter, params);
  // A message whose text was not indexed yet stays in the result, because it may match.
  filter.when("coalesce(position(? IN c.subject || ' ' || t.text) > 0, true)", params.text);
  filter.when('coalesce(t.has_files = ?, true)', params.hasFiles);
  const inside = params.text !== undefined || params.hasFiles !== undefined;
  const looked = { ...range, above: (last ?? 1) - 1 };
  const ranges = rangesOf(looked, { filter, inside, ofMessage: ofMessage(params) });
  const matches = await mergedRows<Key>(db, ranges, params.limit);
  const { views, read } = await viewsOf(db, matches);
  const isWhole = read.length === matches.length;
  return {
    captures: views,
    unread: inside ? read.filter(({ unread }) => unread === true).map(({ seq }) => seq) : [],
    nextSeq: (isWhole && matches.length < params.limit ? last : read.at(-1)?.seq) ?? null,
  };
});

interface Key {
  seq: number;
  unread?: boolean;
}

/** Columns of its indexes, with their values. */
const DOMAIN = ['c.domain_id', 'g.place'] as const;
const INBOX = ['c.inbox', '?'] as const;
const TO = ['lower(c.envelope_to)', 'lower(?::text COLLATE "C")'] as const;

/** The ranges that may contain matching captures: one inbox, one recipient, a sender domain, or all. */
interface Places {
  ids: readonly number[] | undefined;
  by: typeof INBOX | typeof TO | null;
  value: string;
}

/** In their index, between two numbers. */
interface Range {
  from: Places;
  above: number;
  below: number;
  order: 'ASC' | 'DESC';
}

export async function placesOf(db: Db, params: CaptureFilter): Promise<Places> {
  const ids = await findNameIds(db, params.domains);
  const { inbox, to } = params;
  if (inbox === undefined && to === undefined) return { ids, by: null, value: '' };
  const by = inbox !== undefined ? INBOX : TO;
  return { ids: ids ?? (await domainIdsIn(db, 'capture')), by, value: inbox ?? to ?? '' };
}

/** The matching captures of the ranges, by seq; `inside`: with a condition on the text of the message. */
export function rangesOf(
  { from: { ids, by, value }, above, below, order }: Range,
  { filter, inside, ofMessage }: { filter: Filter; inside: boolean; ofMessage: boolean } = {
    filter: createFilter(),
    inside: false,
    ofMessage: false,
  },
): Ranges {
  const joins = [
    inside ? 'LEFT JOIN capture_text t ON t.message_seq = c.message_seq' : '',
    ofMessage ? messageOf('c.message_seq') : '',
  ].join(' ');
  const own = by === null ? [] : [value];
  const index = alongIndex([...(ids === undefined ? [] : [DOMAIN]), ...(by === null ? [] : [by])], 'c.seq');
  return {
    sql: `SELECT c.seq${inside ? ', t.message_seq IS NULL AS unread' : ''} FROM capture c ${joins}
      WHERE ${index.condition}${filter.and()}`,
    values: [...own, above, ...own, below, ...filter.values()],
    places: ids,
    order: `seq ${order}`,
    orderWithin: index.order(order),
  };
}

const VIEWS = `SELECT ${CAPTURE_VIEW} FROM unnest($1::int8[]) WITH ORDINALITY g (seq, place) JOIN capture c ON c.seq = g.seq ${JOINS}
  WHERE g.place > $2 ORDER BY g.place LIMIT $3`;
/** Views that are read together. */
const VIEWS_AT_ONCE = 100;

/** The captures that are read at once, and those that were read. */
async function viewsOf(
  db: Db,
  keys: readonly Key[],
): Promise<{ views: CaptureView[]; read: readonly Key[] }> {
  const known = createKnownLists();
  const views: CaptureView[] = [];
  const seqs = int8s(keys.map(({ seq }) => seq));
  for (let place = 0; place < keys.length; place += VIEWS_AT_ONCE) {
    for (const row of await db.all<CaptureRow>(VIEWS, seqs, place, VIEWS_AT_ONCE)) {
      views.push(captureView(row, known));
      if (known.isFull)
        return { views, read: keys.slice(0, keys.findIndex(({ seq }) => seq === row.seq) + 1) };
    }
  }
  return { views, read: keys };
}

/** The conditions of a filter besides its range. */
function narrow(filter: Filter, params: CaptureFilter): void {
  if (params.inbox !== undefined) filter.when(TO.join(' = '), params.to);
  filter.when('c.at >= ?', params.since);
  filter.when('c.at < ?', params.until);
  filter.when('position(? IN c.subject) > 0', params.subject);
  filter.when('lower(m.from_address) = lower(?::text COLLATE "C")', params.from);
  filter.when('? = ANY (m.tags)', params.tag);
  filter.when('(c.seen_at IS NOT NULL) = ?', params.seen);
}

/** Whether there are conditions on the message. */
function ofMessage(params: CaptureFilter): boolean {
  return params.from !== undefined || params.tag !== undefined;
}

/** Captures after a seq, oldest first; no earlier one can appear later. */
export const capturesSince = read('capturesSince', async (db, params, shared) => {
  const { afterSeq, limit, look } = params;
  const sql = 'SELECT seq FROM capture WHERE seq <= $1 ORDER BY seq DESC LIMIT 1';
  const newest = (await db.get<Key>(sql, await shared.captureHorizon.safe()))?.seq ?? 0;
  const from = await placesOf(db, params);
  const range = { from, above: afterSeq, below: newest + 1, order: 'ASC' } as const;
  const end = (await lastOfLook<Key>(db, rangesOf(range), look))?.seq;
  const upTo = end ?? newest;
  const filter = createFilter();
  narrow(filter, params);
  const ranges = rangesOf(
    { ...range, below: upTo + 1 },
    { filter, inside: false, ofMessage: ofMessage(params) },
  );
  const matches = await mergedRows<Key>(db, ranges, limit);
  const { views, read } = await viewsOf(db, matches);
  const last = matches.length === limit || read.length < matches.length ? read.at(-1)?.seq : undefined;
  const lastSeq = last ?? upTo;
  return { captures: views, lastSeq, more: lastSeq < newest && (last ?? end) !== undefined };
});

/** One capture, or null if those domains have none with this id. */
export const getCapture = read('getCapture', async (db, params) => {
  const row = await db.get<CaptureRow>(
    `SELECT ${CAPTURE_VIEW} FROM capture c ${JOINS} WHERE c.id = $1`,
    params.id,
  );
  return row === undefined || params.domains?.includes(row.domain) === false ? null : captureView(row);
});

export const releaseFacts = read('releaseFacts', async (db, params) => {
  const row = await db.get<{
    keepContent: boolean;
    bodyOffset: number;
    needsSmtpUtf8: boolean;
    eightBit: boolean;
    dateOffset: number | null;
  }>(
    `SELECT keep_content AS "keepContent", body_offset AS "bodyOffset", needs_smtputf8 AS "needsSmtpUtf8",
       eight_bit AS "eightBit", date_offset AS "dateOffset" FROM message WHERE seq = $1`,
    params.messageSeq,
  );
  return row ?? null;
});

/** $1: domains, $2, $3: inbox and domain behind which, $4: limit. Steps from one inbox of a domain to the next. */
const INBOXES = `WITH page AS MATERIALIZED (
    SELECT i.inbox, n.text AS domain, g.place AS domain_id FROM unnest($1::int8[]) g (place) JOIN name n ON n.id = g.place
    CROSS JOIN LATERAL (
      WITH RECURSIVE step (inbox) AS (
        (SELECT c.inbox FROM capture c WHERE c.domain_id = g.place AND c.inbox >= $2 ORDER BY c.inbox LIMIT 1)
        UNION ALL
        SELECT (SELECT c.inbox FROM capture c WHERE c.domain_id = g.place AND c.inbox > step.inbox ORDER BY c.inbox LIMIT 1)
        FROM step WHERE step.inbox IS NOT NULL)
      SELECT inbox FROM step WHERE inbox IS NOT NULL LIMIT $4::int8 + 1) i
    WHERE (i.inbox, n.text) > ($2, $3) ORDER BY i.inbox, n.text LIMIT $4)
  SELECT p.domain, p.inbox, counted.count, counted.unseen, c.id, c.at, m.subject
  FROM page p CROSS JOIN LATERAL (
      SELECT count(*) AS count, count(*) FILTER (WHERE c.seen_at IS NULL) AS unseen, max(c.seq) AS seq
      FROM capture c WHERE c.domain_id = p.domain_id AND c.inbox = p.inbox) counted
    JOIN capture c ON c.seq = counted.seq JOIN message m ON m.seq = c.message_seq
  ORDER BY p.inbox, p.domain`;

export const listInboxes = read('listInboxes', { lane: 'search' }, async (db, params) => {
  const { inbox = '', domain = '' } = params.after ?? {};
  const domainIds = (await findNameIds(db, params.domains)) ?? (await domainIdsIn(db, 'capture'));
  const rows = await db.all<{
    domain: string;
    inbox: string;
    count: number;
    unseen: number;
    id: string;
    at: number;
    subject: string;
  }>(INBOXES, int8s(domainIds), inbox, domain, params.limit);
  return rows.map(({ id, at, subject, ...row }) => ({ ...row, latest: { id, at, subject } }));
});
