/**
 * Cause groups. Settling an unsuccessful outcome puts its recipient under the named cause, which is created if it is
 * new; a delivery or a retry removes it. Counts use the partial index over members and stop at a limit.
 */
import type { NewCause } from '../topics/causes.ts';
import type { Session } from './engine/session.ts';

/** Maximum of causes; above it no new one is created, and its recipients stay without a group. */
const MAX_CAUSES = 5_000;
/** A cause that is seen all the time is not written all the time. */
const SEEN_WITHIN_MS = 60_000;

/** The id of a cause, created if new; null if there are too many. */
export async function causeId(session: Session, cause: NewCause, now: number): Promise<number | null> {
  const { db } = session;
  const sender = cause.senderDomain === '' ? 0 : await session.nameId(cause.senderDomain);
  const key = [cause.category, cause.site, sender, cause.shape] as const;
  const find = () =>
    db.get<{ id: number; last_seen: number }>(
      'SELECT id, last_seen FROM cause WHERE category = $1 AND site = $2 AND sender_domain = $3 AND shape = $4',
      ...key,
    );
  const known = await find();
  if (known !== undefined) {
    if (known.last_seen + SEEN_WITHIN_MS <= now) {
      await db.run('UPDATE cause SET last_seen = $1 WHERE id = $2 AND last_seen < $1', now, known.id);
    }
    return known.id;
  }
  const count = await db.get<{ n: number }>('SELECT count(*) AS n FROM cause');
  if ((count?.n ?? 0) >= MAX_CAUSES) return null;
  await db.run(
    `INSERT INTO cause (category, site, sender_domain, shape, scope, reply, first_seen, last_seen)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $7) ON CONFLICT DO NOTHING`,
    ...key,
    cause.scope,
    cause.reply,
    now,
  );
  return (await find())?.id ?? null;
}
