/** Nodes: beginning epochs, heartbeats, taking leases. `topics/nodes.ts` has their promises. */
import { leastEpoch } from '../shared/epochs.ts';
import { aliveAmong, EPOCH_KEPT_MS, type LeaseRow, newNodeRow, type OtherRow } from '../shared/rows/nodes.ts';
import { schemaVersion } from './engine/migrate.ts';
import { write } from './engine/operation.ts';
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

function end(session: Session, { epoch, now, lost }: { epoch: number; now: number; lost: boolean }): void {
  session.db.run('UPDATE node SET ended_at = ?, lost = ? WHERE epoch = ?', now, Number(lost), epoch);
  session.db.run('DELETE FROM node_lease WHERE epoch = ?', epoch);
  session.epochsChanged();
}

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
