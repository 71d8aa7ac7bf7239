/** Who changed what: entries by their ids, which are in the order of time. */
import { AUDIT_ENTRY } from '../shared/rows/audit.ts';
import { newestById } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';

export const addAudit = write('addAudit', async ({ db }, params) => {
  const { entry, maxPerLine, maxRecentPerLine, recentSince } = params;
  await db.insert('audit', AUDIT_ENTRY.row(entry), 'ON CONFLICT DO NOTHING');
  const { line } = entry;
  // The index is read no further than to the larger limit.
  const found = await db.get<{ n: number }>(
    'SELECT count(*) AS n FROM (SELECT FROM audit WHERE line = $1 LIMIT $2) a',
    line,
    maxRecentPerLine + 1,
  );
  const n = found?.n ?? 0;
  if (n <= maxPerLine) return;
  const oldest = 'SELECT id FROM audit WHERE line = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED';
  const sql = `DELETE FROM audit WHERE id = (${oldest}) AND (at < $2 OR $3::bool)`;
  await db.run(sql, line, recentSince, n > maxRecentPerLine);
});

export const listAudit = read('listAudit', { lane: 'search' }, async (db, params) => {
  const { rows, nextId } = await newestById(
    db,
    {
      columns: AUDIT_ENTRY.columns,
      table: 'audit',
      narrow(filter) {
        filter.when('operation = ?', params.operation);
        filter.when('? IN (who_id, who_name)', params.who);
        filter.when('at >= ?', params.since);
        filter.when('at < ?', params.until);
      },
    },
    params,
  );
  return { entries: rows.map(AUDIT_ENTRY.value), nextId };
});

export const purgeAudit = write('purgeAudit', async ({ db }, { before, limit }) => {
  const sql = 'SELECT id FROM audit WHERE at < $1 ORDER BY at LIMIT $2';
  return db.run(`DELETE FROM audit WHERE id IN (${sql})`, before, limit);
});
