/**
 * Webhook calls in portions. A commit creates fifty calls of a domain at most; the rest is recorded in `later_call`,
 * one row per event, and when a webhook is switched on, its waiting calls are processed by `webhook_resume`. `prepareCalls`
 * continues with both, up to a number of rows of each, of which each webhook or domain has an equal share, so that nobody's
 * backlog delays another's.
 */
import { callStateCode } from '../shared/codes.ts';
import type { Db } from './engine/db.ts';
import { write } from './engine/operation.ts';

/** Calls that one transaction creates for a domain. */
export const MOST_CALLS = 50;

/** Writes that prepare calls run one at a time: a webhook that is switched on again begins anew. */
export const SERIAL = 'calls';

/** Starts to process the calls that waited while a webhook was off, with the first portion. */
export async function beginResume(db: Db, resume: { id: number; since: number; now: number }): Promise<void> {
  await db.put('webhook_resume', 'webhook_id', {
    webhook_id: resume.id,
    since: resume.since,
    at: resume.now,
    due_at: -1,
    call_id: -1,
  });
  await db.run(RESUME, resume.id, MOST_CALLS);
}

/** Of a pending call `p`: it waited too long. */
const GIVEN_UP = 'p.updated_at < p.since';

/**
 * $1: the webhook, or null for all that resume; $2: calls. Calls created or tried since they resume are not included, for
 * example a replay of an old call.
 */
const RESUME = `WITH resuming AS MATERIALIZED (
    SELECT * FROM webhook_resume WHERE $1::int8 IS NULL OR webhook_id = $1::int8 ORDER BY webhook_id LIMIT $2),
  share AS MATERIALIZED (SELECT greatest(1, $2::int8 / greatest(1, count(*))) AS n FROM resuming),
  part AS MATERIALIZED (
    SELECT r.webhook_id, r.since, r.at, c.* FROM resuming r CROSS JOIN LATERAL (
      SELECT c.id, c.due_at, c.updated_at FROM webhook_call c
      WHERE c.webhook_id = r.webhook_id AND c.state = 0 AND (c.due_at, c.id) > (r.due_at, r.call_id)
      ORDER BY c.due_at, c.id LIMIT (SELECT n FROM share)) c),
  changed AS (
    UPDATE webhook_call c SET state = CASE WHEN ${GIVEN_UP} THEN ${callStateCode.of('failed')} ELSE c.state END,
      error = CASE WHEN ${GIVEN_UP} THEN 'Given up: the webhook was switched off for too long' ELSE c.error END,
      updated_at = CASE WHEN ${GIVEN_UP} THEN p.at ELSE c.updated_at END,
      due_at = CASE WHEN ${GIVEN_UP} THEN c.due_at ELSE p.at END
    FROM part p WHERE c.id = p.id AND c.state = 0 AND p.updated_at <= p.at AND (${GIVEN_UP} OR p.due_at > p.at)),
  reached AS MATERIALIZED (
    SELECT DISTINCT ON (webhook_id) webhook_id, due_at, id, count(*) OVER (PARTITION BY webhook_id) AS n
    FROM part ORDER BY webhook_id, due_at DESC, id DESC),
  moved AS (
    UPDATE webhook_resume r SET due_at = e.due_at, call_id = e.id
    FROM reached e WHERE r.webhook_id = e.webhook_id AND e.n >= (SELECT n FROM share))
  DELETE FROM webhook_resume r USING resuming s LEFT JOIN reached e ON e.webhook_id = s.webhook_id
  WHERE r.webhook_id = s.webhook_id AND coalesce(e.n, 0) < (SELECT n FROM share)`;

/** $1: calls. An existing one was created by a replay meanwhile; a webhook that was deleted gets none. */
const MAKE = `WITH RECURSIVE domain (id) AS (
    (SELECT domain_id FROM later_call ORDER BY domain_id LIMIT 1)
    UNION ALL
    SELECT (SELECT l.domain_id FROM later_call l WHERE l.domain_id > d.id ORDER BY l.domain_id LIMIT 1) FROM domain d
    WHERE d.id IS NOT NULL),
  served AS MATERIALIZED (SELECT id FROM domain WHERE id IS NOT NULL LIMIT $1),
  share AS MATERIALIZED (SELECT greatest(1, $1::int8 / greatest(1, count(*))) AS n FROM served),
  owed AS MATERIALIZED (
    SELECT l.domain_id, l.event_seq, l.at, h.hook::int8 AS hook, h.place,
      row_number() OVER (PARTITION BY l.domain_id ORDER BY l.event_seq, h.place) <= (SELECT n FROM share) AS in_turn
    FROM served s CROSS JOIN LATERAL (
        SELECT * FROM later_call l WHERE l.domain_id = s.id ORDER BY l.event_seq LIMIT (SELECT n FROM share)) l
      CROSS JOIN LATERAL json_array_elements_text(l.webhooks::json) WITH ORDINALITY h (hook, place)),
  made AS (
    INSERT INTO webhook_call
      (webhook_id, event_seq, state, epoch, due_at, tries, response_code, error, created_at, updated_at)
    SELECT o.hook, o.event_seq, 0, 0, o.at, 0, 0, '', o.at, o.at FROM owed o
    WHERE o.in_turn AND EXISTS (SELECT FROM webhook w WHERE w.id = o.hook) ORDER BY o.hook, o.event_seq
    ON CONFLICT DO NOTHING),
  kept AS MATERIALIZED (
    SELECT domain_id, event_seq, json_agg(hook ORDER BY place) FILTER (WHERE NOT in_turn)::text AS hooks
    FROM owed GROUP BY domain_id, event_seq HAVING bool_or(in_turn)),
  fewer AS (
    UPDATE later_call l SET webhooks = k.hooks FROM kept k
    WHERE l.domain_id = k.domain_id AND l.event_seq = k.event_seq AND k.hooks IS NOT NULL)
  DELETE FROM later_call l USING kept k
  WHERE l.domain_id = k.domain_id AND l.event_seq = k.event_seq AND k.hooks IS NULL`;

export const prepareCalls = write('prepareCalls', { serial: SERIAL }, async (session, { limit }) => {
  const { db } = session;
  await db.run(RESUME, null, limit);
  await db.run(MAKE, limit);
  const left = await db.get<{ more: boolean }>(
    'SELECT EXISTS (SELECT FROM later_call) OR EXISTS (SELECT FROM webhook_resume) AS more',
  );
  // They are due since their events.
  session.overdue = true;
  return left?.more === true;
});
