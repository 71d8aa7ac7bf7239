/**
 * The instance's own facts: its id, the epochs of its nodes, and the return of leases that a dead epoch held.
 * Synchronous functions for the writer; each runs inside the writer's transaction.
 */
import type { ParamsOf } from './operation-types.ts';
import type { Session } from './session.ts';

/** The stored instance id; `proposedId` becomes it where none is stored yet. */
export function instanceId({ db }: Session, params: ParamsOf<'instanceId'>): string {
  db.run(
    "INSERT INTO meta (name, value) VALUES ('instance_id', ?) ON CONFLICT DO NOTHING",
    params.proposedId,
  );
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? params.proposedId;
}

/** A new epoch, greater than all before. */
export function beginEpoch({ db }: Session, params: ParamsOf<'beginEpoch'>): number {
  return db.run('INSERT INTO node (node_id, started_at) VALUES (?, ?)', params.nodeId, params.now).lastId;
}

/**
 * Gives rows and calls of older epochs back, due now, at most `limit` together; reclaimed deliveries are marked as
 * possible duplicates, because what they were doing is unknown.
 */
export function reclaim({ db }: Session, params: ParamsOf<'reclaim'>): number {
  const deliveries = db.run(
    `UPDATE delivery SET state = 0, epoch = 0, due_at = ?, updated_at = ?, wait_reason = NULL, may_be_duplicate = 1
     WHERE id IN (SELECT id FROM delivery INDEXED BY delivery_lease WHERE state = 1 AND epoch < ? LIMIT ?)`,
    params.now,
    params.now,
    params.epoch,
    params.limit,
  ).changes;
  const calls = db.run(
    `UPDATE webhook_call SET state = 0, epoch = 0, due_at = ?, updated_at = ?
     WHERE id IN (SELECT id FROM webhook_call INDEXED BY webhook_call_lease WHERE state = 1 AND epoch < ? LIMIT ?)`,
    params.now,
    params.now,
    params.epoch,
    params.limit - deliveries,
  ).changes;
  return deliveries + calls;
}
