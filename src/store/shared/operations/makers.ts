/** Whether the creator of tokens, SMTP credentials and webhooks (a token or a person) may still create them. */
import type { Db } from '../operation.ts';
import type { Work } from '../work.ts';

/**
 * Whether the creator of what is to be stored was ended while the request was running: what is stored now would not be ended
 * with it. Rows of tokens stay, those of people do not, so an unknown creator is a person who was removed. The creator's row
 * is locked until the transaction ends, so that nobody ends it in between. A change of a person's rights ends the person's
 * sessions, so a session that exists shows that the rights of the request still hold.
 */
export function* isMakerGone(db: Db, createdBy: string | null, inSession?: string): Work<boolean> {
  if (createdBy === null) return false;
  const token = 'SELECT 1 FROM token WHERE id = ? AND revoked_at IS NULL {|FOR SHARE}';
  const person = 'SELECT 1 FROM person WHERE id = ? AND disabled_at IS NULL {|FOR SHARE}';
  const maker = (yield* db.get(token, createdBy)) ?? (yield* db.get(person, createdBy));
  // A person before the sessions, as a change of the person's rights locks them: otherwise each could wait for the other.
  return maker === undefined || (yield* hasSessionEnded(db, inSession));
}

/** false without a session. Its row is locked until the transaction ends. */
export function* hasSessionEnded(db: Db, session: string | undefined): Work<boolean> {
  if (session === undefined) return false;
  const sql = 'SELECT 1 FROM person_session WHERE id = ? {|FOR KEY SHARE}';
  return (yield* db.get(sql, session)) === undefined;
}
