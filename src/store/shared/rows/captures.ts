/** Captured mail, as rows: storing and showing them. Which questions about it are narrow. */
import type { MessageId } from '../../../model/message.ts';
import { foldText } from '../../../model/search-text.ts';
import type { CaptureQuestion, CaptureView, NewCapture } from '../../topics/captures.ts';
import { createKnownLists } from '../known-lists.ts';
import type { Session } from '../operation.ts';
import { idOf, type StoredId, type StoredTexts, textsOf } from '../stored.ts';
import type { Work } from '../work.ts';

/** Everything `captureView` needs of a capture `c`, its message `m` and its domain's name `n`. */
export const CAPTURE_VIEW = `c.seq, c.released_at, c.released_as, c.seen_at, c.id, c.message_seq, c.inbox, c.at, c.envelope_from,
  c.envelope_to, c.prefix, c.fill, m.id AS message_id, m.lists, m.subject, m.size, m.tags, n.text AS domain`;

/**
 * Name of the token or credential of message `m`; '' if it has none any more. Their ids are UUIDs: whatever is shorter
 * names a part of this program, such as `smtp` or `notices`.
 */
export const SENDER_NAME = `coalesce((SELECT t.name FROM name k JOIN token t ON t.id = k.text WHERE k.id = m.token_name_id),
  (SELECT s.name FROM name k JOIN smtp_credential s ON s.id = k.text WHERE k.id = m.token_name_id),
  (SELECT k.text FROM name k WHERE k.id = m.token_name_id AND length(k.text) < 36), '')`;

const NARROWING = ['since', 'until', 'subject', 'from', 'tag', 'seen', 'text', 'hasFiles'] as const;

export interface CaptureRow {
  seq: number;
  released_at: number | null;
  released_as: string | null;
  seen_at: number | null;
  id: string;
  message_seq: number;
  inbox: string;
  at: number;
  envelope_from: string;
  envelope_to: string;
  prefix: Uint8Array;
  fill: string | null;
  message_id: StoredId;
  lists: string;
  subject: string;
  size: number;
  tags: StoredTexts;
  domain: string;
}

/** `known`: the lists of its page. */
export function captureView(row: CaptureRow, known = createKnownLists()): CaptureView {
  const messageId = idOf(row.message_id) as MessageId;
  return {
    seq: row.seq,
    id: row.id,
    messageId,
    messageSeq: row.message_seq,
    domain: row.domain,
    inbox: row.inbox,
    at: row.at,
    envelopeFrom: row.envelope_from,
    envelopeTo: row.envelope_to,
    lists: known.of(row.lists, messageId),
    subject: row.subject,
    size: row.size,
    tags: textsOf(row.tags),
    prefix: row.prefix,
    fill: row.fill === null ? null : row.fill.split(' '),
    released:
      row.released_at === null || row.released_as === null
        ? null
        : { at: row.released_at, messageId: row.released_as },
    seenAt: row.seen_at,
  };
}

/** Stores a capture together with its outcome, and has it reported after the commit. */
export function* insertCapture(
  { db, captured }: Session,
  capture: NewCapture,
  subject: { domainId: number; messageSeq: number; deliveryId: number; envelopeTo: string },
): Work<void> {
  // PostgreSQL: a transaction that deletes another copy waits for this one, and then keeps what is indexed of the message.
  const message = yield* db.get<
    Pick<CaptureRow, 'message_id' | 'lists' | 'subject' | 'size' | 'tags' | 'domain'> & { sender: string }
  >(
    `SELECT m.id AS message_id, m.lists, m.subject, m.size, m.tags, n.text AS domain, ${SENDER_NAME} AS sender
     FROM message m {CROSS|} JOIN name n ON n.id = m.domain_id WHERE m.seq = ? {|FOR NO KEY UPDATE OF m}`,
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
  const seq = yield* db.insertId('capture', 'seq', {
    ...row,
    domain_id: subject.domainId,
    delivery_id: subject.deliveryId,
    subject: searchedSubject(message.subject),
  });
  yield* db.run(
    `INSERT INTO capture_unread (message_seq, domain_id) SELECT {?1, ?2|?1::int8, ?2::int8}
     WHERE NOT EXISTS (SELECT 1 FROM capture_text WHERE message_seq = {?1|?1::int8}) ON CONFLICT DO NOTHING`,
    row.message_seq,
    subject.domainId,
  );
  captured.push(
    captureView({ ...message, ...row, seq, released_at: null, released_as: null, seen_at: null }),
  );
}

/** Whether some rows of a range may not match, so that the wanted ones may be far away. */
export function isNarrow(params: CaptureQuestion): boolean {
  if (params.inbox !== undefined && params.to !== undefined) return true;
  return NARROWING.some((name) => params[name] !== undefined);
}

/** Octets of a subject that are searched; two indexes of PostgreSQL allow rows of 2,704 octets. */
const MAX_SUBJECT_BYTES = 2_000;

/** Column `subject` of a capture. */
export function searchedSubject(subject: string): string {
  const bytes = Buffer.from(foldText(subject)).subarray(0, MAX_SUBJECT_BYTES);
  // Leaves out a letter that was cut.
  return new TextDecoder().decode(bytes, { stream: true });
}
