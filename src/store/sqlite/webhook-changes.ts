/**
 * Changing a webhook: its events, its URL, its secret, whether it is on. Switching it on resets its failure counters,
 * resumes calls that waited for less than the given age, and gives up the older ones, which can still be replayed. One
 * that is on already only has its waiting calls brought forward. A running call ends as it began.
 */

import { webhookEvents } from '../shared/codes.ts';
import { beginResume } from './call-portions.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';

export const updateWebhook = write('updateWebhook', 'measured', { synced: true }, (session, params) => {
  const { db } = session;
  const filter = createFilter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain_id', findNameIds(db, params.domains));
  const before = db.get<{ enabled: number }>(
    `SELECT enabled FROM webhook ${filter.where()}`,
    ...filter.values(),
  );
  if (before === undefined) return false;
  db.run(
    `UPDATE webhook SET event = coalesce(?, event), url = coalesce(?, url), description = coalesce(?, description),
       updated_at = ? WHERE id = ?`,
    params.events === undefined ? null : webhookEvents.text(params.events),
    params.url ?? null,
    params.description ?? null,
    params.now,
    params.id,
  );
  if (params.status === 'Disabled' && before.enabled === 1) {
    db.run("UPDATE webhook SET enabled = 0, disabled_reason = 'User' WHERE id = ?", params.id);
  }
  if (params.status === 'Enabled') {
    if (before.enabled === 0) switchOn(db, params.id);
    beginResume(db, { id: params.id, since: before.enabled === 0 ? params.resumeSince : 0, now: params.now });
  }
  session.hooksChanged();
  return true;
});

function switchOn(db: Connection, id: number): void {
  db.run(
    `UPDATE webhook SET enabled = 1, disabled_reason = NULL, failing_since = NULL, failed_tries = 0, blocked_tries = 0
     WHERE id = ?`,
    id,
  );
}

export const rotateWebhookSecret = write(
  'rotateWebhookSecret',
  'by key',
  { synced: true },
  ({ db }, params) => {
    const filter = createFilter();
    filter.when('id = ?', params.id);
    filter.oneOf('domain_id', findNameIds(db, params.domains));
    const { changes } = db.run(
      `UPDATE webhook SET previous_secret_sealed = secret_sealed, previous_secret_until = ?, secret_sealed = ?,
       updated_at = ? ${filter.where()}`,
      params.previousUntil,
      params.secretSealed,
      params.now,
      ...filter.values(),
    );
    return changes > 0;
  },
);

export const countPendingCalls = read('countPendingCalls', 'measured', { search: true }, (db, params) => {
  const { webhookId, countUpTo } = params;
  const count = (sql: string, ...values: readonly (string | number)[]) =>
    db.get<{ n: number }>(sql, ...values)?.n ?? 0;
  const waiting = count('SELECT waiting AS n FROM waiting_hook WHERE webhook_id = ?', webhookId);
  const sending = count(
    'SELECT count(*) AS n FROM webhook_call INDEXED BY webhook_call_lease WHERE state = 1 AND webhook_id = ?',
    webhookId,
  );
  const owed = count(
    `SELECT count(*) AS n FROM (SELECT l.webhooks FROM later_call l
       WHERE l.domain_id = (SELECT domain_id FROM webhook WHERE id = ?1) LIMIT ?2) l
     WHERE EXISTS (SELECT 1 FROM json_each(l.webhooks) WHERE value = ?1)`,
    webhookId,
    countUpTo,
  );
  return Math.min(countUpTo, waiting + sending + owed);
});
