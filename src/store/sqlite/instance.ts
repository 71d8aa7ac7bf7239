/** The instance's own identity. A synchronous function for the writer; it runs inside the writer's transaction. */
import { write } from './engine/operation.ts';

/** The stored instance id; `proposedId` becomes it where none is stored yet. */
export const instanceId = write('instanceId', 'by key', { synced: true }, ({ db }, params) => {
  db.run(
    "INSERT INTO meta (name, value) VALUES ('instance_id', ?) ON CONFLICT DO NOTHING",
    params.proposedId,
  );
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? params.proposedId;
});
