/** Whether the creator of tokens, SMTP credentials and webhooks (a token or a person) may still create them. */
import type { Db } from './engine/db.ts';

/**
 * Whether the creator of what is to be stored was ended while the request was running: what is stored now would not be ended
 * with it. Rows of tokens stay, those of people do not, so an unknown creator is a person who was removed. The creator's row
 * is locked until the transaction ends, so that nobody ends it in between. A change of a person's rights ends the person's
 * sessions, so a session that exists shows that the rights of the request still hold.
 */
export async function isMakerGone(db: Db, createdBy: string | null, inSession?: string): Promise<boolean> {
  if (createdBy === null) return false;
  const token = 'SELECT FROM token WHERE id = $1 AND revoked_at IS NULL FOR SHARE';
  const person = 'SELECT FROM person WHERE id = $1 AND disabled_at IS NULL FOR SHARE';
  const isThere =
    (await db.get(token, createdBy)) !== undefined || (await db.get(person, createdBy)) !== undefined;
  // A person before the sessions, as a change of the person's rights locks them: otherwise each could wait for the other.
  return !isThere || hasSessionEnded(db, inSession);
}

/** false if there is no such session. Its row is locked until the transaction ends. */
export async function hasSessionEnded(db: Db, session: string | undefined): Promise<boolean> {
  if (session === undefined) return false;
  const sql = 'SELECT FROM person_session WHERE id = $1 FOR KEY SHARE';
  return (await db.get(sql, session)) === undefined;
}
