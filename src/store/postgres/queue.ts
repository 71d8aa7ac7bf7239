/**
 * The queue: finding due queues, claiming with a lease, releasing leases. A claim writes the caller's epoch to the
 * row; only the same epoch may settle (settling.ts) or release it. Searches use the partial indexes over queued and
 * leased rows, so their cost does not grow with finished rows. Rows that another node is claiming are skipped.
 */

import type { ClaimedDelivery } from '../../model/delivery.ts';
import { EVENT_KINDS } from '../../model/event.ts';
import { IS_DEFERRED, IS_PATH_REASON, IS_SCHEDULED } from '../../model/wait-reason.ts';
import { eventKindCode } from '../shared/codes.ts';
import { type ClaimRow, claimedDelivery, HURRIED_ROWS, hintOf, type QueueRow } from '../shared/rows/queue.ts';
import { MOST_CALLS } from './call-portions.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';
import { NO_FLOOR, type Session, type Shared, type WaitingFloor } from './engine/session.ts';
import { storingEvents, TAKE_XID } from './events.ts';
import { LIVING } from './nodes.ts';
import { reasonsFor } from './suppressions.ts';

/** What waits: recipients in queues, calls of webhooks. */
const WAITING = {
  /**
   * What becomes due is at most as old as the clocks of nodes may differ, and as what a transaction or a wait for the database
   * takes.
   */
  delivery: { of: 'queue_id', behindMs: 120_000, renewEveryMs: 30_000, wholeEveryMs: 5 * 60_000 },
  /** Read for every claim. */
  webhook_call: { of: 'webhook_id', behindMs: 30_000, renewEveryMs: 5_000, wholeEveryMs: 60_000 },
} as const;

/** With more queues of overdue mail than this, the floor stays. */
const MOST_BEHIND = 20_000;
const EARLIEST = Number.MIN_SAFE_INTEGER;

/**
 * Queues or webhooks (`id`) with waiting rows, with the first due time of each: one step of the index for each. `values`:
 * where the `valuesOf` a floor are. Entries before the floor are passed without a look at their rows.
 */
export const waitingOf = (table: keyof typeof WAITING, values = ['?', '?', '?']): string => {
  const first = (condition: string) => `SELECT t.${WAITING[table].of}, t.due_at FROM ${table} t
    WHERE t.state = 0 AND ${condition} ORDER BY t.${WAITING[table].of}, t.due_at LIMIT 1`;
  return `WITH RECURSIVE step (id, due_at, floor) AS (
    SELECT 0::int8, NULL::int8, ${values[0]}::int8
    UNION ALL
    SELECT f.*, step.floor FROM step CROSS JOIN LATERAL (
      ${first(`t.${WAITING[table].of} > step.id AND t.due_at >= step.floor`)}) f),
  waiting (id, due_at) AS MATERIALIZED (
    SELECT id, min(due_at) FROM (
      SELECT id, due_at FROM step WHERE due_at IS NOT NULL
      UNION ALL
      SELECT f.* FROM unnest(${values[1]}::int8[], ${values[2]}::int8[]) g (id, due_at) CROSS JOIN LATERAL (
        ${first(`t.${WAITING[table].of} = g.id AND t.due_at >= g.due_at`)}) f) s
    GROUP BY id)`;
};

const WAITING_QUEUES = waitingOf('delivery');
export const WAITING_HOOKS = waitingOf('webhook_call');

export const valuesOf = ({ dueAt, behind }: WaitingFloor): [number, Buffer, Buffer] => [
  dueAt,
  int8s(behind.map(({ id }) => id)),
  int8s(behind.map(({ due_at: at }) => at)),
];

/** How many rows wait in a row of `waiting`: from its first due time on. */
export const countOf = (table: keyof typeof WAITING, w: string): string =>
  `(SELECT count(*) FROM ${table} t WHERE t.state = 0 AND t.${WAITING[table].of} = ${w}.id AND t.due_at >= ${w}.due_at)`;

/**
 * For a search of all queues or webhooks. While some snapshot is open (a copy by pg_dump), what was claimed since stays in the
 * index: a search begins where the last one found the first rows, and all entries are looked at only now and then. What fell
 * due before the floor all the same is found then, where no hint names its queue. `now` undefined: the floor as it is.
 */
