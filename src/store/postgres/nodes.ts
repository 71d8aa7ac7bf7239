/**
 * Nodes: epochs, heartbeats, leases, and reclaiming the rows of an ended epoch. `topics/nodes.ts` has their promises.
 * Whoever ends an epoch or takes its leases locks the row of its node with the heartbeat that was seen, so that a node
 * that was merely slow keeps its rights.
 */

import { record } from '../shared/record.ts';
import type { LivingNode, NodeRow } from '../topics/nodes.ts';
import { int8s, texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';

/** An epoch that ended longer ago is deleted. */
const KEPT_MS = 30 * 24 * 3_600_000;
const MAX_LEASES_SHOWN = 1000;

/**
 * Condition: the epoch, an expression, has not ended. One that never began has not; one that was forgotten had ended,
 * because a later one has begun since.
 */
export const LIVING = (
  epoch: string,
): string => `(EXISTS (SELECT FROM node n WHERE n.epoch = ${epoch} AND n.ended_at IS NULL)
  OR (NOT EXISTS (SELECT FROM node n WHERE n.epoch >= ${epoch})))`;

/** Whether an epoch has not ended. */
export async function isLiving(db: Db, epoch: number): Promise<boolean> {
  const row = await db.get<{ living: boolean }>(`SELECT ${LIVING('$1::int8')} AS living`, epoch);
  return row?.living === true;
}

/** A new epoch, greater than all before. */
export const beginEpoch = write('beginEpoch', { serial: 'nodes' }, async ({ db }, params) => {
  const { nodeId, now, alone = false, about } = params;
  const over = await db.all<{ epoch: number }>(
    `UPDATE node SET ended_at = $1 WHERE ended_at IS NULL AND ($2 OR node_id = $3) RETURNING epoch`,
    now,
    alone,
    nodeId,
  );
  await db.run(
    'DELETE FROM node_lease WHERE epoch = ANY ($1::int8[])',
    int8s(over.map(({ epoch }) => epoch)),
  );
  // The greatest number stays, so that none is used twice.
  await db.run('DELETE FROM node WHERE ended_at < $1', now - KEPT_MS);
  return db.insertId('node', 'epoch', {
    node_id: nodeId,
    started_at: now,
    heartbeat_at: now,
    host: about?.host ?? '',
    pid: about?.pid ?? 0,
    roles: JSON.stringify(about?.roles ?? []),
    sources: JSON.stringify(about?.sources ?? []),
  });
});

export const heartbeat = write(
  'heartbeat',
  { lane: 'quick', unsynced: true },
  async ({ db }, { epoch, now }) => {
    const beat = db.run(
      'UPDATE node SET beat = beat + 1, heartbeat_at = $1 WHERE epoch = $2 AND ended_at IS NULL',
      now,
      epoch,
    );
    const [alive, others, leases] = await Promise.all([
      beat,
      db.all<{ epoch: number; beat: number; node_id: string; sources: string }>(
        'SELECT epoch, beat, node_id, sources FROM node WHERE ended_at IS NULL AND epoch <> $1 ORDER BY epoch',
        epoch,
      ),
      leasesOf(db, epoch, Number.MAX_SAFE_INTEGER),
    ]);
    if (alive === 0) return { kind: 'ended' };
    return {
      kind: 'alive',
      others: others.map(
        (row): LivingNode => ({
          epoch: row.epoch,
          beat: row.beat,
          nodeId: row.node_id,
          sources: JSON.parse(row.sources) as string[],
        }),
      ),
      leases,
    };
  },
);

export const endEpoch = write('endEpoch', async ({ db }, { epoch, beat, now }) => {
  const ended = await db.run(
    'UPDATE node SET ended_at = $1 WHERE epoch = $2 AND ended_at IS NULL AND beat = coalesce($3, beat)',
    now,
    epoch,
    beat ?? null,
  );
  if (ended === 0) return false;
  await db.run('DELETE FROM node_lease WHERE epoch = $1', epoch);
  return true;
});

/** Steps through the epochs that have rows: one step for each, however many rows there are. */
const heldBy = (table: 'delivery' | 'webhook_call'): string => `
  WITH RECURSIVE held (epoch) AS (
    (SELECT epoch FROM ${table} WHERE state = 1 ORDER BY epoch LIMIT 1)
    UNION ALL
    SELECT (SELECT t.epoch FROM ${table} t WHERE t.state = 1 AND t.epoch > held.epoch ORDER BY t.epoch LIMIT 1)
    FROM held WHERE held.epoch IS NOT NULL
  )
  SELECT epoch FROM held
  WHERE epoch IS NOT NULL AND NOT EXISTS (SELECT FROM node n WHERE n.epoch = held.epoch AND n.ended_at IS NULL)`;

/** Releases leased rows, due at $1, those that fit `condition`. A delivery is marked, as it is unknown whether it was sent. */
const free = (table: 'delivery' | 'webhook_call', condition: string): string => `
  UPDATE ${table} SET state = 0, epoch = 0, due_at = $1, updated_at = $1
    ${table === 'delivery' ? ', wait_reason = NULL, may_be_duplicate = true' : ''}
  WHERE id IN (SELECT id FROM ${table} WHERE state = 1 AND epoch = $2 ${condition} ORDER BY id LIMIT $3 FOR UPDATE)`;

const LEASED = ['delivery', 'webhook_call'] as const;

/** Releases rows and calls of ended epochs, at most `limit` together. */
export const reclaim = write('reclaim', async ({ db }, { now, limit }) => {
  let left = limit;
  for (const table of LEASED) {
    for (const { epoch } of await db.all<{ epoch: number }>(heldBy(table)))
      left -= await db.run(free(table, ''), now, epoch, left);
  }
  return limit - left;
});

/** Releases rows and calls that their living node does not have, at most `limit` together. */
export const strays = write('strays', async ({ db }, { epoch, held, olderThan, now, limit }) => {
  let left = limit;
  for (const table of LEASED) {
    const ids = int8s(table === 'delivery' ? held.deliveries : held.calls);
    const sql = free(table, 'AND updated_at < $4 AND id <> ALL ($5::int8[])');
    left -= await db.run(sql, now, epoch, left, olderThan, ids);
  }
  return limit - left;
});

export const takeLeases = write('takeLeases', { serial: 'leases' }, async ({ db }, params) => {
  const { epoch, names, quiet, now } = params;
  // Nobody ends the epoch before its leases are written, and a beat of a holder is not overlooked.
  await db.all(
    'SELECT FROM node WHERE epoch = $1 OR epoch = ANY ($2::int8[]) ORDER BY epoch FOR UPDATE',
    epoch,
    int8s(quiet.map((other) => other.epoch)),
  );
  if (!(await isLiving(db, epoch))) return [];
  await db.run(
    `INSERT INTO node_lease (name, epoch, taken_at) SELECT name, $1, $2 FROM unnest($3::text[]) name
     ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, taken_at = excluded.taken_at
     WHERE NOT EXISTS (SELECT FROM node n WHERE n.epoch = node_lease.epoch AND n.ended_at IS NULL)
       OR EXISTS (SELECT FROM unnest($4::int8[], $5::int8[]) q (epoch, beat) JOIN node n USING (epoch, beat)
         WHERE q.epoch = node_lease.epoch AND node_lease.epoch <> $1)`,
    epoch,
    now,
    texts([...new Set(names)]),
    int8s(quiet.map((other) => other.epoch)),
    int8s(quiet.map(({ beat }) => beat)),
  );
  const rows = await db.all<{ name: string }>(
    'SELECT name FROM node_lease WHERE epoch = $1 AND name = ANY ($2::text[])',
    epoch,
    texts(names),
  );
  const own = new Set(rows.map(({ name }) => name));
  return names.filter((name) => own.has(name));
});

export const giveLeases = write('giveLeases', { whole: true }, async ({ db }, { epoch, names }) => {
  if (names === undefined) await db.run('DELETE FROM node_lease WHERE epoch = $1', epoch);
  else
    await db.run('DELETE FROM node_lease WHERE epoch = $1 AND name = ANY ($2::text[])', epoch, texts(names));
});

const NODE = record<Omit<NodeRow, 'sending' | 'leases'>>(
  {
    epoch: 'plain',
    nodeId: 'plain',
    host: 'plain',
    pid: 'plain',
    roles: 'json',
    sources: 'json',
    startedAt: 'plain',
    heartbeatAt: 'plain',
    endedAt: 'plain',
    beat: 'plain',
  },
  'n.',
);

export const listNodes = read('listNodes', async (db, { limit }) => {
  const rows = await db.all<{ epoch: number; sending: number }>(
    `SELECT ${NODE.columns}, (SELECT count(*) FROM delivery d WHERE d.state = 1 AND d.epoch = n.epoch) AS sending
     FROM node n ORDER BY n.ended_at IS NOT NULL, n.epoch DESC LIMIT $1`,
    limit,
  );
  return Promise.all(
    rows.map(async (row) => ({
      ...NODE.value(row),
      sending: row.sending,
      leases: await leasesOf(db, row.epoch, MAX_LEASES_SHOWN),
    })),
  );
});

async function leasesOf(db: Db, epoch: number, limit: number): Promise<string[]> {
  const sql = 'SELECT name FROM node_lease WHERE epoch = $1 ORDER BY name LIMIT $2';
  return (await db.all<{ name: string }>(sql, epoch, limit)).map(({ name }) => name);
}
