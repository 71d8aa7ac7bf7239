/** When paths closed and opened, and what delivery has learnt about the world outside. */
import type { StoredEgressFact, StoredPathChange } from '../topics/limits.ts';
import { read, write } from './engine/operation.ts';

/** Changes of one site, newest first. Tests hold its plan to the index. */
export const PATH_CHANGES_SQL = `SELECT source, site, at, until, reason FROM path_change
  WHERE site = ? AND at >= ? AND at <= ? ORDER BY at DESC, id DESC LIMIT ?`;

export const addPathChanges = write('addPathChanges', 'by key', ({ db }, { changes }) => {
  for (const { source, site, at, until, reason } of changes) {
    const sql = 'INSERT INTO path_change (source, site, at, until, reason) VALUES (?, ?, ?, ?, ?)';
    db.run(sql, source, site, at, until, reason);
  }
});

export const listPathChanges = read('listPathChanges', 'as asked', (db, { sites, since, until, limit }) => {
  const found = [...new Set(sites)].flatMap((site) =>
    db.all<StoredPathChange>(PATH_CHANGES_SQL, site, since, until, limit),
  );
  return found.sort((a, b) => b.at - a.at).slice(0, limit);
});

export const purgePathChanges = write(
  'purgePathChanges',
  'as asked',
  { portion: true },
  ({ db }, { before, limit }) => {
    return db.run(
      'DELETE FROM path_change WHERE id IN (SELECT id FROM path_change WHERE at < ? ORDER BY at LIMIT ?)',
      before,
      limit,
    ).changes;
  },
);

export const putEgressFacts = write('putEgressFacts', 'by key', ({ db }, { facts }) => {
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
});

export const listEgressFacts = read('listEgressFacts', 'small', (db, { now, perKind }) => {
  return db.all<StoredEgressFact>(
    `SELECT kind, key, value, until FROM
       (SELECT *, row_number() OVER (PARTITION BY kind ORDER BY until DESC, key) AS place
        FROM egress_fact WHERE until > ?)
     WHERE place <= ? ORDER BY until DESC, kind, key`,
    now,
    perKind,
  );
});

export const purgeEgressFacts = write(
  'purgeEgressFacts',
  'as asked',
  { portion: true },
  ({ db }, { now, limit }) => {
    return db.run(
      `DELETE FROM egress_fact WHERE (kind, key) IN
       (SELECT kind, key FROM egress_fact WHERE until <= ? ORDER BY until LIMIT ?)`,
      now,
      limit,
    ).changes;
  },
);
