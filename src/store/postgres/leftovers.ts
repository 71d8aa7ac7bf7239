/**
 * Deletes rows that belong to a removed thing in portions. When a thing is removed, its number is stored in `leftover`;
 * its rows can no longer be found, and `purgeLeftovers` deletes them in portions.
 */
import { dropUnkeptContents, STEP_BYTES } from './contents.ts';
import type { Db } from './engine/db.ts';
import type { Session } from './engine/session.ts';

export type LeftoverKind = 'webhook' | 'template' | 'sandbox-rule' | 'content';

/** Records that the rows of a thing are to be deleted; the thing's own row is deleted in the same transaction. */
export async function leaveRows(db: Db, kind: LeftoverKind, owner: number): Promise<void> {
  await db.insert('leftover', { kind, owner }, 'ON CONFLICT DO NOTHING');
}

/**
 * Deletes the content of a message that is no longer needed, or leaves it to a later step if the running transaction
 * has deleted its maximum.
 */
export async function dropOrLeaveContent(session: Session, messageSeq: number): Promise<void> {
  if (session.dropped >= STEP_BYTES) await leaveRows(session.db, 'content', messageSeq);
  else session.dropped += await dropUnkeptContents(session.db, [messageSeq]);
}
