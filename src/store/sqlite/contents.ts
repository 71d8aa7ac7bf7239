/**
 * When contents of messages are deleted. A content is kept while some recipient of its message is not final, while a
 * notice about it may have to be written, and while the sandbox shows a copy of it.
 */
import { leaveRows, STEP_BYTES } from '../shared/operations/removal.ts';
import { SHOWN, WAITS } from '../shared/rows/retention.ts';
import { resultOf } from '../shared/work.ts';
import type { Connection } from './engine/connection.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';

/** Deletes the content; returns its octets, or null if there was none. */
export function dropContent(db: Connection, seq: number): number | null {
  const row = db.get<{ domain_id: number; size: number; stays: number }>(
    `SELECT domain_id, size, ${WAITS} OR ${SHOWN} AS stays FROM message m WHERE m.seq = ?`,
    seq,
  );
  if (row === undefined || row.stays !== 0) return null;
  return deleteContent(db, { seq, domainId: row.domain_id }) > 0 ? row.size : null;
}

/** Deletes the content of a message, also one that is needed; how many rows. */
export function deleteContent(db: Connection, message: { seq: number; domainId: number }): number {
  forgetContents(db, [message]);
  return db.run('DELETE FROM content WHERE message_seq = ?', message.seq).changes;
}

/** Forgets that contents are stored. */
export function forgetContents(db: Connection, messages: readonly { seq: number; domainId: number }[]): void {
  const sql = 'DELETE FROM kept_content WHERE domain_id = ? AND message_seq = ?';
  for (const { seq, domainId } of messages) db.run(sql, domainId, seq);
}

/**
 * Deletes the content of a message if all its recipients are final and no capture shows it; returns its octets. To be
 * called after the last reason to keep it may have ended, for messages with `keep_content` 0.
 */
export function dropUnkeptContent(db: Connection, messageSeq: number): number {
  const row = db.get<{ keep_content: number }>('SELECT keep_content FROM message WHERE seq = ?', messageSeq);
  return row?.keep_content === 0 ? (dropContent(db, messageSeq) ?? 0) : 0;
}

/** Deletes captures, and contents that were kept only for them. What was indexed follows by a trigger. */
export function dropCaptures(db: Connection, seqs: readonly number[]): void {
  for (const seq of seqs) {
    const sql = 'DELETE FROM capture WHERE seq = ? RETURNING message_seq';
    const row = db.get<{ message_seq: number }>(sql, seq);
    if (row !== undefined) dropUnkeptContent(db, row.message_seq);
  }
}

/**
 * Deletes the content of a message that is no longer needed, or leaves it to a later step if the running transaction
 * has deleted its maximum.
 */
export function dropOrLeaveContent(session: Session, messageSeq: number): void {
  if (session.dropped < STEP_BYTES) session.dropped += dropUnkeptContent(session.db, messageSeq);
  else resultOf(leaveRows(sharedDb(session.db), 'content', [messageSeq]));
}

/** Replaces the Date of a content, if it is ours, by another of the same length. */
export function rewriteDate(db: Connection, messageSeq: number, date: string): void {
  const row = db.get<{ bytes: Uint8Array; date_offset: number | null }>(
    'SELECT c.bytes, m.date_offset FROM content c CROSS JOIN message m ON m.seq = c.message_seq WHERE c.message_seq = ?',
    messageSeq,
  );
  if (row === undefined || row.date_offset === null) return;
  const bytes = Buffer.from(row.bytes);
  bytes.write(date, row.date_offset, 'latin1');
  db.run('UPDATE content SET bytes = ? WHERE message_seq = ?', bytes, messageSeq);
}
