/**
 * Deletes rows that belong to a removed thing in portions. When a thing is removed, its number is stored in `leftover`;
 * its rows can no longer be found, and `purgeLeftovers` deletes them in portions.
 */
import { type Db, type Session, write } from '../operation.ts';
import type { Work } from '../work.ts';
import { type LeftoverKind, STEP_BYTES } from './removal.ts';

/** Things with rows of their own, how these are found and deleted, and how many together: texts of templates are large. */
const KINDS = {
  webhook: { table: 'webhook_call', key: 'id', owner: 'webhook_id', atOnce: 500 },
  template: { table: 'template_version', key: 'seq', owner: 'template_seq', atOnce: 4 },
  'sandbox-rule': { table: 'sandbox_rule_use', key: 'delivery_id', owner: 'rule_seq', atOnce: 500 },
} as const;

export const purgeLeftovers = write(
  'purgeLeftovers',
  'measured',
  { portion: true, serial: 'leftovers' },
  function* (session, { limit }) {
    const { db } = session;
    const next = yield* db.get<{ kind: LeftoverKind; owner: number }>(
      'SELECT kind, owner FROM leftover LIMIT 1',
    );
    if (next === undefined) return false;
    if (next.kind === 'content') return yield* purgeContents(session, limit);
    const { table, key, owner, atOnce } = KINDS[next.kind];
    const most = Math.min(limit, atOnce);
    const changes = yield* db.run(
      `DELETE FROM ${table} WHERE ${key} IN (SELECT ${key} FROM ${table} WHERE ${owner} = ? LIMIT ?)`,
      next.owner,
      most,
    );
    return changes === most || (yield* forget(db, next.kind, next.owner));
  },
);

function* purgeContents(session: Session, limit: number): Work<boolean> {
  const { db } = session;
  const sql = "SELECT owner FROM leftover WHERE kind = 'content' LIMIT ?";
  let bytes = 0;
  let more = true;
  for (const { owner } of yield* db.all<{ owner: number }>(sql, limit)) {
    if (bytes >= STEP_BYTES) return true;
    bytes += yield* session.dropUnkeptContent(owner);
    more = yield* forget(db, 'content', owner);
  }
  return more;
}

/** Whether anything else is left. */
function* forget(db: Db, kind: LeftoverKind, owner: number): Work<boolean> {
  yield* db.run('DELETE FROM leftover WHERE kind = ? AND owner = ?', kind, owner);
  return (yield* db.get('SELECT 1 FROM leftover LIMIT 1')) !== undefined;
}
