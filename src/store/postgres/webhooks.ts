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
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { findNameIds } from './engine/session.ts';
import { isMakerGone } from './makers.ts';
import { leaveCalls } from './webhook-removal.ts';

const VIEW = `SELECT ${WEBHOOK_COLUMNS} FROM webhook w JOIN name wn ON wn.id = w.domain_id`;

export const createWebhook = write('createWebhook', { serial: 'webhooks' }, async (session, params) => {
  const { db } = session;
  if (await isMakerGone(db, params.createdBy, params.inSession)) return { kind: 'ended' };
  if (params.domainId !== null && (await isDomainGone(db, params.domainId))) return { kind: 'gone' };
  const domainId = await session.nameId(params.domain);
  const sql = 'SELECT count(*) AS n FROM webhook WHERE domain_id = $1';
  const found = await db.get<{ n: number }>(sql, domainId);
  if ((found?.n ?? 0) >= params.maxPerDomain) return { kind: 'limit' };
  const id = await db.insertId('webhook', 'id', {
    ...newWebhookRow(params),
    domain_id: domainId,
    enabled: true,
  });
  return { kind: 'created', id };
});

/**
 * Numbers of domains are never used again: one that was removed and added again has another. One that exists stays until
 * the end of the transaction, so its removal finds what is stored here.
 */
async function isDomainGone(db: Db, id: number): Promise<boolean> {
  return (await db.get('SELECT 1 AS one FROM domain WHERE id = $1 FOR SHARE', id)) === undefined;
}

export const listWebhooks = read('listWebhooks', async (db, params) => {
  const { afterId = 0, limit } = params;
  const places = await findNameIds(db, params.domains);
  const sql = `${VIEW} WHERE ${places === undefined ? '' : 'w.domain_id = g.place AND '}w.id > ?`;
  const ranges = { sql, values: [afterId], places, order: 'webhook_id' };
  return (await mergedRows<WebhookRow>(db, ranges, limit)).map(toWebhook);
});

const FAILING = "CASE WHEN w.enabled THEN w.failing_since IS NOT NULL ELSE w.disabled_reason <> 'User' END";

export const failingWebhooks = read('failingWebhooks', { lane: 'search' }, async (db, params) => {
  const filter = createFilter();
  filter.oneOf('w.domain_id', await findNameIds(db, params.domains));
  const rows = await db.all<WebhookRow & { waiting: number }>(
    `SELECT ${WEBHOOK_COLUMNS},
       (SELECT count(*) FROM webhook_call c WHERE c.webhook_id = w.id AND c.state = 0) AS waiting
     FROM webhook w JOIN name wn ON wn.id = w.domain_id WHERE ${FAILING}${filter.and()} LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  return rows.map((row) => ({ ...toWebhook(row), waiting: row.waiting }));
});

export const getWebhook = read('getWebhook', async (db, params) => {
  const row = await db.get<WebhookRow>(`${VIEW} WHERE w.id = $1`, params.id);
  if (row === undefined || params.domains?.includes(row.webhook_domain) === false) return null;
  return toWebhook(row);
});

export const deleteWebhook = write('deleteWebhook', async ({ db }, params) => {
  const where = await webhookOf(db, params);
  const rows = await db.all<{ id: number }>(
    `DELETE FROM webhook ${where.where()} RETURNING id`,
    ...where.values(),
  );
  await leaveCalls(db, rows);
  return rows.length > 0;
});

/** The condition that a webhook has this number and belongs to one of the domains, if any are given. */
export async function webhookOf(db: Db, { id, domains }: { id: number; domains?: readonly string[] }) {
  const filter = createFilter();
  filter.when('id = ?', id);
  filter.oneOf('domain_id', await findNameIds(db, domains));
  return filter;
}

export const listCalls = read('listCalls', { lane: 'search' }, async (db, params) => {
  const rows = await db.all<{ event_id: string; kind: number }>(
    `SELECT ${CALL.columns}, e.event_id, e.kind FROM webhook_call c JOIN event e ON e.seq = c.event_seq
     WHERE c.webhook_id = $1 AND c.event_seq < $2 ORDER BY c.event_seq DESC LIMIT $3`,
    params.webhookId,
    params.beforeEventSeq ?? Number.MAX_SAFE_INTEGER,
    params.limit,
  );
  return rows.map(toLogEntry);
});

export const getCall = read('getCall', async (db, params) => {
  const row = await db.get<EventViewRow>(
    `SELECT ${CALL.columns}, ${EVENT_VIEW_COLUMNS}
     FROM webhook_call c JOIN event e ON e.seq = c.event_seq ${EVENT_VIEW_JOINS} WHERE c.id = $1 AND c.webhook_id = $2`,
    params.callId,
    params.webhookId,
  );
  return row === undefined ? null : { ...toLogEntry(row), event: toEventView(row) };
});
