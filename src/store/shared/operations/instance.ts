/** The identity of the instance. */
import { write } from '../operation.ts';

export const instanceId = write('instanceId', 'by key', { synced: true }, function* ({ db }, { proposedId }) {
  yield* db.insert('meta', { name: 'instance_id', value: proposedId }, 'ON CONFLICT DO NOTHING');
  const row = yield* db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? proposedId;
});
