/** Captured mail, as rows, and which questions about it are narrow. */
import type { MessageId } from '../../../model/message.ts';
import { foldText } from '../../../model/search-text.ts';
import type { CaptureQuestion, CaptureView } from '../../topics/captures.ts';
import { createKnownLists } from '../known-lists.ts';
import { idOf, type StoredId, type StoredTexts, textsOf } from '../stored.ts';

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
