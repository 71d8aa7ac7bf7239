/**
 * Nodes: epochs, heartbeats, leases, and reclaiming the rows of an ended epoch. `topics/nodes.ts` has their promises.
 */

import type { SQLInputValue } from 'node:sqlite';
import { record } from '../shared/record.ts';
import type { LivingNode, NodeRow } from '../topics/nodes.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** An epoch that ended longer ago is deleted. */
const KEPT_MS = 30 * 24 * 3_600_000;
const MAX_LEASES_SHOWN = 1000;

/** A new epoch, greater than all before. */
export const beginEpoch = write('beginEpoch', 'small', { synced: true }, (session, params) => {
  const { db } = session;
  const { nodeId, now, alone = false, about } = params;
  const over = db.all<{ epoch: number }>(
    `SELECT epoch FROM node WHERE ended_at IS NULL${alone ? '' : ' AND node_id = ?'}`,
    ...(alone ? [] : [nodeId]),
  );
  for (const { epoch } of over) end(session, epoch, now);
  // The greatest number stays, so that none is used twice (AUTOINCREMENT ensures that too).
  db.run('DELETE FROM node WHERE ended_at < ?', now - KEPT_MS);
  return db.insert('node', {
    node_id: nodeId,
    started_at: now,
    heartbeat_at: now,
    host: about?.host ?? '',
    pid: about?.pid ?? 0,
    roles: JSON.stringify(about?.roles ?? []),
    sources: JSON.stringify(about?.sources ?? []),
  }).lastId;
});

export const heartbeat = write('heartbeat', 'by key', ({ db }, params) => {
  const { epoch, now } = params;
  const alive = db.run(
    'UPDATE node SET beat = beat + 1, heartbeat_at = ? WHERE epoch = ? AND ended_at IS NULL',
    now,
    epoch,
  ).changes;
  if (alive === 0) return { kind: 'ended' };
  const others = db.all<{ epoch: number; beat: number; node_id: string; sources: string }>(
    'SELECT epoch, beat, node_id, sources FROM node WHERE ended_at IS NULL AND epoch <> ? ORDER BY epoch',
    epoch,
  );
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
    leases: leasesOf(db, epoch, Number.MAX_SAFE_INTEGER),
  };
});

/** Synced, because the node that takes over relies on it. */
export const endEpoch = write('endEpoch', 'by key', { synced: true }, (session, params) => {
  const { epoch, beat, now } = params;
  const row = session.db.get<{ beat: number }>(
    'SELECT beat FROM node WHERE epoch = ? AND ended_at IS NULL',
    epoch,
  );
  if (row === undefined || (beat !== undefined && row.beat !== beat)) return false;
  end(session, epoch, now);
  return true;
});

function end(session: Session, epoch: number, now: number): void {
  session.db.run('UPDATE node SET ended_at = ? WHERE epoch = ?', now, epoch);
  session.db.run('DELETE FROM node_lease WHERE epoch = ?', epoch);
  session.epochsChanged();
}

/** Steps through the epochs that have rows: one step for each, however many rows there are. */
const heldBy = (table: 'delivery' | 'webhook_call'): string => `
  WITH RECURSIVE held (epoch) AS (
    SELECT min(epoch) FROM ${table} INDEXED BY ${table}_lease WHERE state = 1
    UNION ALL
    SELECT (SELECT min(epoch) FROM ${table} INDEXED BY ${table}_lease WHERE state = 1 AND epoch > held.epoch)
    FROM held WHERE held.epoch IS NOT NULL
  )
  SELECT epoch FROM held WHERE epoch IS NOT NULL AND epoch NOT IN (SELECT epoch FROM node WHERE ended_at IS NULL)`;

/** Releases leased rows, due now, those that fit `condition`. A delivery is marked, as it is unknown whether it was sent. */
function free(
  db: Connection,
  table: 'delivery' | 'webhook_call',
  condition: string,
  { now, limit }: { now: number; limit: number },
  ...values: SQLInputValue[]
): number {
  const marked = table === 'delivery' ? ', wait_reason = NULL, may_be_duplicate = 1' : '';
  return db.run(
    `UPDATE ${table} SET state = 0, epoch = 0, due_at = ?, updated_at = ?${marked}
     WHERE id IN (SELECT id FROM ${table} INDEXED BY ${table}_lease WHERE state = 1 AND ${condition} LIMIT ?)`,
    now,
    now,
    ...values,
    limit,
  ).changes;
}

const LEASED = ['delivery', 'webhook_call'] as const;

/** Releases rows and calls of ended epochs, at most `limit` together. */
export const reclaim = write('reclaim', 'as asked', { rows: 'limit' }, ({ db }, { now, limit }) => {
  let left = limit;
  for (const table of LEASED) {
    for (const { epoch } of db.all<{ epoch: number }>(heldBy(table)))
      left -= free(db, table, 'epoch = ?', { now, limit: left }, epoch);
  }
  return limit - left;
});

/** Releases rows and calls that their living node does not have, at most `limit` together. */
export const strays = write('strays', 'as asked', { rows: 'limit' }, ({ db }, params) => {
  const { epoch, held, olderThan, now, limit } = params;
  const condition = 'epoch = ? AND updated_at < ? AND id NOT IN (SELECT value FROM json_each(?))';
  let left = limit;
  for (const table of LEASED) {
    const ids = JSON.stringify(table === 'delivery' ? held.deliveries : held.calls);
    left -= free(db, table, condition, { now, limit: left }, epoch, olderThan, ids);
  }
  return limit - left;
});

export const takeLeases = write('takeLeases', 'by key', (session, params) => {
  const { db } = session;
  const { epoch, names, quiet, now } = params;
  if (session.hasEnded(epoch)) return [];
  return names.filter((name) => {
    const held = db.get<{ epoch: number; beat: number | null }>(
      `SELECT l.epoch, (SELECT beat FROM node n WHERE n.epoch = l.epoch AND n.ended_at IS NULL) AS beat
       FROM node_lease l WHERE l.name = ?`,
      name,
    );
    if (held?.epoch === epoch) return true;
    const free =
      held === undefined ||
      held.beat === null ||
      quiet.some((other) => other.epoch === held.epoch && other.beat === held.beat);
    if (!free) return false;
    db.run('INSERT OR REPLACE INTO node_lease (name, epoch, taken_at) VALUES (?, ?, ?)', name, epoch, now);
    return true;
  });
});

export const giveLeases = write('giveLeases', 'by key', ({ db }, params) => {
  const { epoch, names } = params;
  if (names === undefined) db.run('DELETE FROM node_lease WHERE epoch = ?', epoch);
  else for (const name of names) db.run('DELETE FROM node_lease WHERE name = ? AND epoch = ?', name, epoch);
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

export const listNodes = read('listNodes', 'as asked', (db, params) => {
  const rows = db.all<{ epoch: number; sending: number }>(
    `SELECT ${NODE.columns}, (SELECT count(*) FROM delivery d INDEXED BY delivery_lease
       WHERE d.state = 1 AND d.epoch = n.epoch) AS sending
     FROM node n ORDER BY n.ended_at IS NOT NULL, n.epoch DESC LIMIT ?`,
    params.limit,
  );
  return rows.map((row) => ({
    ...NODE.value(row),
    sending: row.sending,
    leases: leasesOf(db, row.epoch, MAX_LEASES_SHOWN),
  }));
});

function leasesOf(db: Connection, epoch: number, limit: number): string[] {
  return db
    .all<{ name: string }>('SELECT name FROM node_lease WHERE epoch = ? ORDER BY name LIMIT ?', epoch, limit)
    .map(({ name }) => name);
}
