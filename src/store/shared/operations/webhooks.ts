/**
 * Webhooks as rows, changing them, and reading their calls, which each engine claims and settles. Switching a webhook on
 * resets its failure counters, resumes calls that waited for less than the given age, and gives up the older ones, which can
 * still be replayed. One that is on already only has its waiting calls brought forward. A running call ends as it began.
 */
import { webhookEvents } from '../codes.ts';
import type { Filter } from '../filter.ts';
import { count, type Db, read, write } from '../operation.ts';
import type { ColumnValue } from '../record.ts';
import { EVENT_VIEW_COLUMNS, EVENT_VIEW_JOINS, type EventViewRow, toEventView } from '../rows/events.ts';
import {
  CALL,
  LOGGED_EVENT,
  LOGGED_JOINS,
  type LoggedRow,
  newWebhookRow,
  toLogEntry,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
} from '../rows/webhooks.ts';
import { isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';
import { isMakerGone } from './makers.ts';
import { deleteWebhooks } from './removal.ts';

export const createWebhook = write(
  'createWebhook',
  'by key',
  { synced: true, serial: 'webhooks' },
  function* (session, params) {
    const { db } = session;
    if (yield* isMakerGone(db, params.createdBy, params.inSession)) return { kind: 'ended' };
    if (params.domainId !== null && (yield* isDomainGone(db, params.domainId))) return { kind: 'gone' };
    const domainId = yield* session.nameId(params.domain);
    const n = yield* count(db, 'SELECT count(*) AS n FROM webhook WHERE domain_id = ?', domainId);
    if (n >= params.maxPerDomain) return { kind: 'limit' };
    const row = { ...newWebhookRow(params), domain_id: domainId, enabled: 1 };
    const id = yield* db.insertId('webhook', 'id', row);
    session.hooksChanged();
    return { kind: 'created', id };
  },
);

/**
 * Numbers of domains are never used again: one that was removed and added again has another. One that exists stays until
 * the end of the transaction, so its removal finds what is stored here.
 */
function* isDomainGone(db: Db, id: number): Work<boolean> {
  return (yield* db.get('SELECT 1 FROM domain WHERE id = ? {|FOR SHARE}', id)) === undefined;
}

export const listWebhooks = read('listWebhooks', 'measured', { search: true }, function* (db, params) {
  const places = yield* db.nameIds(params.domains);
  const filter = db.filter();
  filter.when('w.id > ?', params.afterId ?? 0);
  const index = places === undefined ? '' : '{INDEXED BY webhook_domain|}';
  const select = `SELECT ${WEBHOOK_COLUMNS} FROM webhook w ${index} {CROSS|} JOIN name wn ON wn.id = w.domain_id`;
  const ranges = { select, column: 'w.domain_id', places, filter, order: 'webhook_id' };
  return (yield* db.merged<WebhookRow>(ranges, params.limit)).map(toWebhook);
});

const FAILING = `{CASE w.enabled WHEN 1|CASE WHEN w.enabled} THEN w.failing_since IS NOT NULL
  ELSE w.disabled_reason <> 'User' END`;

export const failingWebhooks = read('failingWebhooks', 'measured', { search: true }, function* (db, params) {
  const places = yield* db.nameIds(params.domains);
  const select = `SELECT ${WEBHOOK_COLUMNS}, ${WAITING} AS waiting
    FROM webhook w {INDEXED BY webhook_failing CROSS|} JOIN name wn ON wn.id = w.domain_id AND ${FAILING}`;
  const ranges = { select, column: 'w.domain_id', places, filter: db.filter() };
  const rows = yield* db.merged<WebhookRow & { waiting: number }>(ranges, params.limit);
  return rows.map((row) => ({ ...toWebhook(row), waiting: row.waiting }));
});

/** Pending calls of webhook `w`. */
const WAITING = `{coalesce((SELECT h.waiting FROM waiting_hook h WHERE h.webhook_id = w.id), 0)|
  (SELECT count(*) FROM webhook_call c WHERE c.webhook_id = w.id AND c.state = 0)}`;

export const getWebhook = read('getWebhook', 'by key', {}, function* (db, { id, domains }) {
  const sql = `SELECT ${WEBHOOK_COLUMNS} FROM webhook w JOIN name wn ON wn.id = w.domain_id WHERE w.id = ?`;
  const row = yield* db.get<WebhookRow>(sql, id);
  return row === undefined || domains?.includes(row.webhook_domain) === false ? null : toWebhook(row);
});

export const deleteWebhook = write(
  'deleteWebhook',
  'measured',
  { synced: true },
  function* (session, params) {
    const where = yield* oneOf(session.db, params);
    return (yield* deleteWebhooks(session, where.where(), ...where.values())) > 0;
  },
);

/** The condition that a webhook has this number and belongs to one of the domains, if any are given. */
function* oneOf(db: Db, params: { id: number; domains?: readonly string[] }): Work<Filter<ColumnValue>> {
  const filter = db.filter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain_id', yield* db.nameIds(params.domains));
  return filter;
}

export const updateWebhook = write(
  'updateWebhook',
  'measured',
  // With those that prepare calls: a webhook that is switched on again begins anew.
  { synced: true, serial: 'calls' },
  function* (session, params) {
    const { db } = session;
    const { id, now, status } = params;
    const where = yield* oneOf(db, params);
    const sql = `SELECT enabled FROM webhook ${where.where()} {|FOR UPDATE}`;
    const before = yield* db.get<{ enabled: StoredFlag }>(sql, ...where.values());
    if (before === undefined) return false;
    const wasEnabled = isTrue(before.enabled);
    yield* db.run(
      `UPDATE webhook SET event = coalesce(?, event), url = coalesce(?, url), description = coalesce(?, description),
         updated_at = ? WHERE id = ?`,
      params.events === undefined ? null : webhookEvents.text(params.events),
      ...[params.url ?? null, params.description ?? null, now, id],
    );
    if (status === 'Disabled' && wasEnabled) {
      yield* db.run("UPDATE webhook SET enabled = {0|false}, disabled_reason = 'User' WHERE id = ?", id);
    }
    if (status === 'Enabled') {
      if (!wasEnabled) {
        yield* db.run(
          `UPDATE webhook SET enabled = {1|true}, disabled_reason = NULL, failing_since = NULL, failed_tries = 0,
             blocked_tries = 0 WHERE id = ?`,
          id,
        );
      }
      yield* session.beginResume({ id, since: wasEnabled ? 0 : params.resumeSince, now });
    }
    session.hooksChanged();
    return true;
  },
);

export const rotateWebhookSecret = write(
  'rotateWebhookSecret',
  'by key',
  { synced: true },
  function* ({ db }, params) {
    const where = yield* oneOf(db, params);
    const changes = yield* db.run(
      `UPDATE webhook SET previous_secret_sealed = secret_sealed, previous_secret_until = ?, secret_sealed = ?,
         updated_at = ? ${where.where()}`,
      ...[params.previousUntil, params.secretSealed, params.now],
      ...where.values(),
    );
    return changes > 0;
  },
);

export const countPendingCalls = read(
  'countPendingCalls',
  'measured',
  { search: true },
  (db, { webhookId, countUpTo }) =>
    count(
      db,
      `SELECT {min|least}(?2, {coalesce((SELECT waiting FROM waiting_hook WHERE webhook_id = ?1), 0)|
           (SELECT count(*) FROM (SELECT FROM webhook_call WHERE state = 0 AND webhook_id = ?1 LIMIT ?2) c)}
         + (SELECT count(*) FROM webhook_call {INDEXED BY webhook_call_lease|} WHERE state = 1 AND webhook_id = ?1)
         + (SELECT count(*) FROM (SELECT l.webhooks FROM later_call l
              WHERE l.domain_id = (SELECT domain_id FROM webhook WHERE id = ?1) LIMIT ?2) l
            WHERE {EXISTS (SELECT 1 FROM json_each(l.webhooks) WHERE value = ?1)|
              l.webhooks::jsonb @> to_jsonb(?1::int8)})) AS n`,
      webhookId,
      countUpTo,
    ),
);

export const listCalls = read(
  'listCalls',
  'measured',
  { search: true },
  function* (db, { webhookId, beforeEventSeq = Number.MAX_SAFE_INTEGER, limit }) {
    const rows = yield* db.all<LoggedRow>(
      `SELECT ${CALL.columns}, ${LOGGED_EVENT}
       FROM webhook_call c {CROSS|} JOIN event e ON e.seq = c.event_seq ${LOGGED_JOINS}
       WHERE c.webhook_id = ? AND c.event_seq < ? ORDER BY c.event_seq DESC LIMIT ?`,
      ...[webhookId, beforeEventSeq, limit],
    );
    return rows.map(toLogEntry);
  },
);

export const getCall = read('getCall', 'by key', {}, function* (db, { callId, webhookId }) {
  const row = yield* db.get<EventViewRow>(
    `SELECT ${CALL.columns}, ${EVENT_VIEW_COLUMNS} FROM webhook_call c {CROSS|} JOIN event e ON e.seq = c.event_seq
       ${EVENT_VIEW_JOINS} WHERE c.id = ? AND c.webhook_id = ?`,
    callId,
    webhookId,
  );
  return row === undefined ? null : { ...toLogEntry(row), event: toEventView(row) };
});
