/** DMARC reports about sender domains. They belong to a domain's number, so whoever adds its name again inherits none. */
import { DMARC_REPORT, STORED_DMARC_REPORT } from '../shared/rows/dmarc-reports.ts';
import type { Connection } from './engine/connection.ts';
import { read, write } from './engine/operation.ts';

const NEWEST = { receivedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

export const addDmarcReport = write('addDmarcReport', 'by key', { synced: true }, ({ db }, params) => {
  const { domain, report, recentSince, maxOfSigner, maxOfAll } = params;
  const domainId = idOf(db, domain);
  if (domainId === null) return 'unknown';
  const known = `SELECT 1 FROM dmarc_report
    WHERE domain_id = ? AND signed_by = ? AND reporter = ? AND report_id = ?`;
  if (db.get(known, domainId, report.signedBy, report.reporter, report.reportId) !== undefined)
    return 'known';
  const recent = db.get<{ n: number; own: number }>(
    `SELECT count(*) AS n, coalesce(sum(signed_by = ?), 0) AS own FROM dmarc_report INDEXED BY dmarc_report_received
     WHERE domain_id = ? AND received_at >= ?`,
    report.signedBy,
    domainId,
    recentSince,
  );
  if (recent !== undefined && (recent.n >= maxOfAll || recent.own >= maxOfSigner)) return 'full';
  db.insert('dmarc_report', { domain_id: domainId, ...DMARC_REPORT.row(report) });
  return 'added';
});

export const listDmarcReports = read('listDmarcReports', 'as asked', { search: true }, (db, params) => {
  const domainId = idOf(db, params.domain);
  if (domainId === null) return [];
  const { before = NEWEST } = params;
  const rows = db.all<object>(
    `SELECT ${STORED_DMARC_REPORT.columns} FROM dmarc_report INDEXED BY dmarc_report_received
     WHERE domain_id = ? AND received_at >= ? AND (received_at, id) < (?, ?)
     ORDER BY received_at DESC, id DESC LIMIT ?`,
    domainId,
    params.since,
    before.receivedAt,
    before.id,
    params.limit,
  );
  return rows.map(STORED_DMARC_REPORT.value);
});

export const purgeDmarcReports = write(
  'purgeDmarcReports',
  'as asked',
  { portion: true },
  ({ db }, { before, limit }) => {
    const sql = 'SELECT id FROM dmarc_report WHERE received_at < ? ORDER BY received_at LIMIT ?';
    return db.run(`DELETE FROM dmarc_report WHERE id IN (${sql})`, before, limit).changes;
  },
);

function idOf(db: Connection, name: string): number | null {
  return db.get<{ id: number }>('SELECT id FROM domain WHERE name = ?', name)?.id ?? null;
}
