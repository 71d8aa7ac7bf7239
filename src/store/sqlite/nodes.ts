/**
 * Nodes: epochs, heartbeats, leases, and reclaiming the rows of an ended epoch. `topics/nodes.ts` has their promises.
 */

import type { SQLInputValue } from 'node:sqlite';
import { leastEpoch } from '../shared/epochs.ts';
import {
  aliveAmong,
  EPOCH_KEPT_MS,
  type LeaseRow,
  MAX_LEASES_SHOWN,
  NODE,
  newNodeRow,
  type OtherRow,
} from '../shared/rows/nodes.ts';
import type { Connection } from './engine/connection.ts';
import { schemaVersion } from './engine/migrate.ts';
import { read, write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

export const beginEpoch = write('beginEpoch', 'small', { synced: true }, (session, params) => {
  const { db } = session;
  const { nodeId, now, alone = false, chance } = params;
  const over = db.all<{ epoch: number }>(
    `SELECT epoch FROM node WHERE ended_at IS NULL${alone ? '' : ' AND node_id = ?'}`,
    ...(alone ? [] : [nodeId]),
  );
  for (const { epoch } of over) end(session, { epoch, now, lost: true });
  const last = db.get<{ epoch: number | null }>('SELECT max(epoch) AS epoch FROM node')?.epoch ?? 0;
  const least = leastEpoch(now, chance);
  // AUTOINCREMENT uses no number twice.
  db.run('DELETE FROM node WHERE ended_at < ?', now - EPOCH_KEPT_MS);
  return db.insert('node', {
    ...(least > last ? { epoch: least } : {}),
    ...newNodeRow(params),
    schema_number: schemaVersion(db),
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
  const others = db.all<OtherRow>(
    `SELECT n.epoch, n.beat, n.node_id AS nodeId, n.sources, n.version,
       (SELECT count(*) FROM node_lease l WHERE l.epoch = n.epoch) AS leases
     FROM node n WHERE n.ended_at IS NULL AND n.epoch <> ? ORDER BY n.epoch`,
    epoch,
  );
  const own = db.all<LeaseRow>(
    'SELECT name, asked_by AS askedBy FROM node_lease WHERE epoch = ? ORDER BY name',
    epoch,
  );
  // All processes are on the machine of the file.
  return { ...aliveAmong(others, own), now };
});

/** Synced, because the node that takes over relies on it. */
export const endEpoch = write('endEpoch', 'by key', { synced: true }, (session, params) => {
  const { epoch, beat, now } = params;
  const row = session.db.get<{ beat: number }>(
    'SELECT beat FROM node WHERE epoch = ? AND ended_at IS NULL',
    epoch,
  );
  if (row === undefined || (beat !== undefined && row.beat !== beat)) return false;
  end(session, { epoch, now, lost: beat !== undefined });
  return true;
});

function end(session: Session, { epoch, now, lost }: { epoch: number; now: number; lost: boolean }): void {
  session.db.run('UPDATE node SET ended_at = ?, lost = ? WHERE epoch = ?', now, Number(lost), epoch);
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

export const reclaim = write('reclaim', 'as asked', { rows: 'limit' }, ({ db }, { now, limit }) => {
  let left = limit;
  for (const table of LEASED) {
    for (const { epoch } of db.all<{ epoch: number }>(heldBy(table)))
      left -= free(db, table, 'epoch = ?', { now, limit: left }, epoch);
  }
  return limit - left;
});

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
  const own = names.filter((name) => {
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
  if (own.length < names.length) db.run(ASK, epoch, epoch, JSON.stringify(names), epoch, epoch);
  return own;
});

/**
 * Leases of others are asked for, unless a living node that has no more leases asks already. Leases are counted once for
 * each node: counted for each lease, thousands of them would take seconds.
 */
const ASK = `
  WITH held AS MATERIALIZED (SELECT epoch, count(*) AS n FROM node_lease GROUP BY epoch),
    before AS MATERIALIZED (SELECT n.epoch FROM node n LEFT JOIN held h ON h.epoch = n.epoch
      WHERE n.ended_at IS NULL AND coalesce(h.n, 0) <= coalesce((SELECT n FROM held WHERE epoch = ?), 0))
  UPDATE node_lease SET asked_by = ?
  WHERE name IN (SELECT value FROM json_each(?)) AND epoch <> ? AND asked_by IS NOT ?
    AND (asked_by IS NULL OR asked_by NOT IN (SELECT epoch FROM before))`;

export const passLease = write('passLease', 'by key', ({ db }, { epoch, name, to, now }) => {
  const living = db.get('SELECT 1 AS one FROM node WHERE epoch = ? AND ended_at IS NULL', to);
  const sql = 'UPDATE node_lease SET epoch = ?, taken_at = ?, asked_by = NULL WHERE name = ? AND epoch = ?';
  return living !== undefined && db.run(sql, to, now, name, epoch).changes > 0;
});

export const giveLeases = write('giveLeases', 'by key', ({ db }, params) => {
  const { epoch, names } = params;
  if (names === undefined) db.run('DELETE FROM node_lease WHERE epoch = ?', epoch);
  else for (const name of names) db.run('DELETE FROM node_lease WHERE name = ? AND epoch = ?', name, epoch);
});

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