export async function floorFor(
  db: Db,
  { waitingFloors }: Shared,
  table: keyof typeof WAITING,
  now: number | undefined,
): Promise<WaitingFloor> {
  const { behindMs, renewEveryMs, wholeEveryMs } = WAITING[table];
  const floor = waitingFloors[table];
  if (now === undefined) return floor;
  // The clock was set back.
  if (floor.renewedAt > now + behindMs / 2) Object.assign(floor, NO_FLOOR);
  else if (now - floor.renewedAt < renewEveryMs) return floor;
  const isWhole = now - floor.wholeAt >= wholeEveryMs;
  const from = valuesOf(isWhole ? NO_FLOOR : floor);
  // Not again at once if it fails, as it takes too long.
  Object.assign(floor, { renewedAt: now, wholeAt: isWhole ? now : floor.wholeAt });
  const dueAt = now - behindMs;
  const behind = await db.all<{ id: number; due_at: number }>(
    `${waitingOf(table)} SELECT * FROM waiting WHERE due_at < ? LIMIT ?`,
    ...from,
    dueAt,
    MOST_BEHIND + 1,
  );
  if (behind.length <= MOST_BEHIND && dueAt > floor.dueAt) Object.assign(floor, { dueAt, behind });
  return floor;
}

const QUEUE_COLUMNS =
  'SELECT q.id, w.due_at, q.lane, n.text AS sender_domain, q.recipient_domain, q.route_key';
const QUEUE_JOINS = 'JOIN dest_queue q ON q.id = w.id JOIN name n ON n.id = q.sender_domain';

export const dueQueues = read('dueQueues', async (db, { dueBefore, limit, after }, shared) => {
  const rows = await db.all<QueueRow>(
    `${WAITING_QUEUES} ${QUEUE_COLUMNS} FROM waiting w ${QUEUE_JOINS}
     WHERE (w.due_at, w.id) > (?::int8, ?::int8) AND w.due_at <= ? ORDER BY w.due_at, w.id LIMIT ?`,
    ...valuesOf(await floorFor(db, shared, 'delivery', dueBefore)),
    after?.nextDueAt ?? EARLIEST,
    after?.queueId ?? 0,
    dueBefore ?? Number.MAX_SAFE_INTEGER,
    limit,
  );
  return rows.map(hintOf);
});

/** One step of the index for each queue, from its floor on. */
export const dueAmong = read('dueAmong', async (db, { queueIds, now, dueBefore }, { claimFloors }) => {
  const ids = [...new Set(queueIds)];
  const rows = await db.all<QueueRow>(
    `${QUEUE_COLUMNS} FROM unnest($1::int8[], $3::int8[]) g (id, floor) CROSS JOIN LATERAL (
       SELECT d.queue_id AS id, d.due_at FROM delivery d WHERE d.state = 0 AND d.queue_id = g.id AND d.due_at >= g.floor
       ORDER BY d.queue_id, d.due_at LIMIT 1) w ${QUEUE_JOINS}
     WHERE w.due_at <= $2 ORDER BY w.due_at, w.id`,
    int8s(ids),
    dueBefore,
    int8s(ids.map((id) => floorOf(claimFloors, id, now)?.dueAt ?? EARLIEST)),
  );
  const hints = rows.map(hintOf);
  const first = new Map(hints.map(({ queueId, nextDueAt }) => [queueId, nextDueAt]));
  for (const id of ids) raiseFloor(claimFloors, id, first.get(id) ?? now, now);
  return hints;
});

/** How many recipients wait, are being sent, and how many calls are pending: not those of removed webhooks, whose rows are deleted later. */
export const queueCounts = read('queueCounts', { lane: 'count' }, async (db, { now }, shared) => {
  const [queues, hooks] = [
    await floorFor(db, shared, 'delivery', now),
    await floorFor(db, shared, 'webhook_call', now),
  ];
  const row = await db.get<{ due_at: number | null; waiting: number; sending: number; calls: number }>(
    `${WAITING_QUEUES} SELECT (SELECT min(due_at) FROM waiting) AS due_at,
       (SELECT coalesce(sum(${countOf('delivery', 'w')}), 0)::int8 FROM waiting w) AS waiting,
       (SELECT count(*) FROM delivery WHERE state = 1) AS sending,
       (${WAITING_HOOKS} SELECT coalesce(sum(${countOf('webhook_call', 'w')}), 0)::int8 FROM waiting w
          WHERE NOT EXISTS (SELECT FROM leftover l WHERE l.kind = 'webhook' AND l.owner = w.id))
         + (SELECT count(*) FROM webhook_call WHERE state = 1)
         + (SELECT coalesce(sum(json_array_length(webhooks::json)), 0) FROM later_call) AS calls`,
    ...valuesOf(queues),
    ...valuesOf(hooks),
  );
  const { due_at: dueAt = null, waiting = 0, sending = 0, calls = 0 } = row ?? {};
  return {
    queued: waiting + sending,
    sending,
    oldestDueAt: dueAt !== null && dueAt <= now ? dueAt : null,
    pendingCalls: calls,
  };
});

const ACCEPTED = { code: eventKindCode.of('accepted'), token: EVENT_KINDS.accepted.token ?? '' };

/**
 * Leases the rows of `picked` (ids), stores the accepted events of scheduled ones, and reads what delivery needs. $1:
 * epoch, $2: now, $3: the id of the first event; the others count up in their last 48 bits (RFC 9562 §6.2).
 */
