/**
 * Webhook calls: claiming, settling, replaying. A call is pending, leased to an epoch (`sending`), succeeded or failed;
 * calls of a disabled webhook stay pending and are not claimed. Settling a call updates LastResponse* together, so they
 * always describe the same try, and the counters that decide whether the webhook is switched off.
 */

import { callStateCode } from '../shared/codes.ts';
import { createKnownLists } from '../shared/known-lists.ts';
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
import { finished } from '../shared/work.ts';
import type { EventPlace } from '../topics/events.ts';
import type { CallSettlement } from '../topics/webhooks.ts';
import { bools, int2s, int4s, int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';
import { LIVING } from './nodes.ts';
import { floorFor, valuesOf, WAITING_HOOKS, waitingOf } from './queue.ts';
import { sharedSession } from './shared-session.ts';

/** More than the rows of a claim and the few domains that have used up their share. */
const HOOKS_PER_CLAIM = 1000;

/** Condition on webhook `w`: it is enabled, and the calls that waited while it was off are prepared. */
const READY = 'w.enabled AND NOT EXISTS (SELECT FROM webhook_resume r WHERE r.webhook_id = w.id)';

const DUE_CALLS =
  'SELECT c.id, c.due_at FROM webhook_call c WHERE c.state = 0 AND c.webhook_id = h.id AND c.due_at >= h.due_at AND c.due_at <= $2';

/**
 * $1: epoch, $2: now, $3: limit, $4: webhooks and $5: domains to leave out. Each webhook first gets an equal share, which
 * is locked while it is read, so that several nodes share them; what is left of the limit goes to the first that have more.
 * $6: the floor.
 */
const CLAIM_CALLS = `${waitingOf('webhook_call', ['$6', '$7', '$8'])},
  due AS MATERIALIZED (
    SELECT w.id, w.domain_id, s.due_at FROM waiting s JOIN webhook w ON w.id = s.id JOIN name n ON n.id = w.domain_id
    WHERE s.due_at <= $2 AND ${READY} AND w.id <> ALL ($4::int8[]) AND n.text <> ALL ($5::text[]) AND ${LIVING('$1::int8')}
    ORDER BY s.due_at, w.id LIMIT ${HOOKS_PER_CLAIM}),
  hook AS MATERIALIZED (
    SELECT id, due_at, row_number() OVER (ORDER BY turn, due_at, id) AS place FROM (
      SELECT id, due_at, row_number() OVER (PARTITION BY domain_id ORDER BY due_at, id) AS turn FROM due) t
    ORDER BY place LIMIT $3),
  share AS MATERIALIZED (
    SELECT h.place, c.id, c.due_at FROM hook h CROSS JOIN LATERAL (
      ${DUE_CALLS} ORDER BY c.due_at, c.id
      LIMIT (SELECT greatest(1, $3::int8 / greatest(1, count(*))) FROM due) FOR UPDATE OF c SKIP LOCKED) c),
  rest AS MATERIALIZED (
    SELECT h.place, c.id, c.due_at FROM hook h CROSS JOIN LATERAL (
      ${DUE_CALLS} AND c.id <> ALL (ARRAY(SELECT id FROM share)) ORDER BY c.due_at, c.id
      LIMIT (SELECT $3::int8 - count(*) FROM share)) c
    ORDER BY h.place, c.due_at, c.id LIMIT (SELECT $3::int8 - count(*) FROM share)),
  more AS MATERIALIZED (
    SELECT rest.* FROM rest JOIN webhook_call c ON c.id = rest.id WHERE c.state = 0 FOR UPDATE OF c SKIP LOCKED),
  picked AS (SELECT false AS is_more, * FROM share UNION ALL SELECT true, * FROM more),
  claimed AS (
    UPDATE webhook_call c SET state = 1, epoch = $1, updated_at = $2 FROM picked p WHERE c.id = p.id
    RETURNING c.id, c.tries, c.webhook_id, c.event_seq, p.is_more, p.place, p.due_at)
  SELECT c.id AS call_id, c.tries, ${WEBHOOK_COLUMNS}, ${EVENT_VIEW_COLUMNS}
  FROM claimed c JOIN webhook w ON w.id = c.webhook_id JOIN name wn ON wn.id = w.domain_id
    JOIN event e ON e.seq = c.event_seq ${EVENT_VIEW_JOINS}
  ORDER BY c.is_more, c.place, c.due_at, c.id`;

export const claimCalls = write('claimCalls', { lane: 'claim', whole: true }, async (session, params) => {
  const { db, isOver } = session;
  const { epoch, now, limit, excludeWebhooks, excludeDomains = [] } = params;
  if (isOver(epoch)) return [];
  const rows = await db.all<WebhookRow & EventViewRow & { call_id: number; tries: number }>(
    CLAIM_CALLS,
    epoch,
    now,
    limit,
    int8s(excludeWebhooks),
    texts(excludeDomains),
    ...valuesOf(await floorFor(db, session, 'webhook_call', now)),
  );
  const known = createKnownLists();
  return rows.map((row) => ({
    id: row.call_id,
    epoch,
    webhook: toWebhook(row),
    tries: row.tries,
    event: toEventView(row, known),
  }));
});

export const nextCallDueAt = read('nextCallDueAt', async (db, _params, { waitingFloors }) => {
  const row = await db.get<{ due_at: number | null }>(
    `${WAITING_HOOKS}
     SELECT CASE WHEN EXISTS (SELECT FROM later_call) OR EXISTS (SELECT FROM webhook_resume) THEN 0
       ELSE (SELECT min(s.due_at) FROM waiting s JOIN webhook w ON w.id = s.id WHERE ${READY}) END AS due_at`,
    ...valuesOf(waitingFloors.webhook_call),
  );
  return row?.due_at ?? null;
});

export const settleCalls = write(
  'settleCalls',
  { lane: 'settle', unsynced: true },
  async (session, { settlements }) => {
    // Webhooks are locked before calls, as by a replay: otherwise each could wait for the other. Sent without waiting.
    const [, held] = await Promise.all([
      lockTried(session.db, settlements),
      recordCalls(session.db, settlements),
    ]);
    await recordTries(
      session.db,
      held.filter(({ tryNumber }) => tryNumber > 0),
    );
    for (const settlement of held)
      if (settlement.disable !== undefined)
        await finished(switchOff(sharedSession(session), settlement, settlement.disable));
  },
);

/** The webhooks whose rows will change. */
async function lockTried(db: Db, settlements: readonly CallSettlement[]): Promise<void> {
  const tried = settlements.filter(({ tryNumber, disable: how }) => tryNumber > 0 || how !== undefined);
  if (tried.length === 0) return;
  await db.run(
    'SELECT FROM webhook WHERE id = ANY ($1::int8[]) ORDER BY id FOR UPDATE',
    int8s([...new Set(tried.map(({ webhookId }) => webhookId))]),
  );
}

/** Those whose lease was held, in their order. */
async function recordCalls(db: Db, settlements: readonly CallSettlement[]): Promise<CallSettlement[]> {
  const first = new Map<string, CallSettlement>();
  for (const settlement of settlements) {
    const key = `${settlement.callId} ${settlement.webhookId} ${settlement.epoch}`;
    if (!first.has(key)) first.set(key, settlement);
  }
  const given = [...first.values()];
  const rows = await db.all<{ place: number }>(
    `UPDATE webhook_call c SET state = g.state, epoch = 0, due_at = g.due_at, updated_at = g.at,
       tries = CASE WHEN g.try > 0 THEN g.try ELSE c.tries END,
       response_code = CASE WHEN g.try > 0 THEN g.code ELSE c.response_code END,
       error = CASE WHEN g.try > 0 THEN g.error ELSE c.error END,
       response_body = CASE WHEN g.try > 0 THEN g.body ELSE c.response_body END,
       latencies_ms = CASE g.try WHEN 0 THEN c.latencies_ms WHEN 1 THEN jsonb_build_array(g.ms)::text
         ELSE (c.latencies_ms::jsonb || to_jsonb(g.ms))::text END
     FROM unnest($1::int8[], $2::int8[], $3::int8[], $4::int2[], $5::int8[], $6::int8[], $7::int4[], $8::int4[], $9::text[],
         $10::text[], $11::int8[])
       WITH ORDINALITY g (id, webhook_id, epoch, state, due_at, at, try, code, error, body, ms, place)
     WHERE c.id = g.id AND c.webhook_id = g.webhook_id AND c.state + 0 = 1 AND c.epoch = g.epoch RETURNING g.place`,
    int8s(given.map(({ callId }) => callId)),
    int8s(given.map(({ webhookId }) => webhookId)),
    int8s(given.map(({ epoch }) => epoch)),
    int2s(given.map(({ state }) => callStateCode.of(state))),
    int8s(given.map(({ dueAt, at }) => dueAt ?? at)),
    int8s(given.map(({ at }) => at)),
    int4s(given.map(({ tryNumber }) => tryNumber)),
    int4s(given.map(({ responseCode }) => responseCode)),
    texts(given.map(({ error }) => error)),
    texts(given.map(({ responseBody }) => responseBody)),
    int8s(given.map(({ latencyMs }) => Math.round(latencyMs))),
  );
  const places = new Set(rows.map(({ place }) => place));
  return given.filter((_, i) => places.has(i + 1));
}

/** What the tries of one webhook change: its last response and its counters. */
interface Tries {
  last: CallSettlement;
  /** Tries after the last success; all of them if there was none. */
  failed: number;
  failingSince: number | null;
  succeeded: boolean;
  /** Blocked tries in a row at the end; `blockedOnly`: these are all. */
  blocked: number;
  blockedOnly: boolean;
}

async function recordTries(db: Db, tried: readonly CallSettlement[]): Promise<void> {
  if (tried.length === 0) return;
  const hooks = new Map<number, Tries>();
  for (const last of tried) hooks.set(last.webhookId, afterTry(hooks.get(last.webhookId), last));
  const tries = [...hooks.values()];
  const answered = ({ responseCode }: CallSettlement) => responseCode !== 0;
  await db.run(
    `UPDATE webhook w SET last_response_code = g.code, last_response_body = g.body, last_response_at = g.at,
       last_response_try = g.try, last_error = g.error, last_latency_ms = g.latency,
       failing_since = CASE WHEN g.succeeded THEN g.failing_since ELSE coalesce(w.failing_since, g.failing_since) END,
       failed_tries = g.failed + CASE WHEN g.succeeded THEN 0 ELSE w.failed_tries END,
       blocked_tries = g.blocked + CASE WHEN g.blocked_only THEN w.blocked_tries ELSE 0 END
     FROM unnest($1::int8[], $2::int4[], $3::text[], $4::int8[], $5::int4[], $6::text[], $7::int4[], $8::bool[],
       $9::int8[], $10::int4[], $11::int4[], $12::bool[])
       g (id, code, body, at, try, error, latency, succeeded, failing_since, failed, blocked, blocked_only)
     WHERE w.id = g.id`,
    int8s([...hooks.keys()]),
    int4s(tries.map(({ last }) => last.responseCode)),
    texts(tries.map(({ last }) => (answered(last) ? last.responseBody : ''))),
    int8s(tries.map(({ last }) => (answered(last) ? last.at : null))),
    int4s(tries.map(({ last }) => last.tryNumber)),
    texts(tries.map(({ last }) => last.error)),
    int4s(tries.map(({ last }) => Math.round(last.latencyMs))),
    bools(tries.map(({ succeeded }) => succeeded)),
    int8s(tries.map(({ failingSince }) => failingSince)),
    int4s(tries.map(({ failed }) => failed)),
    int4s(tries.map(({ blocked }) => blocked)),
    bools(tries.map(({ blockedOnly }) => blockedOnly)),
  );
}

function afterTry(before: Tries | undefined, last: CallSettlement): Tries {
  const {
    failed = 0,
    failingSince = null,
    succeeded = false,
    blocked = 0,
    blockedOnly = true,
  } = before ?? {};
  const isSuccess = last.state === 'succeeded';
  return {
    last,
    failed: isSuccess ? 0 : failed + 1,
    failingSince: isSuccess ? null : (failingSince ?? last.at),
    succeeded: succeeded || isSuccess,
    blocked: last.blocked ? blocked + 1 : 0,
    blockedOnly: blockedOnly && last.blocked,
  };
}

/**
 * Creates calls for `found` (seq), due at $2: new ones, and finished ones again from their first try. $1: the
 * webhook. Its row and those of the events are locked, so that no call is created for one that is being deleted.
 */
const REPLAY = `hook AS MATERIALIZED (SELECT id FROM webhook WHERE id = $1 FOR SHARE),
  kept AS MATERIALIZED (SELECT e.seq FROM event e JOIN found f ON f.seq = e.seq ORDER BY e.seq FOR KEY SHARE OF e),
  made AS (
    INSERT INTO webhook_call AS c
      (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
    SELECT hook.id, kept.seq, 0, 0, $2::int8, 0, 0, '', $2::int8, $2::int8 FROM kept CROSS JOIN hook
    ON CONFLICT (webhook_id, event_seq) DO UPDATE SET state = 0, epoch = 0, due_at = excluded.due_at, tries = 0,
      updated_at = excluded.updated_at WHERE c.state > 1 RETURNING c.id)`;

/** Those of the calls $3 that belong to the webhook, at most $4. */
const REPLAY_CALLS = `WITH found AS MATERIALIZED (
    SELECT event_seq AS seq FROM webhook_call WHERE webhook_id = $1 AND id = ANY ($3::int8[]) ORDER BY event_seq LIMIT $4),
  ${REPLAY} SELECT count(*) AS made FROM made`;

/**
 * $3: domain, $4: kinds, $5, $6: the place behind which, $7: the time before which the events are; $8: at most so many, and
 * one more, which says that there are more; $9: only those whose call failed.
 */
const REPLAY_EVENTS = `WITH looked AS MATERIALIZED (
    SELECT f.at, f.seq, row_number() OVER (ORDER BY f.at, f.seq) AS place
    FROM unnest($4::int2[]) k (kind) CROSS JOIN LATERAL (
      SELECT e.at, e.seq FROM event e WHERE e.domain_id = $3 AND e.kind = k.kind AND (e.at, e.seq) > ($5::int8, $6::int8)
        AND e.at < $7 ORDER BY e.at, e.seq LIMIT $8::int8 + 1) f
    ORDER BY f.at, f.seq LIMIT $8::int8 + 1),
  found AS MATERIALIZED (
    SELECT l.seq FROM looked l LEFT JOIN webhook_call c ON c.webhook_id = $1 AND c.event_seq = l.seq
    WHERE l.place <= $8 AND (c.state = ${callStateCode.of('failed')} OR NOT $9)),
  ${REPLAY}
  SELECT l.at, l.seq, (SELECT count(*) FROM made) AS made, (SELECT count(*) FROM looked) AS looked
  FROM looked l WHERE l.place <= $8 ORDER BY l.place DESC LIMIT 1`;

export const replayCalls = write('replayCalls', async ({ db }, params) => {
  const { webhookId, callIds, since, until, onlyFailed, now, limit } = params;
  if (callIds !== undefined) {
    const row = await db.get<{ made: number }>(REPLAY_CALLS, webhookId, now, int8s(callIds), limit);
    return { made: row?.made ?? 0, next: null };
  }
  const hook = await db.get<{ domain_id: number; event: string }>(
    'SELECT domain_id, event FROM webhook WHERE id = $1',
    webhookId,
  );
  if (hook === undefined) return { made: 0, next: null };
  const after = params.after ?? { at: since, seq: 0 };
  const row = await db.get<EventPlace & { made: number; looked: number }>(
    REPLAY_EVENTS,
    webhookId,
    now,
    hook.domain_id,
    int2s(kindsCalledFor(hook.event)),
    after.at,
    after.seq,
    until,
    limit,
    onlyFailed,
  );
  if (row === undefined) return { made: 0, next: null };
  return { made: row.made, next: row.looked > limit ? { at: row.at, seq: row.seq } : null };
});
