/** Who changed what: entries by their ids, which are in the order of time. A count for each line keeps its room small. */
import type { AuditEntry } from '../../model/audit.ts';
import { createFilter } from './engine/filter.ts';
import { read, write } from './engine/operation.ts';
import { record } from './engine/record.ts';

const ENTRY = record<AuditEntry>({
  id: 'plain',
  at: 'plain',
  line: 'plain',
  byPerson: 'flag',
  whoId: 'plain',
  whoName: 'plain',
  operation: 'plain',
  resource: 'plain',
  ip: 'plain',
});

/** Above every id: ids are of digits and small letters. */
const AFTER_ALL_IDS = '~';

export const addAudit = write('addAudit', 'by key', { synced: true }, ({ db }, params) => {
  const { entry, maxPerLine, maxRecentPerLine, recentSince } = params;
  db.insert('audit', ENTRY.row(entry), 'ON CONFLICT DO NOTHING');
  const { line } = entry;
  const { n = 0 } = db.get<{ n: number }>('SELECT n FROM audit_count WHERE line = ?', line) ?? {};
  if (n <= maxPerLine) return;
  const sql = `DELETE FROM audit WHERE id = (SELECT id FROM audit WHERE line = ? ORDER BY id LIMIT 1)
    AND (at < ? OR ?)`;
  db.run(sql, line, recentSince, n > maxRecentPerLine ? 1 : 0);
});

export const listAudit = read('listAudit', 'measured', (db, params) => {
  const { beforeId = AFTER_ALL_IDS, limit, look } = params;
  const end = db.get<{ id: string }>(
    'SELECT id FROM audit WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?',
    beforeId,
    look - 1,
  )?.id;
  const filter = createFilter();
  filter.when('id < ?', beforeId);
  filter.when('id >= ?', end);
  filter.oneOf('operation', params.operation === undefined ? undefined : [params.operation]);
  filter.when('? IN (who_id, who_name)', params.who);
  filter.when('at >= ?', params.since);
  filter.when('at < ?', params.until);
  // The condition on ids bounds the search: no other index may be taken.
  const rows = db.all<{ id: string }>(
    `SELECT ${ENTRY.columns} FROM audit INDEXED BY sqlite_autoindex_audit_1 ${filter.where()} ORDER BY id DESC LIMIT ?`,
    ...filter.values(),
    limit,
  );
  return { entries: rows.map(ENTRY.value), nextId: (rows.length === limit ? rows.at(-1)?.id : end) ?? null };
});

export const purgeAudit = write('purgeAudit', 'as asked', { portion: true }, ({ db }, { before, limit }) => {
  const sql = 'SELECT rowid FROM audit WHERE at < ? ORDER BY at LIMIT ?';
  return db.run(`DELETE FROM audit WHERE rowid IN (${sql})`, before, limit).changes;
});
