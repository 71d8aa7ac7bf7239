/** Who makes tokens, SMTP credentials and webhooks: tokens and people, as long as they may. */
import type { Connection } from './engine/connection.ts';

/**
 * Whether the creator of what is to be stored was ended while the request was running: what is stored now would not be ended
 * with it. Rows of tokens stay, those of people do not, so an unknown creator is a person who was removed. A change of a
 * person's rights ends the person's sessions, so a session that exists shows that the rights of the request still hold.
 */
export function isMakerGone(db: Connection, createdBy: string | null, inSession?: string): boolean {
  if (createdBy === null) return false;
  if (hasSessionEnded(db, inSession)) return true;
  const sql = `SELECT 1 FROM token WHERE id = ?1 AND revoked_at IS NULL
    UNION ALL SELECT 1 FROM person WHERE id = ?1 AND disabled_at IS NULL`;
  return db.get(sql, createdBy) === undefined;
}

/** false without a session. */
export function hasSessionEnded(db: Connection, session: string | undefined): boolean {
  if (session === undefined) return false;
  return db.get('SELECT 1 FROM person_session WHERE id = ?', session) === undefined;
}
