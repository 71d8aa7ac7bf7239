/**
 * Webhooks as rows, and reading their calls. Calls are claimed and settled in `calls.ts`, changes of webhooks are in
 * `webhook-changes.ts`.
 */

import {
  EVENT_VIEW_COLUMNS,
  EVENT_VIEW_JOINS,
  type EventViewRow,
  toEventView,
} from '../shared/rows/events.ts';
import {
  CALL,
  newWebhookRow,
  toLogEntry,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
} from '../shared/rows/webhooks.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds, type Session } from './engine/session.ts';
import { leaveRows } from './leftovers.ts';
import { isMakerGone } from './makers.ts';

export const createWebhook = write('createWebhook', 'by key', { synced: true }, (session, params) => {
  if (isMakerGone(session.db, params.createdBy, params.inSession)) return { kind: 'ended' };
  if (params.domainId !== null && isDomainGone(session.db, params.domainId)) return { kind: 'gone' };
  const domainId = session.nameId(params.domain);
  const { n } = session.db.get<{ n: number }>(
    'SELECT count(*) AS n FROM webhook WHERE domain_id = ?',
    domainId,
  ) ?? { n: 0 };
  if (n >= params.maxPerDomain) return { kind: 'limit' };
  const id = session.db.insert('webhook', {
    ...newWebhookRow(params),
    domain_id: domainId,
    enabled: 1,
  }).lastId;
  session.hooksChanged();
  return { kind: 'created', id };
});

/** Numbers of domains are never used again: one that was removed and added again has another. */
function isDomainGone(db: Connection, id: number): boolean {
  return db.get('SELECT 1 FROM domain WHERE id = ?', id) === undefined;
}

export const listWebhooks = read('listWebhooks', 'measured', (db, params) => {
  const { afterId = 0, limit } = params;
  const domainIds = findNameIds(db, params.domains);
  const ids =
    domainIds === undefined
      ? db.all<{ id: number }>('SELECT id FROM webhook WHERE id > ? ORDER BY id LIMIT ?', afterId, limit)
      : mergedRows<{ id: number }>(
          db,
          {
            sql: 'SELECT id FROM webhook INDEXED BY webhook_domain WHERE domain_id = ? AND id > ?',
            values: domainIds.map((id) => [id, afterId]),
            order: 'id',
            compare: (a, b) => a.id - b.id,
          },
          limit,
        );
  return ids.flatMap(({ id }) => getWebhook(db, { id }) ?? []);
});

const FAILING = "CASE enabled WHEN 1 THEN failing_since IS NOT NULL ELSE disabled_reason <> 'User' END";

export const failingWebhooks = read('failingWebhooks', 'measured', (db, params) => {
  const domainIds = findNameIds(db, params.domains);
  const failing = `SELECT id FROM webhook INDEXED BY webhook_failing WHERE ${FAILING}`;
  const ids =
    domainIds === undefined
      ? db.all<{ id: number }>(`${failing} LIMIT ?`, params.limit)
      : mergedRows<{ id: number }>(
          db,
          {
            sql: `${failing} AND domain_id = ?`,
            values: domainIds.map((id) => [id]),
            order: 'id',
            compare: (a, b) => a.id - b.id,
          },
          params.limit,
        );
  return ids.flatMap(({ id }) => {
    const webhook = getWebhook(db, { id });
    if (webhook === null) return [];
    const row = db.get<{ n: number }>('SELECT waiting AS n FROM waiting_hook WHERE webhook_id = ?', id);
    return { ...webhook, waiting: row?.n ?? 0 };
  });
});

export const getWebhook = read('getWebhook', 'by key', (db, params) => {
  const row = db.get<WebhookRow>(
    `SELECT ${WEBHOOK_COLUMNS} FROM webhook w JOIN name wn ON wn.id = w.domain_id WHERE w.id = ?`,
    params.id,
  );
  if (row === undefined || params.domains?.includes(row.webhook_domain) === false) return null;
  return toWebhook(row);
});

export const deleteWebhook = write('deleteWebhook', 'measured', { synced: true }, (session, params) => {
  const filter = createFilter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain_id', findNameIds(session.db, params.domains));
  const found = session.db.run(`DELETE FROM webhook ${filter.where()}`, ...filter.values()).changes > 0;
  if (!found) return false;
  leaveCalls(session.db, params.id);
  session.hooksChanged();
  return true;
});

/** Deletes every webhook of a domain, in the same way. */
export function deleteWebhooksOf(session: Session, domainId: number): void {
  const { db } = session;
  for (const { id } of db.all<{ id: number }>(
    'DELETE FROM webhook WHERE domain_id = ? RETURNING id',
    domainId,
  ))
    leaveCalls(db, id);
  session.hooksChanged();
}

/** Deletes webhooks created with a token, at most `limit`; returns how many. */
export function deleteWebhooksMadeWith(session: Session, tokenId: string, limit: number): number {
  const rows = session.db.all<{ id: number }>(
    `DELETE FROM webhook WHERE id IN
       (SELECT id FROM webhook INDEXED BY webhook_maker WHERE created_by = ? LIMIT ?) RETURNING id`,
    tokenId,
    limit,
  );
  for (const { id } of rows) leaveCalls(session.db, id);
  if (rows.length > 0) session.hooksChanged();
  return rows.length;
}

function leaveCalls(db: Connection, id: number): void {
  db.run('DELETE FROM webhook_resume WHERE webhook_id = ?', id);
  leaveRows(db, 'webhook', id);
}

export const listCalls = read('listCalls', 'measured', { search: true }, (db, params) => {
  const rows = db.all<{ event_id: Uint8Array; kind: number }>(
    `SELECT ${CALL.columns}, e.event_id, e.kind
     FROM webhook_call c CROSS JOIN event e ON e.seq = c.event_seq
     WHERE c.webhook_id = ? AND c.event_seq < ? ORDER BY c.event_seq DESC LIMIT ?`,
    params.webhookId,
    params.beforeEventSeq ?? Number.MAX_SAFE_INTEGER,
    params.limit,
  );
  return rows.map(toLogEntry);
});

export const getCall = read('getCall', 'by key', (db, params) => {
  const row = db.get<EventViewRow>(
    `SELECT ${CALL.columns}, ${EVENT_VIEW_COLUMNS}
     FROM webhook_call c CROSS JOIN event e ON e.seq = c.event_seq ${EVENT_VIEW_JOINS}
     WHERE c.id = ? AND c.webhook_id = ?`,
    params.callId,
    params.webhookId,
  );
  return row === undefined ? null : { ...toLogEntry(row), event: toEventView(row) };
});
