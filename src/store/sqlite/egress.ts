/** When paths closed and opened, and what delivery has learnt about the world outside. */
import type { StoredEgressFact, StoredPathChange } from '../topics/limits.ts';
import type { Connection } from './engine/connection.ts';
import type { ParamsOf } from './engine/operation-types.ts';
import type { Session } from './engine/session.ts';

/** Changes of one site, newest first. Tests hold its plan to the index. */
export const PATH_CHANGES_SQL = `SELECT source, site, at, until, reason FROM path_change
  WHERE site = ? AND at >= ? AND at <= ? ORDER BY at DESC, id DESC LIMIT ?`;

/** See `Store.addPathChanges`. */
export function addPathChanges({ db }: Session, { changes }: ParamsOf<'addPathChanges'>): void {
  for (const { source, site, at, until, reason } of changes) {
    const sql = 'INSERT INTO path_change (source, site, at, until, reason) VALUES (?, ?, ?, ?, ?)';
    db.run(sql, source, site, at, until, reason);
  }
}

/** See `Store.listPathChanges`. */
export function listPathChanges(
  db: Connection,
  { sites, since, until, limit }: ParamsOf<'listPathChanges'>,
): StoredPathChange[] {
  const found = [...new Set(sites)].flatMap((site) =>
    db.all<StoredPathChange>(PATH_CHANGES_SQL, site, since, until, limit),
  );
  return found.sort((a, b) => b.at - a.at).slice(0, limit);
}

/** See `Store.purgePathChanges`. */
export function purgePathChanges({ db }: Session, { before, limit }: ParamsOf<'purgePathChanges'>): number {
  return db.run(
    'DELETE FROM path_change WHERE id IN (SELECT id FROM path_change WHERE at < ? ORDER BY at LIMIT ?)',
    before,
    limit,
  ).changes;
}

/** See `Store.putEgressFacts`. */
export function putEgressFacts({ db }: Session, { facts }: ParamsOf<'putEgressFacts'>): void {
  for (const { kind, key, value, until } of facts) {
    db.run(
      `INSERT INTO egress_fact (kind, key, value, until) VALUES (?, ?, ?, ?)
       ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value, until = excluded.until`,
      kind,
      key,
      value,
      until,
    );
  }
}

/** See `Store.listEgressFacts`. */
export function listEgressFacts(
  db: Connection,
  { now, perKind }: ParamsOf<'listEgressFacts'>,
): StoredEgressFact[] {
  return db.all<StoredEgressFact>(
    `SELECT kind, key, value, until FROM
       (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY until DESC, key) AS place
        FROM egress_fact WHERE until > ?)
     WHERE place <= ? ORDER BY until DESC, kind, key`,
    now,
    perKind,
  );
}

/** See `Store.purgeEgressFacts`. */
export function purgeEgressFacts({ db }: Session, { now, limit }: ParamsOf<'purgeEgressFacts'>): number {
  return db.run(
    `DELETE FROM egress_fact WHERE (kind, key) IN
       (SELECT kind, key FROM egress_fact WHERE until <= ? ORDER BY until LIMIT ?)`,
    now,
    limit,
  ).changes;
}
