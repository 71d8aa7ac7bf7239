/**
 * Nodes: beginning epochs, heartbeats, taking leases; `topics/nodes.ts` has the promises. A transaction that takes the leases
 * of an epoch locks the node's row and checks the heartbeat that was seen, so that a node that was merely slow keeps its
 * rights.
 */
import { leastEpoch } from '../shared/epochs.ts';
import { aliveAmong, EPOCH_KEPT_MS, type LeaseRow, newNodeRow, type OtherRow } from '../shared/rows/nodes.ts';
import { int8s, texts } from './engine/arrays.ts';
import { NOW } from './engine/checks.ts';
import type { Db } from './engine/db.ts';
import { requireKnown } from './engine/migrate.ts';
import { write } from './engine/operation.ts';

/**
 * Condition: the epoch, given as an expression, has not ended. An epoch without a row has ended if a later one has begun:
 * its row was deleted. Otherwise it has not begun yet.
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

/** The same; the epoch cannot end before the transaction does. */
export async function staysLiving(db: Db, epoch: number): Promise<boolean> {
  await db.get('SELECT FROM node WHERE epoch = $1 FOR SHARE', epoch);
  return isLiving(db, epoch);
}

/** A new epoch, greater than all before. Throws StoreRefused if the schema is newer than this program knows. */
export const beginEpoch = write('beginEpoch', { serial: 'nodes' }, async (session, params) => {
  const { db, began, schemaNumber } = session;
  const { nodeId, now, alone = false, chance } = params;
  // Either a program that changes the schema sees this node, or this node sees the change.
  await db.run('LOCK TABLE migration IN ROW SHARE MODE');
  await requireKnown(db, schemaNumber);
  const over = await db.all<{ epoch: number }>(
    'UPDATE node SET ended_at = $1, lost = true WHERE ended_at IS NULL AND ($2 OR node_id = $3) RETURNING epoch',
    now,
    alone,
    nodeId,
  );
  await db.run(
    'DELETE FROM node_lease WHERE epoch = ANY ($1::int8[])',
    int8s(over.map(({ epoch }) => epoch)),
  );
  const row = await db.get<{ last: number }>('SELECT coalesce(max(epoch), 0) AS last FROM node');
  await db.run('DELETE FROM node WHERE ended_at < $1', now - EPOCH_KEPT_MS);
  const epoch = await db.insertId('node', 'epoch', {
    epoch: Math.max((row?.last ?? 0) + 1, leastEpoch(now, chance)),
    ...newNodeRow(params),
    schema_number: schemaNumber,
  });
  began(epoch);
  return epoch;
});

export const heartbeat = write(
  'heartbeat',
  { lane: 'quick', unsynced: true },
  async ({ db, isOver }, { epoch, now }) => {
    if (isOver(epoch)) return { kind: 'taken-over' };
    const beat = db.run(
      'UPDATE node SET beat = beat + 1, heartbeat_at = $1 WHERE epoch = $2 AND ended_at IS NULL',
      now,
      epoch,
    );
    const [alive, others, own, time] = await Promise.all([
      beat,
      db.all<OtherRow>(
        `SELECT n.epoch, n.beat, n.node_id AS "nodeId", n.sources, n.version,
           (SELECT count(*) FROM node_lease l WHERE l.epoch = n.epoch) AS leases
         FROM node n WHERE n.ended_at IS NULL AND n.epoch <> $1 ORDER BY n.epoch`,
        epoch,
      ),
      db.all<LeaseRow>(
        'SELECT name, asked_by AS "askedBy" FROM node_lease WHERE epoch = $1 ORDER BY name',
        epoch,
      ),
      db.get<{ now: number }>(NOW),
    ]);
    if (alive === 0) return { kind: 'ended' };
    return { ...aliveAmong(others, own), now: time?.now ?? now };
  },
);

export const takeLeases = write('takeLeases', { serial: 'leases' }, async ({ db }, params) => {
  const { epoch, names, quiet, now } = params;
  // Nobody ends the epoch before its leases are written, and no heartbeat of a holder is missed.
  await db.all(
    'SELECT FROM node WHERE epoch = $1 OR epoch = ANY ($2::int8[]) ORDER BY epoch FOR UPDATE',
    epoch,
    int8s(quiet.map((other) => other.epoch)),
  );
  if (!(await isLiving(db, epoch))) return [];
  await db.run(
    TAKE,
    epoch,
    now,
    texts([...new Set(names)]),
    int8s(quiet.map((other) => other.epoch)),
    int8s(quiet.map(({ beat }) => beat)),
  );
  const rows = await db.all<{ name: string }>(
    'SELECT l.name FROM unnest($2::text[]) g (name) JOIN node_lease l ON l.name = g.name WHERE l.epoch = $1',
    epoch,
    texts(names),
  );
  const own = new Set(rows.map(({ name }) => name));
  if (own.size < names.length) await db.run(ASK, epoch, texts(names));
  return names.filter((name) => own.has(name));
});

/** Of lease `l`: its holder lives, and has not stood still as `quiet` says. */
const IS_HELD = (
  l: string,
): string => `EXISTS (SELECT FROM node n WHERE n.epoch = ${l}.epoch AND n.ended_at IS NULL
    AND (n.epoch = $1 OR (n.epoch, n.beat) NOT IN (SELECT * FROM unnest($4::int8[], $5::int8[]))))`;

/** Looks before it inserts, as a row in the way would be locked, which is a write, again and again. */
const TAKE = `INSERT INTO node_lease (name, epoch, taken_at)
  SELECT g.name, $1, $2 FROM unnest($3::text[]) g (name) LEFT JOIN node_lease l ON l.name = g.name
  WHERE l.name IS NULL OR NOT ${IS_HELD('l')}
  ON CONFLICT (name) DO UPDATE SET epoch = excluded.epoch, taken_at = excluded.taken_at, asked_by = NULL
  WHERE NOT ${IS_HELD('node_lease')}`;

/**
 * Leases of other nodes are requested, unless a living node that has no more leases than this one has requested them
 * already. Leases are counted once for each node: counted for each lease, thousands of them would take seconds.
 */
const ASK = `WITH held AS MATERIALIZED (SELECT epoch, count(*) AS n FROM node_lease GROUP BY epoch),
  before AS MATERIALIZED (SELECT n.epoch FROM node n LEFT JOIN held h ON h.epoch = n.epoch
    WHERE n.ended_at IS NULL AND coalesce(h.n, 0) <= coalesce((SELECT n FROM held WHERE epoch = $1), 0))
  UPDATE node_lease l SET asked_by = $1 FROM unnest($2::text[]) g (name)
  WHERE l.name = g.name AND l.epoch <> $1 AND l.asked_by IS DISTINCT FROM $1
    AND (l.asked_by IS NULL OR l.asked_by NOT IN (SELECT epoch FROM before))`;
