/**
 * The sandbox's inbox: what would have been sent, kept per recipient copy. A capture holds only the lines that
 * delivery put in front; the content is the message's own. Newest first, paged by capture id.
 */
import { uuidText } from '../../lib/ids.ts';
import type { AddressLists, MessageId } from '../../model/message.ts';
import { foldText } from '../../model/search-text.ts';
import type {
  CaptureFilter,
  CapturePage,
  CaptureQuestion,
  CaptureView,
  InboxView,
  NewCapture,
  ReleaseFacts,
} from '../topics/captures.ts';
import type { Connection } from './connection.ts';
import { createFilter, type Filter } from './filter.ts';
import type { ParamsOf, ResultOf } from './operation-types.ts';
import { dropUnkeptContent } from './retention.ts';
import { findNameIds, type Session } from './session.ts';

/** Stores a capture beside the outcome it belongs to, and has it told after the commit. */
export function insertCapture(
  session: Session,
  capture: NewCapture,
  subject: { domainId: number; messageSeq: number; deliveryId: number; envelopeTo: string },
): void {
  const { db } = session;
  const message = db.get<Pick<CaptureRow, 'message_id' | 'lists' | 'subject' | 'size' | 'tags' | 'domain'>>(
    `SELECT m.id AS message_id, m.lists, m.subject, m.size, m.tags, n.text AS domain
     FROM message m CROSS JOIN name n ON n.id = m.domain_id WHERE m.seq = ?`,
    subject.messageSeq,
  );
  if (message === undefined) throw new Error('A capture of a message that does not exist');
  const row = {
    ...message,
    released_at: null,
    released_as: null,
    id: capture.id,
    message_seq: subject.messageSeq,
    inbox: (capture.inbox ?? senderName(db, subject.messageSeq)).toLowerCase(),
    at: capture.at,
    envelope_from: capture.envelopeFrom,
    envelope_to: subject.envelopeTo,
    prefix: capture.prefix,
    fill: capture.fill === undefined ? null : capture.fill.join(' '),
  };
  const seq = db.run(
    `INSERT INTO capture (id, domain_id, message_seq, delivery_id, at, inbox, envelope_from, envelope_to, prefix, fill, subject)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.id,
    subject.domainId,
    row.message_seq,
    subject.deliveryId,
    row.at,
    row.inbox,
    row.envelope_from,
    row.envelope_to,
    row.prefix,
    row.fill,
    foldText(row.subject),
  ).lastId;
  db.run(
    `INSERT INTO capture_unread (message_seq) SELECT ?1
     WHERE NOT EXISTS (SELECT 1 FROM capture_text WHERE message_seq = ?1) ON CONFLICT DO NOTHING`,
    row.message_seq,
  );
  session.captured.push(toView({ ...row, seq }));
}

/** What the token or credential behind a message is called; '' where it has no name any more. */
export function senderName(db: Connection, messageSeq: number): string {
  const row = db.get<{ name: string }>(
    `SELECT coalesce((SELECT name FROM token WHERE id = n.text),
       (SELECT name FROM smtp_credential WHERE id = n.text), '') AS name
     FROM message m CROSS JOIN name n ON n.id = m.token_name_id WHERE m.seq = ?`,
    messageSeq,
  );
  return row?.name ?? '';
}

const VIEW = `c.seq, c.released_at, c.released_as, c.id, c.message_seq, c.inbox, c.at, c.envelope_from, c.envelope_to, c.prefix, c.fill, m.id AS message_id,
    m.lists, m.subject, m.size, m.tags, n.text AS domain`;
const MESSAGE = 'CROSS JOIN message m ON m.seq = c.message_seq CROSS JOIN name n ON n.id = c.domain_id';

/** One page of captures that match; see `Store.findCaptures`. */
export function findCaptures(db: Connection, params: ParamsOf<'findCaptures'>): CapturePage {
  const { index, filter } = place(db, params);
  filter.when('c.seq < ?', params.beforeSeq);
  const last = isNarrow(params) ? lookEnd(db, index, filter, params.look) : undefined;
  filter.when('c.seq >= ?', last);
  narrow(filter, params);
  // A message that was not read has no text: nobody knows, so it stays.
  filter.when("coalesce(instr(c.subject || ' ' || t.text, ?) > 0, 1)", params.text);
  filter.when('coalesce(t.has_files = ?, 1)', params.hasFiles === undefined ? undefined : +params.hasFiles);
  const inside = params.text !== undefined || params.hasFiles !== undefined;
  const [column, join] = inside
    ? [', t.message_seq IS NULL AS unread', 'LEFT JOIN capture_text t ON t.message_seq = c.message_seq']
    : ['', ''];
  const rows = db.all<CaptureRow & { unread?: number }>(
    `SELECT ${VIEW}${column} FROM capture c ${index} ${join} ${MESSAGE} ${filter.where()} ORDER BY c.seq DESC LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  return {
    captures: rows.map(toView),
    unread: rows.filter((row) => row.unread === 1).map((row) => row.seq),
    nextSeq: (rows.length === params.limit ? rows.at(-1)?.seq : last) ?? null,
  };
}

/**
 * Where captures that may match stand in order of capturing: in one inbox, to one recipient, of one sender domain, or all.
 * The first two indexes hold all that most looks ask for; a row is read where those match.
 */
function place(db: Connection, params: CaptureFilter): { index: string; filter: Filter } {
  const filter = createFilter();
  const domains = findNameIds(db, params.domains);
  if (params.inbox !== undefined) {
    filter.when('c.inbox = ?', params.inbox);
    filter.oneOf('c.domain_id', domains);
    return { index: 'INDEXED BY capture_inbox', filter };
  }
  if (params.to !== undefined) {
    filter.when('c.envelope_to = ?', params.to);
    filter.oneOf('c.domain_id', domains);
    return { index: 'INDEXED BY capture_to', filter };
  }
  if (domains?.length === 1) {
    filter.when('c.domain_id = ?', domains[0]);
    return { index: 'INDEXED BY capture_domain', filter };
  }
  filter.oneOf('c.domain_id', domains);
  return { index: 'NOT INDEXED', filter };
}

/** How far a page looks: a step along the index, without a row. Undefined: to the end. */
function lookEnd(db: Connection, index: string, filter: Filter, look: number): number | undefined {
  return db.get<{ seq: number }>(
    `SELECT c.seq FROM capture c ${index} ${filter.where()} ORDER BY c.seq DESC LIMIT 1 OFFSET ?`,
    ...filter.values(),
    look - 1,
  )?.seq;
}

/** Whether some of what stands at the place may not match: then as much as is asked for may be far away. */
function isNarrow({ inbox, to, since, until, subject, from, tag, text, hasFiles }: CaptureQuestion): boolean {
  const wishes = [inbox === undefined ? undefined : to, since, until, subject, from, tag, text, hasFiles];
  return wishes.some((wish) => wish !== undefined);
}

/** What a filter asks besides the place. */
function narrow(filter: Filter, params: CaptureFilter): void {
  if (params.inbox !== undefined) filter.when('c.envelope_to = ?', params.to);
  filter.when('c.at >= ?', params.since);
  filter.when('c.at < ?', params.until);
  filter.when('instr(c.subject, ?) > 0', params.subject);
  filter.when('m.from_address = ?', params.from);
  filter.when('EXISTS (SELECT 1 FROM json_each(m.tags) WHERE value = ?)', params.tag);
}

/** What was captured after a seq, oldest first; see `Store.capturesSince`. */
export function capturesSince(db: Connection, params: ParamsOf<'capturesSince'>): ResultOf<'capturesSince'> {
  const newest = db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM capture')?.seq ?? 0;
  const { index, filter } = place(db, params);
  narrow(filter, params);
  filter.when('c.seq > ?', params.afterSeq);
  // What is committed between the two statements is the next call's.
  filter.when('c.seq <= ?', newest);
  const rows = db.all<CaptureRow>(
    `SELECT ${VIEW} FROM capture c ${index} ${MESSAGE} ${filter.where()} ORDER BY c.seq LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  const last = rows.length === params.limit ? rows.at(-1)?.seq : undefined;
  return { captures: rows.map(toView), lastSeq: last ?? Math.max(newest, 0) };
}

/** One capture, or null where it does not exist in those domains. */
export function getCapture(db: Connection, params: ParamsOf<'getCapture'>): CaptureView | null {
  const filter = createFilter();
  filter.when('c.id = ?', params.id);
  filter.oneOf('c.domain_id', findNameIds(db, params.domains));
  const row = db.get<CaptureRow>(
    `SELECT ${VIEW} FROM capture c ${MESSAGE} ${filter.where()}`,
    ...filter.values(),
  );
  return row === undefined ? null : toView(row);
}

/** See `Store.releaseFacts`. */
export function releaseFacts(db: Connection, params: ParamsOf<'releaseFacts'>): ReleaseFacts | null {
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
}

/** Inboxes by name and domain; see `Store.listInboxes`. Steps from one to the next through the index. */
export function listInboxes(db: Connection, params: ParamsOf<'listInboxes'>): InboxView[] {
  const filter = createFilter();
  filter.oneOf('c.domain_id', findNameIds(db, params.domains));
  filter.when(
    '(c.inbox, n.text) > (SELECT value ->> 0, value ->> 1 FROM (SELECT ? AS value))',
    params.after === undefined ? undefined : JSON.stringify([params.after.inbox, params.after.domain]),
  );
  const groups = db.all<{ inbox: string; domain: string; n: number; last: number }>(
    `SELECT c.inbox, n.text AS domain, count(*) AS n, max(c.seq) AS last
     FROM capture c CROSS JOIN name n ON n.id = c.domain_id ${filter.where()}
     GROUP BY c.inbox, n.text ORDER BY c.inbox, n.text LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  return groups.flatMap(({ inbox, domain, n, last }) => {
    const latest = db.get<{ id: string; at: number; subject: string }>(
      'SELECT c.id, c.at, m.subject FROM capture c CROSS JOIN message m ON m.seq = c.message_seq WHERE c.seq = ?',
      last,
    );
    return latest === undefined ? [] : [{ domain, inbox, count: n, latest }];
  });
}

/** Deletes captures by id, by inbox, by domain, or all of them; how many. */
export function deleteCaptures({ db }: Session, params: ParamsOf<'deleteCaptures'>): number {
  const filter = createFilter();
  filter.oneOf('id', params.ids);
  filter.when('inbox = ?', params.inbox);
  filter.oneOf('domain_id', findNameIds(db, params.domains));
  const gone = db.all<{ message_seq: number }>(
    `DELETE FROM capture ${filter.where()} RETURNING message_seq`,
    ...filter.values(),
  );
  for (const seq of new Set(gone.map((row) => row.message_seq))) dropUnkeptContent(db, seq);
  return gone.length;
}

/** See `Store.unreadCaptures`. */
export function unreadCaptures(db: Connection, params: ParamsOf<'unreadCaptures'>): number[] {
  return db
    .all<{ message_seq: number }>(
      'SELECT message_seq FROM capture_unread ORDER BY message_seq DESC LIMIT ?',
      params.limit,
    )
    .map((row) => row.message_seq);
}

/** See `Store.putCaptureTexts`. */
export function putCaptureTexts({ db }: Session, params: ParamsOf<'putCaptureTexts'>): void {
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
}

interface CaptureRow {
  seq: number;
  released_at: number | null;
  released_as: string | null;
  id: string;
  message_seq: number;
  inbox: string;
  at: number;
  envelope_from: string;
  envelope_to: string;
  prefix: Uint8Array;
  fill: string | null;
  message_id: Uint8Array;
  lists: string;
  subject: string;
  size: number;
  tags: string | null;
  domain: string;
}

function toView(row: CaptureRow): CaptureView {
  return {
    seq: row.seq,
    id: row.id,
    messageId: uuidText(row.message_id) as MessageId,
    messageSeq: row.message_seq,
    domain: row.domain,
    inbox: row.inbox,
    at: row.at,
    envelopeFrom: row.envelope_from,
    envelopeTo: row.envelope_to,
    lists: JSON.parse(row.lists) as AddressLists,
    subject: row.subject,
    size: row.size,
    tags: row.tags === null ? [] : (JSON.parse(row.tags) as string[]),
    prefix: row.prefix,
    fill: row.fill === null ? null : row.fill.split(' '),
    released:
      row.released_at === null || row.released_as === null
        ? null
        : { at: row.released_at, messageId: row.released_as },
  };
}
