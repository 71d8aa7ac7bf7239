/**
 * Deletes rows that belong to a removed thing in portions. When a thing is removed, its number is stored in `leftover`;
 * its rows can no longer be found, and `purgeLeftovers` deletes them in portions.
 */
import { dropUnkeptContents, STEP_BYTES } from './contents.ts';
import type { Db } from './engine/db.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/** Things with rows of their own, how these are found and deleted, and how many together: texts of templates are large. */
const KINDS = {
  webhook: { table: 'webhook_call', key: 'id', owner: 'webhook_id', atOnce: 500 },
  template: { table: 'template_version', key: 'seq', owner: 'template_seq', atOnce: 4 },
  'sandbox-rule': { table: 'sandbox_rule_use', key: 'delivery_id', owner: 'rule_seq', atOnce: 500 },
} as const;

export type LeftoverKind = keyof typeof KINDS | 'content';

/** Records that the rows of a thing are to be deleted; the thing's own row is deleted in the same transaction. */
export async function leaveRows(db: Db, kind: LeftoverKind, owner: number): Promise<void> {
  await db.insert('leftover', { kind, owner }, 'ON CONFLICT DO NOTHING');
}

/**
 * Deletes the content of a message that is no longer needed, or leaves it to a later step if the running transaction
 * has deleted its maximum.
 */
export async function dropOrLeaveContent(session: Session, messageSeq: number): Promise<void> {
  if (session.dropped >= STEP_BYTES) await leaveRows(session.db, 'content', messageSeq);
  else session.dropped += await dropUnkeptContents(session.db, [messageSeq]);
}

export const purgeLeftovers = write('purgeLeftovers', { serial: 'leftovers' }, async ({ db }, params) => {
  const next = await db.get<{ kind: LeftoverKind; owner: number }>(
    'SELECT kind, owner FROM leftover LIMIT 1',
  );
  if (next === undefined) return false;
  if (next.kind === 'content') return purgeContentsLeft(db, params.limit);
  const { table, key, owner, atOnce } = KINDS[next.kind];
  const limit = Math.min(params.limit, atOnce);
  const changes = await db.run(
    `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${owner} = $1 LIMIT $2)`,
    next.owner,
    limit,
  );
  return changes === limit || forget(db, next.kind, next.owner);
});

async function purgeContentsLeft(db: Db, limit: number): Promise<boolean> {
  const sql = "SELECT owner FROM leftover WHERE kind = 'content' LIMIT $1";
  let bytes = 0;
  let more = true;
  for (const { owner } of await db.all<{ owner: number }>(sql, limit)) {
    if (bytes >= STEP_BYTES) return true;
    bytes += await dropUnkeptContents(db, [owner]);
    more = await forget(db, 'content', owner);
  }
  return more;
}

/** Whether anything else is left. */
async function forget(db: Db, kind: LeftoverKind, owner: number): Promise<boolean> {
  await db.run('DELETE FROM leftover WHERE kind = $1 AND owner = $2', kind, owner);
  return (await db.get('SELECT FROM leftover LIMIT 1')) !== undefined;
}
