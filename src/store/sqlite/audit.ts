/** Who changed what: entries by their ids, which are in the order of time. A count for each line keeps its room small. */
import { AUDIT_ENTRY } from '../shared/rows/audit.ts';
import { newestById } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';

export const addAudit = write('addAudit', 'by key', { synced: true }, ({ db }, params) => {
  const { entry, maxPerLine, maxRecentPerLine, recentSince } = params;
  db.insert('audit', AUDIT_ENTRY.row(entry), 'ON CONFLICT DO NOTHING');
  const { line } = entry;
  const { n = 0 } = db.get<{ n: number }>('SELECT n FROM audit_count WHERE line = ?', line) ?? {};
  if (n <= maxPerLine) return;
  const sql = `DELETE FROM audit WHERE id = (SELECT id FROM audit WHERE line = ? ORDER BY id LIMIT 1)
    AND (at < ? OR ?)`;
  db.run(sql, line, recentSince, n > maxRecentPerLine ? 1 : 0);
});

export const listAudit = read('listAudit', 'measured', (db, params) => {
  const { rows, nextId } = newestById(
    db,
    {
      columns: AUDIT_ENTRY.columns,
      table: 'audit',
      // The condition on ids bounds the search: no other index may be taken.
      from: 'audit INDEXED BY sqlite_autoindex_audit_1',
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

export const purgeAudit = write('purgeAudit', 'as asked', { portion: true }, ({ db }, { before, limit }) => {
  const sql = 'SELECT rowid FROM audit WHERE at < ? ORDER BY at LIMIT ?';
  return db.run(`DELETE FROM audit WHERE rowid IN (${sql})`, before, limit).changes;
});