const lease = (order: 'due_at' | 'expires_at'): string => `leased AS (
    UPDATE delivery d SET state = 1, epoch = $1, updated_at = $2 FROM picked p WHERE d.id = p.id RETURNING d.*),
  ev AS MATERIALIZED (
    SELECT nextval('event_seq_seq') AS seq, g.* FROM tx CROSS JOIN (
      SELECT overlay($3::text PLACING lpad(to_hex((('x' || lpad(substr($3, 25), 16, '0'))::bit(64)::int8
          + row_number() OVER (ORDER BY l.${order}, l.id) - 1) % 281474976710656), 12, '0') FROM 25)::uuid AS event_id,
        ${ACCEPTED.code}::int2 AS kind, $2::int8 AS at, NULL::text AS detail, '${ACCEPTED.token}'::text AS token, m.domain_id, l.message_seq,
        l.id AS delivery_id
      FROM leased l JOIN message m ON m.seq = l.message_seq WHERE l.${IS_SCHEDULED}
      ORDER BY l.${order}, l.id) g WHERE tx.xid IS NOT NULL),
  ${storingEvents(String(MOST_CALLS))}
  SELECT l.id, l.due_at, l.queue_id, l.message_seq, l.attempts, l.expires_at, l.kind, l.may_be_duplicate, l.sandbox,
    l.first_deferred_at, l.last_deferred_event_at, l.wait_reason, l.address, l.last_category, l.last_reply,
    m.id AS message_id, m.lane, m.domain_id, m.created_at, m.size, m.body_offset, m.needs_smtputf8,
    m.eight_bit, m.personal, m.null_sender, n.text AS sender_domain, q.recipient_domain, q.route_key
  FROM leased l JOIN message m ON m.seq = l.message_seq JOIN dest_queue q ON q.id = l.queue_id
    JOIN name n ON n.id = m.domain_id
  ORDER BY l.${order}, l.id`;

type LeasedRow = ClaimRow & { due_at: number };

/**
 * $4: queue, $5: limit, $6: octets, $7: the floor. Rows beyond that many octets are only locked while the statement
 * runs.
 */
const CLAIM_DUE = `WITH ${TAKE_XID},
  due AS MATERIALIZED (
    SELECT d.id, d.due_at, d.message_seq FROM delivery d
    WHERE d.state = 0 AND d.queue_id = $4 AND d.due_at >= $7 AND d.due_at <= $2 AND d.expires_at > $2 AND ${LIVING('$1::int8')}
    ORDER BY d.due_at, d.id LIMIT $5 FOR UPDATE OF d SKIP LOCKED),
  picked AS MATERIALIZED (
    SELECT id FROM (
      SELECT due.id, sum(m.size) OVER w AS bytes, row_number() OVER w AS place
      FROM due JOIN message m ON m.seq = due.message_seq AND m.size <= $8::int8 WINDOW w AS (ORDER BY due.due_at, due.id)) s
    WHERE bytes <= $6 OR place = 1),
  ${lease('due_at')}`;

/**
 * Rows that fall due before those that were found, because another node released or accepted them, are within this
 * time.
 */
const FLOOR_MS = 2_000;
/** After this time, the searches of a queue begin at its first row again. */
const FLOOR_FOR_MS = 10_000;
type Floors = Shared['claimFloors'];

/** undefined: the search begins at the first row. */
function floorOf(floors: Floors, queueId: number, now: number): { dueAt: number; since: number } | undefined {
  const known = floors.get(queueId);
  return known !== undefined && Math.abs(now - known.since) <= FLOOR_FOR_MS ? known : undefined;
}

/** Nothing waits in the queue that falls due before `dueAt`. */
function raiseFloor(floors: Floors, queueId: number, dueAt: number, now: number): void {
  const since = floorOf(floors, queueId, now)?.since ?? now;
  floors.set(queueId, { dueAt: Math.min(dueAt, now) - FLOOR_MS, since });
}

/** $4: limit. */
const CLAIM_EXPIRED = `WITH ${TAKE_XID},
  picked AS MATERIALIZED (
    SELECT d.id FROM delivery d WHERE d.state = 0 AND d.expires_at <= $2 AND ${LIVING('$1::int8')}
    ORDER BY d.expires_at, d.id LIMIT $4 FOR UPDATE OF d SKIP LOCKED),
  ${lease('expires_at')}`;

/**
 * Leases the earliest due rows of one queue; at least one row of any size, or up to `maxRowBytes`, then up to `maxBytes` of
 * content. While some snapshot is open (a copy by pg_dump), what was claimed since stays in the index, and every search would step
 * over all of it: the next one begins a little before the last row of this claim.
 */
