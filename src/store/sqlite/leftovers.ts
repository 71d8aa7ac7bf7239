/**
 * What is left of things that were removed: rows that carry their number, gone in portions. Given a thing whose row goes
 * now, leaves its number in `leftover`; nothing finds the rows any more, and `purgeLeftovers` removes them some at a time.
 */
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';

/** What has rows of its own, how they are removed, and how many together: texts of templates are large. */
const KINDS = {
  webhook: { table: 'webhook_call', owner: 'webhook_id', atOnce: 500 },
  template: { table: 'template_version', owner: 'template_seq', atOnce: 4 },
  'sandbox-rule': { table: 'sandbox_rule_use', owner: 'rule_seq', atOnce: 500 },
} as const;

export type LeftoverKind = keyof typeof KINDS;

/** Says that the rows of a thing are to go; its own row goes in the same transaction. */
export function leaveRows(db: Connection, kind: LeftoverKind, owner: number): void {
  db.run('INSERT INTO leftover (kind, owner) VALUES (?, ?) ON CONFLICT DO NOTHING', kind, owner);
}

export const purgeLeftovers = write('purgeLeftovers', 'measured', { portion: true }, ({ db }, params) => {
  const next = db.get<{ kind: LeftoverKind; owner: number }>('SELECT kind, owner FROM leftover LIMIT 1');
  if (next === undefined) return false;
  const { table, owner, atOnce } = KINDS[next.kind];
  const limit = Math.min(params.limit, atOnce);
  const { changes } = db.run(
    `DELETE FROM ${table} WHERE rowid IN (SELECT rowid FROM ${table} WHERE ${owner} = ? LIMIT ?)`,
    next.owner,
    limit,
  );
  if (changes === limit) return true;
  db.run('DELETE FROM leftover WHERE kind = ? AND owner = ?', next.kind, next.owner);
  return db.get('SELECT 1 FROM leftover LIMIT 1') !== undefined;
});
