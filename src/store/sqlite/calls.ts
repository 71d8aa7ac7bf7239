/**
 * Webhook calls: claiming, settling, replaying. A call is pending, leased to an epoch (`sending`), succeeded or failed;
 * calls of a disabled webhook stay pending and are not claimed. Settling a call updates LastResponse* together, so they
 * always describe the same try, and the counters that decide whether the webhook is switched off.
 */

import { callStateCode } from '../shared/codes.ts';
import { createKnownLists } from '../shared/known-lists.ts';
import type { ParamsOf } from '../shared/operation.ts';
import {
  EVENT_VIEW_COLUMNS,
  EVENT_VIEW_JOINS,
  type EventViewRow,
  toEventView,
} from '../shared/rows/events.ts';
import {
  kindsCalledFor,
  switchOff,
  toWebhook,
  WEBHOOK_COLUMNS,
  type WebhookRow,
} from '../shared/rows/webhooks.ts';
import { resultOf } from '../shared/work.ts';
import type { EventPlace } from '../topics/events.ts';
import type { CallSettlement, ClaimedCall } from '../topics/webhooks.ts';
import { mustPrepare } from './call-portions.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';
import { insertCall } from './events.ts';
import { sharedSession } from './shared-session.ts';

/** More than a claim has rows for, and than the few domains that use up their share can have. */
const HOOKS_PER_CLAIM = 1000;

/** Webhooks with due calls that are not excluded, longest due first. Tests check that its plan uses the index. */
export const DUE_HOOKS_SQL = `SELECT h.webhook_id AS id, n.text AS domain
  FROM waiting_hook h INDEXED BY waiting_hook_due CROSS JOIN webhook w ON w.id = h.webhook_id CROSS JOIN name n ON n.id = w.domain_id
  WHERE h.ready = 1 AND h.due_at <= ? AND h.webhook_id NOT IN (SELECT value FROM json_each(?))
    AND n.text NOT IN (SELECT value FROM json_each(?)) ORDER BY h.due_at, h.webhook_id LIMIT ?`;

export const claimCalls = write('claimCalls', 'measured', { rows: 'limit' }, (session, params) => {
  const { db } = session;
  if (session.hasEnded(params.epoch)) return [];
  const waiting = inTurns(
    db.all<{ id: number; domain: string }>(
      DUE_HOOKS_SQL,
      params.now,
      JSON.stringify(params.excludeWebhooks),
      JSON.stringify(params.excludeDomains ?? []),
      HOOKS_PER_CLAIM,
    ),
  );
  const claimed: ClaimedCall[] = [];
  const share = Math.max(1, Math.floor(params.limit / Math.max(1, waiting.length)));
  for (const size of [share, params.limit]) {
    for (const hook of waiting) {
      const room = Math.min(size, params.limit - claimed.length);
      if (room <= 0) return claimed;
      claimed.push(...claimOf(db, hook.id, room, params));
    }
  }
  return claimed;
});

/** The first of each domain, then the second of each, and so on. */
function inTurns<Hook extends { domain: string }>(hooks: readonly Hook[]): Hook[] {
  const seen = new Map<string, number>();
  return hooks
    .map((hook) => {
      const turn = seen.get(hook.domain) ?? 0;
      seen.set(hook.domain, turn + 1);
      return { hook, turn };
    })
    .sort((a, b) => a.turn - b.turn)
    .map(({ hook }) => hook);
}

function claimOf(
  db: Connection,
  webhookId: number,
  limit: number,
  params: ParamsOf<'claimCalls'>,
): ClaimedCall[] {
  const rows = db.all<CallRow>(
    `SELECT c.id AS call_id, c.tries, ${WEBHOOK_COLUMNS}, ${EVENT_VIEW_COLUMNS}
     FROM webhook_call c INDEXED BY webhook_call_due CROSS JOIN webhook w ON w.id = c.webhook_id
       CROSS JOIN name wn ON wn.id = w.domain_id CROSS JOIN event e ON e.seq = c.event_seq ${EVENT_VIEW_JOINS}
     WHERE c.state = 0 AND c.webhook_id = ? AND c.due_at <= ? ORDER BY c.due_at, c.id LIMIT ?`,
    webhookId,
    params.now,
    limit,
  );
  const known = createKnownLists();
  return rows.map((row) => {
    db.run(
      'UPDATE webhook_call SET state = 1, epoch = ?, updated_at = ? WHERE id = ?',
      params.epoch,
      params.now,
      row.call_id,
    );
    const { epoch } = params;
    return {
      id: row.call_id,
      epoch,
      webhook: toWebhook(row),
      tries: row.tries,
      event: toEventView(row, known),
    };
  });
}

export const settleCalls = write('settleCalls', 'by key', { patient: 'settlements' }, (session, params) => {
  for (const settlement of params.settlements) settleCall(session, settlement);
});

