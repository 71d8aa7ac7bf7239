/** Deletes webhooks together with their sender domain, or with the token that created them. */
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';

/** Deletes the webhooks of a domain that is being removed. */
export async function deleteWebhooksOf(db: Db, domainId: number): Promise<void> {
  await leaveCalls(db, await db.all('DELETE FROM webhook WHERE domain_id = $1 RETURNING id', domainId));
}

/** Deletes those created with a token, at most `limit`; returns how many. */
export async function deleteWebhooksMadeWith(db: Db, tokenId: string, limit: number): Promise<number> {
  const rows = await db.all<{ id: number }>(
    `DELETE FROM webhook WHERE id IN
       (SELECT id FROM webhook WHERE created_by = $1 ORDER BY id LIMIT $2 FOR UPDATE) RETURNING id`,
    tokenId,
    limit,
  );
  await leaveCalls(db, rows);
  return rows.length;
}

/** Their calls are deleted later, in portions. */
export async function leaveCalls(db: Db, webhooks: readonly { id: number }[]): Promise<void> {
  const ids = int8s(webhooks.map(({ id }) => id));
  await db.run('DELETE FROM webhook_resume WHERE webhook_id = ANY ($1::int8[])', ids);
  await db.run(
    "INSERT INTO leftover (kind, owner) SELECT 'webhook', * FROM unnest($1::int8[]) ON CONFLICT DO NOTHING",
    ids,
  );
}
