/**
 * Changing a webhook: its events, its URL, its secret, whether it is on. Switching it on resets its failure counters,
 * resumes calls that waited for less than the given age, and gives up the older ones, which can still be replayed. One
 * that is on already only has its waiting calls brought forward. A running call ends as it began.
 */
import { webhookEvents } from '../shared/codes.ts';
import { beginResume, SERIAL } from './call-portions.ts';
import { read, write } from './engine/operation.ts';
import { webhookOf } from './webhooks.ts';

export const updateWebhook = write('updateWebhook', { serial: SERIAL }, async ({ db }, params) => {
  const { id, now, status } = params;
  const where = await webhookOf(db, params);
  const sql = `SELECT enabled FROM webhook ${where.where()} FOR UPDATE`;
  const before = await db.get<{ enabled: boolean }>(sql, ...where.values());
  if (before === undefined) return false;
  await db.run(
    `UPDATE webhook SET event = coalesce($1, event), url = coalesce($2, url), description = coalesce($3, description),
       updated_at = $4 WHERE id = $5`,
    params.events === undefined ? null : webhookEvents.text(params.events),
    params.url ?? null,
    params.description ?? null,
    now,
    id,
  );
  if (status === 'Disabled' && before.enabled) {
    await db.run("UPDATE webhook SET enabled = false, disabled_reason = 'User' WHERE id = $1", id);
  }
  if (status === 'Enabled') {
    if (!before.enabled) {
      await db.run(
        `UPDATE webhook SET enabled = true, disabled_reason = NULL, failing_since = NULL, failed_tries = 0, blocked_tries = 0
         WHERE id = $1`,
        id,
      );
    }
    await beginResume(db, { id, since: before.enabled ? 0 : params.resumeSince, now });
  }
  return true;
});

export const rotateWebhookSecret = write('rotateWebhookSecret', async ({ db }, params) => {
  const where = await webhookOf(db, params);
  const changes = await db.run(
    `UPDATE webhook SET previous_secret_sealed = secret_sealed, previous_secret_until = ?, secret_sealed = ?,
       updated_at = ? ${where.where()}`,
    params.previousUntil,
    params.secretSealed,
    params.now,
    ...where.values(),
  );
  return changes > 0;
});

export const countPendingCalls = read('countPendingCalls', { lane: 'search' }, async (db, params) => {
  const row = await db.get<{ n: number }>(
    `SELECT least($2::int8,
       (SELECT count(*) FROM (SELECT FROM webhook_call WHERE state = 0 AND webhook_id = $1 LIMIT $2) c)
       + (SELECT count(*) FROM webhook_call WHERE state = 1 AND webhook_id = $1)
       + (SELECT count(*) FROM (SELECT l.webhooks FROM later_call l
            WHERE l.domain_id = (SELECT domain_id FROM webhook WHERE id = $1) LIMIT $2) l
          WHERE l.webhooks::jsonb @> to_jsonb($1::int8))) AS n`,
    params.webhookId,
    params.countUpTo,
  );
  return row?.n ?? 0;
});
