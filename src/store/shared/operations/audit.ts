/** Who changed what: entries by their ids, which are in the order of time. A count for each line keeps its room small. */
import type { AuditEntry } from '../../../model/audit.ts';
import { newestById } from '../newest-by-id.ts';
import { count, read, write } from '../operation.ts';
import { record } from '../record.ts';

const AUDIT_ENTRY = record<AuditEntry>({
  id: 'plain',
  at: 'plain',
  line: 'plain',
  byPerson: 'flag',
  whoId: 'plain',
  whoName: 'plain',
  operation: 'plain',
  resource: 'plain',
  changed: 'json',
  ip: 'plain',
});

/** Triggers of SQLite keep the count of a line; PostgreSQL reads the index no further than to the second value. */
const OF_LINE = `{SELECT n FROM audit_count WHERE line = ?1 AND ?2 > 0|
  SELECT count(*) AS n FROM (SELECT FROM audit WHERE line = ?1 LIMIT ?2) a}`;

export const addAudit = write('addAudit', 'by key', { synced: true }, function* ({ db }, params) {
  const { entry, maxPerLine, maxRecentPerLine, recentSince } = params;
  yield* db.insert('audit', AUDIT_ENTRY.row(entry), 'ON CONFLICT DO NOTHING');
  const n = yield* count(db, OF_LINE, entry.line, maxRecentPerLine + 1);
  if (n <= maxPerLine) return;
  const oldest = 'SELECT id FROM audit WHERE line = ? ORDER BY id LIMIT 1 {|FOR UPDATE SKIP LOCKED}';
  const before = n > maxRecentPerLine ? Number.MAX_SAFE_INTEGER : recentSince;
  yield* db.run(`DELETE FROM audit WHERE id = (${oldest}) AND at < ?`, entry.line, before);
});

export const listAudit = read('listAudit', 'measured', { search: true }, function* (db, params) {
  const { rows, nextId } = yield* newestById(
    db,
    {
      columns: AUDIT_ENTRY.columns,
      table: 'audit',
      // The condition on ids bounds the search: no other index may be taken.
      from: 'audit {INDEXED BY sqlite_autoindex_audit_1|}',
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
  const old = 'SELECT id FROM audit WHERE at < ? ORDER BY at LIMIT ?';
  return db.run(`DELETE FROM audit WHERE id IN (${old})`, before, limit);
});
