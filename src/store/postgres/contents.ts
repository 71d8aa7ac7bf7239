/**
 * When contents of messages are deleted. A content is kept while some recipient of its message is not final, while a
 * notice about it may have to be written, and while the sandbox shows a copy of it.
 */
import { leaveRows, STEP_BYTES } from '../shared/operations/removal.ts';
import { SHOWN, WAITS } from '../shared/rows/retention.ts';
import { finished } from '../shared/work.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import type { Session } from './engine/session.ts';
import { sharedDb } from './engine/shared-db.ts';

/** Deletes the contents that are no longer needed; returns their messages and octets. */
export async function dropContents(
  db: Db,
  messageSeqs: readonly number[],
): Promise<readonly { seq: number; size: number }[]> {
  const seqs = int8s(messageSeqs);
  // A transaction that ends another recipient at this moment waits here, and then sees that this one has ended.
  await db.run('SELECT FROM message WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE', seqs);
  return db.all(
    `DELETE FROM content c USING message m
     WHERE c.message_seq = ANY ($1::int8[]) AND m.seq = c.message_seq AND NOT ${WAITS} AND NOT ${SHOWN}
     RETURNING c.message_seq AS seq, c.size`,
    seqs,
  );
}

/**
 * Deletes the contents of messages with `keep_content` false whose recipients are all final and that no capture shows;
 * returns their octets. To be called after the last reason to keep them may have ended.
 */
export async function dropUnkeptContents(db: Db, messageSeqs: readonly number[]): Promise<number> {
  const unkept = await db.all<{ seq: number }>(
    'SELECT seq FROM message WHERE seq = ANY ($1::int8[]) AND NOT keep_content',
    int8s(messageSeqs),
  );
  if (unkept.length === 0) return 0;
  const dropped = await dropContents(
    db,
    unkept.map(({ seq }) => seq),
  );
  return dropped.reduce((sum, { size }) => sum + size, 0);
}

/** Deletes captures, what was indexed of messages without other ones, and contents that were kept only for them. */
export async function dropCaptures(db: Db, seqs: readonly number[]): Promise<void> {
  // Messages are locked before their captures, as by outcomes and by all who delete messages.
  await db.run(
    `SELECT FROM message WHERE seq = ANY (ARRAY(SELECT message_seq FROM capture WHERE seq = ANY ($1::int8[])))
     ORDER BY seq FOR UPDATE`,
    int8s(seqs),
  );
  const rows = await db.all<{ message_seq: number }>(
    `DELETE FROM capture WHERE seq IN (SELECT seq FROM capture WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE)
     RETURNING message_seq`,
    int8s(seqs),
  );
  const messages = [...new Set(rows.map((row) => row.message_seq))];
  await forgetTexts(db, messages);
  await dropUnkeptContents(db, messages);
}

/** Deletes what was indexed of those of the messages that have no captures any more. */
export async function forgetTexts(db: Db, messageSeqs: readonly number[]): Promise<void> {
  const messages = int8s(messageSeqs);
  // A capture that is being stored is waited for.
  await db.run('SELECT FROM message WHERE seq = ANY ($1::int8[]) ORDER BY seq FOR UPDATE', messages);
  const gone = `message_seq = ANY ($1::int8[]) AND NOT EXISTS (SELECT FROM capture c WHERE c.message_seq = t.message_seq)`;
  await db.run(`DELETE FROM capture_text t WHERE ${gone}`, messages);
  await db.run(`DELETE FROM capture_unread t WHERE ${gone}`, messages);
}

/** Deletes the content of a message, also one that is needed, and what is indexed of it; its captures are deleted before. */
export async function deleteContent(db: Db, messageSeq: number): Promise<void> {
  await forgetTexts(db, [messageSeq]);
  await db.run('DELETE FROM content WHERE message_seq = $1', messageSeq);
}

/**
 * Deletes the content of a message that is no longer needed, or leaves it to a later step if the running transaction
 * has deleted its maximum.
 */
export async function dropOrLeaveContent(session: Session, messageSeq: number): Promise<void> {
  if (session.dropped < STEP_BYTES) session.dropped += await dropUnkeptContents(session.db, [messageSeq]);
  else await finished(leaveRows(sharedDb(session.db, session), 'content', [messageSeq]));
}

/** Replaces the Date of a content, if it is ours, by another of the same length. */
export async function rewriteDate(db: Db, messageSeq: number, date: string): Promise<void> {
  await db.run(
    `UPDATE content c SET bytes = overlay(c.bytes PLACING $2::bytea FROM m.date_offset + 1)
     FROM message m WHERE c.message_seq = $1 AND m.seq = $1 AND m.date_offset IS NOT NULL`,
    messageSeq,
    Buffer.from(date, 'latin1'),
  );
}