export const claimDue = write('claimDue', { lane: 'claim', whole: true }, async (session, params) => {
  const { epoch, now, eventId, queueId, limit, maxBytes, maxRowBytes = Number.MAX_SAFE_INTEGER } = params;
  if (session.isOver(epoch)) return [];
  const { claimFloors } = session;
  const claim = (floor: number) =>
    session.db.all<LeasedRow>(CLAIM_DUE, epoch, now, eventId, queueId, limit, maxBytes, floor, maxRowBytes);
  const floor = floorOf(claimFloors, queueId, now);
  let rows = await claim(floor?.dueAt ?? EARLIEST);
  if (rows.length === 0 && floor !== undefined) rows = await claim(EARLIEST);
  // Rows that are too large for this claim stay before its last one.
  if (rows.length < limit && params.maxRowBytes !== undefined) claimFloors.delete(queueId);
  else raiseFloor(claimFloors, queueId, rows.at(-1)?.due_at ?? now, now);
  return claimed(session, rows, params);
});

export const claimExpired = write('claimExpired', { lane: 'claim', whole: true }, async (session, params) => {
  const { epoch, now, eventId, limit } = params;
  if (session.isOver(epoch)) return [];
  const rows = await session.db.all<LeasedRow>(CLAIM_EXPIRED, epoch, now, eventId, limit);
  return claimed(session, rows, params);
});

/**
 * Releases leases of `epoch` unchanged; rows that are no longer leased to it are left alone. `state + 0` hides the index over
 * leased rows, which would be read whole.
 */
export const release = write('release', { lane: 'settle', whole: true }, async (session, params) => {
  const rows = await session.db.all<{ queue_id: number }>(
    `UPDATE delivery SET state = 0, epoch = 0, due_at = $1, wait_reason = $2
     WHERE id = ANY ($3::int8[]) AND state + 0 = 1 AND epoch = $4 RETURNING queue_id`,
    ...[params.dueAt, params.waitReason, int8s(params.deliveryIds), params.epoch],
  );
  for (const { queue_id } of rows) session.queues.add(queue_id);
});

export const hurry = write(
  'hurry',
  { lane: 'settle', whole: true },
  async ({ db }, { queues, deferred = false, now }) => {
    // Asked again of the row as it is when it is changed: it may have been put off or claimed meanwhile.
    const waits = deferred ? `${IS_PATH_REASON} OR ${IS_DEFERRED}` : IS_PATH_REASON;
    const rows = await db.all<{
      queue_id: number;
      hurried: number;
      last: number;
      last_id: number;
      n: number;
    }>(
      `WITH later AS (
       SELECT q.id AS queue_id, f.* FROM unnest($2::int8[], $3::int8[], $4::int8[]) q (id, due_at, after_id)
       CROSS JOIN LATERAL (
         SELECT d.id, d.due_at, d.wait_reason FROM delivery d
         WHERE d.state = 0 AND d.queue_id = q.id AND (d.due_at, d.id) > (q.due_at, q.after_id)
         ORDER BY d.due_at, d.id LIMIT ${HURRIED_ROWS}) f),
     held AS MATERIALIZED (
       SELECT id FROM delivery WHERE id = ANY (ARRAY(SELECT id FROM later WHERE ${waits})) AND state + 0 = 0 AND (${waits})
       ORDER BY id FOR NO KEY UPDATE),
     hurried AS (UPDATE delivery d SET due_at = $1 FROM held WHERE d.id = held.id RETURNING d.id)
     SELECT l.queue_id, count(*)::int4 AS n, count(h.id)::int4 AS hurried,
       (array_agg(l.due_at ORDER BY l.due_at DESC, l.id DESC))[1] AS last,
       (array_agg(l.id ORDER BY l.due_at DESC, l.id DESC))[1] AS last_id
     FROM later l LEFT JOIN hurried h ON h.id = l.id GROUP BY l.queue_id`,
      ...[now, int8s(queues.map(({ queueId }) => queueId))],
      int8s(queues.map(({ after }) => after?.dueAt ?? now)),
      int8s(queues.map(({ after }) => after?.id ?? Number.MAX_SAFE_INTEGER)),
    );
    return {
      hurried: rows.reduce((sum, row) => sum + row.hurried, 0),
      more: rows.flatMap(({ queue_id: queueId, last, last_id: id, n }) =>
        n === HURRIED_ROWS ? [{ queueId, after: { dueAt: last, id } }] : [],
      ),
    };
  },
);

/** Suppressions are read after the claim, so one that was stored before it is never missed. */
async function claimed(
  { db }: Session,
  rows: readonly LeasedRow[],
  { epoch, now }: { epoch: number; now: number },
): Promise<ClaimedDelivery[]> {
  if (rows.length === 0) return [];
  const suppressed = await reasonsFor(db, rows, now);
  return rows.map((row) => claimedDelivery(row, epoch, suppressed.get(row.id) ?? []));
}
