/** Who makes tokens, SMTP credentials and webhooks: tokens and people, as long as they may. */
import type { Db } from './engine/db.ts';

/**
 * Whether the creator of what is to be stored ended while the request was running: ending what it made has already
 * passed it. Rows of tokens stay, those of people do not, so an unknown creator is a person who was removed. The creator's row
 * is locked until the transaction ends, so that nobody ends it in between.
 */
export async function isMakerGone(db: Db, createdBy: string | null): Promise<boolean> {
  if (createdBy === null) return false;
  const token = 'SELECT FROM token WHERE id = $1 AND revoked_at IS NULL FOR SHARE';
  if ((await db.get(token, createdBy)) !== undefined) return false;
  const person = 'SELECT FROM person WHERE id = $1 AND disabled_at IS NULL FOR SHARE';
  return (await db.get(person, createdBy)) === undefined;
}
