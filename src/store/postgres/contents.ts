/**
 * When contents of messages are deleted. A content is kept while some recipient of its message is not final, while a
 * notice about it may have to be written, and while the sandbox shows a copy of it.
 */
import type { Db } from './engine/db.ts';

/** Of message `m`: some recipient is not final, or a notice is still to be written. */
export const WAITS = `(EXISTS (SELECT FROM delivery d WHERE d.message_seq = m.seq AND d.state IN (0, 1))
  OR EXISTS (SELECT FROM notice_due n WHERE n.message_seq = m.seq))`;
/** Of message `m`: the sandbox shows it. */
export const SHOWN = 'EXISTS (SELECT FROM capture c WHERE c.message_seq = m.seq)';

/** Approximate octets of contents that one step deletes. */
export const STEP_BYTES = 16_777_216;

/** Deletes the content; returns its octets, or null if there was none, or if it stays. */
export async function dropContent(db: Db, seq: number): Promise<number | null> {
  // Whoever ends another recipient at this moment waits here, and then sees that this one has ended.
  await db.get('SELECT FROM message WHERE seq = $1 FOR UPDATE', seq);
  const row = await db.get<{ size: number }>(
    `DELETE FROM content c USING message m WHERE c.message_seq = $1 AND m.seq = $1 AND NOT ${WAITS} AND NOT ${SHOWN}
     RETURNING c.size`,
    seq,
  );
  return row?.size ?? null;
}

/**
 * Deletes the content of a message if all its recipients are final and no capture shows it; returns its octets. To be
 * called after the last reason to keep it may have ended, for messages with `keep_content` false.
 */
export async function dropUnkeptContent(db: Db, messageSeq: number): Promise<number> {
  const sql = 'SELECT keep_content FROM message WHERE seq = $1';
  const row = await db.get<{ keep_content: boolean }>(sql, messageSeq);
  return row?.keep_content === false ? ((await dropContent(db, messageSeq)) ?? 0) : 0;
}
