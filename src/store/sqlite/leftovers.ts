/**
 * Deletes rows that belong to a removed thing in portions. When a thing is removed, its number is stored in `leftover`;
 * its rows can no longer be found, and `purgeLeftovers` deletes them in portions.
 */
import { dropUnkeptContent, STEP_BYTES } from './contents.ts';
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';
import type { Session } from './engine/session.ts';

/**
 * Deletes the content of a message that is no longer needed, or leaves it to a later step if the running transaction
 * has deleted its maximum.
 */
export function dropOrLeaveContent(session: Session, messageSeq: number): void {
  if (session.dropped >= STEP_BYTES) leaveRows(session.db, 'content', messageSeq);
  else session.dropped += dropUnkeptContent(session.db, messageSeq);
}

/** Things with rows of their own, how these are deleted, and how many together: texts of templates are large. */
const KINDS = {
  webhook: { table: 'webhook_call', owner: 'webhook_id', atOnce: 500 },
  template: { table: 'template_version', owner: 'template_seq', atOnce: 4 },
  'sandbox-rule': { table: 'sandbox_rule_use', owner: 'rule_seq', atOnce: 500 },
} as const;

export type LeftoverKind = keyof typeof KINDS | 'content';

/** Records that the rows of a thing are to be deleted; the thing's own row is deleted in the same transaction. */
export function leaveRows(db: Connection, kind: LeftoverKind, owner: number): void {
  db.insert('leftover', { kind, owner }, 'ON CONFLICT DO NOTHING');
}

export const purgeLeftovers = write('purgeLeftovers', 'measured', { portion: true }, ({ db }, params) => {
  const next = db.get<{ kind: LeftoverKind; owner: number }>('SELECT kind, owner FROM leftover LIMIT 1');
  if (next === undefined) return false;
  if (next.kind === 'content') return purgeContentsLeft(db, params.limit);
  const { table, owner, atOnce } = KINDS[next.kind];
  const limit = Math.min(params.limit, atOnce);
  const { changes } = db.run(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${owner} = ? LIMIT ?)`,
    next.owner,
    limit,
  );
  if (changes === limit) return true;
  return forget(db, next.kind, next.owner);
});

function purgeContentsLeft(db: Connection, limit: number): boolean {
  const sql = "SELECT owner FROM leftover WHERE kind = 'content' LIMIT ?";
  let bytes = 0;
  let more = true;
  for (const { owner } of db.all<{ owner: number }>(sql, limit)) {
    if (bytes >= STEP_BYTES) return true;
    bytes += dropUnkeptContent(db, owner);
    more = forget(db, 'content', owner);
  }
  return more;
}

/** Whether anything else is left. */
function forget(db: Connection, kind: LeftoverKind, owner: number): boolean {
  db.run('DELETE FROM leftover WHERE kind = ? AND owner = ?', kind, owner);
  return db.get('SELECT 1 FROM leftover LIMIT 1') !== undefined;
}
