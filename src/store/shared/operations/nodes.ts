/**
 * Nodes: ending an epoch, reclaiming what it had, and giving leases to others. Each engine begins epochs, renews them and takes
 * leases. `topics/nodes.ts` has their promises.
 */
import type { NodeRow } from '../../topics/nodes.ts';
import { type Db, read, write } from '../operation.ts';
import { type ColumnValue, record } from '../record.ts';
import type { Work } from '../work.ts';

/** Of one process. */
const MAX_LEASES_SHOWN = 1000;

const NODE = record<Omit<NodeRow, 'sending' | 'leases'>>(
  {
    epoch: 'plain',
    nodeId: 'plain',
    host: 'plain',
    pid: 'plain',
    version: 'plain',
    schemaNumber: 'plain',
    roles: 'json',
    sources: 'json',
    settings: 'json',
    startedAt: 'plain',
    heartbeatAt: 'plain',
    endedAt: 'plain',
    lost: 'flag',
    beat: 'plain',
  },
  'n.',
);

/** Synced, because the node that takes over relies on it. */
export const endEpoch = write('endEpoch', 'by key', { synced: true }, function* (session, params) {
  const { epoch, beat, now } = params;
  const ended = yield* session.db.run(
    'UPDATE node SET ended_at = ?, lost = ? WHERE epoch = ? AND ended_at IS NULL AND beat = coalesce(?, beat)',
    ...[now, beat === undefined ? 0 : 1, epoch, beat ?? null],
  );
  if (ended === 0) return false;
  yield* session.db.run('DELETE FROM node_lease WHERE epoch = ?', epoch);
  session.epochsChanged();
  return true;
});

const LEASED = ['delivery', 'webhook_call'] as const;
type Leased = (typeof LEASED)[number];

/**
 * Ended epochs that have rows: one step for each, however many rows there are. Only what lies between living epochs is looked
 * at: while somebody reads an old state, the index has all that these have leased since.
 */
const heldBy = (table: Leased): string => `WITH RECURSIVE living (epoch) AS (
      SELECT epoch FROM node WHERE ended_at IS NULL),
    held (epoch, next) AS (
      SELECT coalesce((SELECT max(epoch) FROM living WHERE epoch < l.epoch), 0), l.epoch
      FROM (SELECT epoch FROM living UNION ALL SELECT ${Number.MAX_SAFE_INTEGER}) l
      UNION ALL
      SELECT (SELECT t.epoch FROM ${table} t {INDEXED BY ${table}_lease|}
        WHERE t.state = 1 AND t.epoch > held.epoch AND t.epoch < held.next ORDER BY t.epoch LIMIT 1), held.next
      FROM held WHERE held.epoch IS NOT NULL)
    SELECT epoch FROM held WHERE epoch > 0 AND epoch NOT IN (SELECT epoch FROM living) ORDER BY epoch`;

/** Releases leased rows of an epoch, due now. A delivery is marked, as it is unknown whether it was sent. */
function free(
  db: Db,
  table: Leased,
  { epoch, now, limit }: { epoch: number; now: number; limit: number },
  condition = '',
  ...values: ColumnValue[]
): Work<number> {
  const marked = table === 'delivery' ? ', wait_reason = NULL, may_be_duplicate = {1|true}' : '';
  return db.run(
    `UPDATE ${table} SET state = 0, epoch = 0, due_at = ?1, updated_at = ?1${marked}
     WHERE id IN (SELECT id FROM ${table} {INDEXED BY ${table}_lease|} WHERE state = 1 AND epoch = ?2 ${condition}
       {|ORDER BY id} LIMIT ?3 {|FOR UPDATE})`,
    ...[now, epoch, limit],
    ...values,
  );
}

export const reclaim = write('reclaim', 'as asked', { rows: 'limit' }, function* ({ db }, { now, limit }) {
  let left = limit;
  for (const table of LEASED) {
    for (const { epoch } of yield* db.all<{ epoch: number }>(heldBy(table)))
      left -= yield* free(db, table, { epoch, now, limit: left });
  }
  return limit - left;
});

export const strays = write('strays', 'as asked', { rows: 'limit' }, function* ({ db }, params) {
  const { epoch, held, olderThan, now, limit } = params;
  const condition = `AND updated_at < ?4
    AND id NOT IN ({SELECT value FROM json_each(?5)|SELECT json_array_elements_text(?5::json)::int8})`;
  let left = limit;
  for (const table of LEASED) {
    const ids = JSON.stringify(table === 'delivery' ? held.deliveries : held.calls);
    left -= yield* free(db, table, { epoch, now, limit: left }, condition, olderThan, ids);
  }
  return limit - left;
});

export const passLease = write(
  'passLease',
  'by key',
  { serial: 'leases' },
  function* (session, { epoch, name, to, now }) {
    if (!(yield* session.staysLiving(to))) return false;
    const sql = 'UPDATE node_lease SET epoch = ?, taken_at = ?, asked_by = NULL WHERE name = ? AND epoch = ?';
    return (yield* session.db.run(sql, to, now, name, epoch)) > 0;
  },
);

export const giveLeases = write('giveLeases', 'by key', { whole: true }, function* ({ db }, params) {
  const filter = db.filter();
  filter.when('epoch = ?', params.epoch);
  filter.oneOf('name', params.names);
  yield* db.run(`DELETE FROM node_lease ${filter.where()}`, ...filter.values());
});

export const listNodes = read('listNodes', 'as asked', {}, function* (db, { limit }) {
  const rows = yield* db.all<{ epoch: number; sending: number }>(
    `SELECT ${NODE.columns}, (SELECT count(*) FROM delivery d {INDEXED BY delivery_lease|}
       WHERE d.state = 1 AND d.epoch = n.epoch) AS sending
     FROM node n ORDER BY n.ended_at IS NOT NULL, n.epoch DESC LIMIT ?`,
    limit,
  );
  const found = [];
  for (const row of rows) {
    const sql = 'SELECT name FROM node_lease WHERE epoch = ? ORDER BY name LIMIT ?';
    const leases = yield* db.all<{ name: string }>(sql, row.epoch, MAX_LEASES_SHOWN);
    found.push({ ...NODE.value(row), sending: row.sending, leases: leases.map(({ name }) => name) });
  }
  return found;
});
