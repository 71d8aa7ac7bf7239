/** Who makes tokens, SMTP credentials and webhooks: tokens and people, as long as they may. */
import type { Connection } from './engine/connection.ts';

/**
 * Whether the creator of what is to be stored ended while the request was running: ending what it made has already
 * passed it. Rows of tokens stay, those of people do not, so an unknown creator is a person who was removed.
 */
export function isMakerGone(db: Connection, createdBy: string | null): boolean {
  if (createdBy === null) return false;
  const sql = `SELECT 1 FROM token WHERE id = ?1 AND revoked_at IS NULL
    UNION ALL SELECT 1 FROM person WHERE id = ?1 AND disabled_at IS NULL`;
  return db.get(sql, createdBy) === undefined;
}