function settleCall(session: Session, settlement: CallSettlement): void {
  const { db } = session;
  const tried = settlement.tryNumber > 0;
  const latencyMs = Math.round(settlement.latencyMs);
  const held = db.run(
    `UPDATE webhook_call SET state = ?, epoch = 0, due_at = ?, updated_at = ?,
       tries = CASE WHEN ? THEN ? ELSE tries END, response_code = CASE WHEN ? THEN ? ELSE response_code END,
       error = CASE WHEN ? THEN ? ELSE error END, response_body = CASE WHEN ? THEN ? ELSE response_body END,
       latencies_ms = CASE ? WHEN 0 THEN latencies_ms WHEN 1 THEN json_array(?) ELSE json_insert(latencies_ms, '$[#]', ?) END
     WHERE id = ? AND webhook_id = ? AND state = 1 AND epoch = ?`,
    callStateCode.of(settlement.state),
    settlement.dueAt ?? settlement.at,
    settlement.at,
    tried ? 1 : 0,
    settlement.tryNumber,
    tried ? 1 : 0,
    settlement.responseCode,
    tried ? 1 : 0,
    settlement.error,
    tried ? 1 : 0,
    settlement.responseBody,
    settlement.tryNumber,
    latencyMs,
    latencyMs,
    settlement.callId,
    settlement.webhookId,
    settlement.epoch,
  ).changes;
  if (held === 0) return;
  if (tried) recordTry(db, settlement);
  if (settlement.disable !== undefined)
    resultOf(switchOff(sharedSession(session), settlement, settlement.disable));
}

function recordTry(db: Connection, settlement: CallSettlement): void {
  const answered = settlement.responseCode !== 0;
  const succeeded = settlement.state === 'succeeded' ? 1 : 0;
  db.run(
    `UPDATE webhook SET last_response_code = ?, last_response_body = ?, last_response_at = ?, last_response_try = ?,
       last_error = ?, last_latency_ms = ?,
       failing_since = CASE WHEN ? THEN NULL ELSE coalesce(failing_since, ?) END,
       failed_tries = CASE WHEN ? THEN 0 ELSE failed_tries + 1 END,
       blocked_tries = CASE WHEN ? THEN blocked_tries + 1 ELSE 0 END
     WHERE id = ?`,
    settlement.responseCode,
    answered ? settlement.responseBody : '',
    answered ? settlement.at : null,
    settlement.tryNumber,
    settlement.error,
    Math.round(settlement.latencyMs),
    succeeded,
    settlement.at,
    succeeded,
    settlement.blocked ? 1 : 0,
    settlement.webhookId,
  );
}

export const nextCallDueAt = read('nextCallDueAt', 'measured', (db) => {
  if (mustPrepare(db)) return 0;
  const sql = 'SELECT min(due_at) AS due_at FROM waiting_hook WHERE ready = 1';
  return db.get<{ due_at: number | null }>(sql)?.due_at ?? null;
});

/** Events of one kind after a position, oldest first: a range of the index. Tests check its plan. */
export const REPLAYED_SQL = `SELECT e.seq, e.at FROM event e INDEXED BY event_kind
  WHERE e.domain_id = ? AND e.kind = ? AND e.at >= ? AND e.at < ? AND (e.at > ? OR e.seq > ?) ORDER BY e.at, e.seq LIMIT ?`;

export const replayCalls = write('replayCalls', 'measured', { portion: true }, ({ db }, params) => {
  const { webhookId, callIds, since, until, onlyFailed, now, limit } = params;
  const after = params.after ?? { at: since, seq: 0 };
  const hook = db.get<{ domain_id: number; event: string }>(
    'SELECT domain_id, event FROM webhook WHERE id = ?',
    webhookId,
  );
  if (hook === undefined) return { made: 0, next: null };
  if (callIds !== undefined) return { made: replayThese(db, params, callIds), next: null };
  // Each kind is sorted already: their first rows contain the first of all, without sorting the whole range.
  const heads = kindsCalledFor(hook.event).map((kind) =>
    db.all<EventPlace>(REPLAYED_SQL, hook.domain_id, kind, after.at, until, after.at, after.seq, limit),
  );
  const found = heads.flat().sort((a, b) => a.at - b.at || a.seq - b.seq);
  const events = found.slice(0, limit);
  let made = 0;
  for (const event of events) {
    const call = db.get<{ state: number }>(
      'SELECT state FROM webhook_call WHERE webhook_id = ? AND event_seq = ?',
      webhookId,
      event.seq,
    );
    const wanted = onlyFailed ? call?.state === FAILED : call === undefined || call.state > SENDING;
    if (wanted) made += insertCall(db, webhookId, event.seq, now);
  }
  const more = found.length > limit || heads.some((rows) => rows.length === limit);
  return { made, next: more ? (events.at(-1) ?? null) : null };
});

/** States of a call: pending and running ones come before finished ones. */
const SENDING = 1;
const FAILED = 3;

/** Those of the given calls that belong to the webhook and are finished. */
function replayThese(db: Connection, params: ParamsOf<'replayCalls'>, ids: readonly number[]): number {
  const calls = db.all<{ event_seq: number }>(
    `SELECT event_seq FROM webhook_call WHERE webhook_id = ? AND id IN (SELECT value FROM json_each(?))
     ORDER BY event_seq LIMIT ?`,
    params.webhookId,
    JSON.stringify(ids),
    params.limit,
  );
  let made = 0;
  for (const call of calls) made += insertCall(db, params.webhookId, call.event_seq, params.now);
  return made;
}

type CallRow = WebhookRow & EventViewRow & { call_id: number; tries: number };
