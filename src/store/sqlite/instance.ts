/** The identity of the instance. */
import { write } from './engine/operation.ts';

export const instanceId = write('instanceId', 'by key', { synced: true }, ({ db }, params) => {
  db.run(
    "INSERT INTO meta (name, value) VALUES ('instance_id', ?) ON CONFLICT DO NOTHING",
    params.proposedId,
  );
  const row = db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? params.proposedId;
});
