/** The identity of the instance. */
import { write } from './engine/operation.ts';

export const instanceId = write('instanceId', async ({ db }, params) => {
  await db.insert('meta', { name: 'instance_id', value: params.proposedId }, 'ON CONFLICT DO NOTHING');
  const row = await db.get<{ value: string }>("SELECT value FROM meta WHERE name = 'instance_id'");
  return row?.value ?? params.proposedId;
});
