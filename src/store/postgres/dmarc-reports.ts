/** DMARC reports about sender domains. They belong to a domain's number, so whoever adds its name again inherits none. */
import { DMARC_REPORT, STORED_DMARC_REPORT } from '../shared/rows/dmarc-reports.ts';
import type { Db } from './engine/db.ts';
import { read, write } from './engine/operation.ts';

const NEWEST = { receivedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

export const addDmarcReport = write('addDmarcReport', async ({ db }, params) => {
  const { domain, report, recentSince, maxOfSigner, maxOfAll } = params;
  const domainId = await idOf(db, domain);
  if (domainId === null) return 'unknown';
  const known = `SELECT FROM dmarc_report
    WHERE domain_id = $1 AND signed_by = $2 AND reporter = $3 AND report_id = $4`;
  if ((await db.get(known, domainId, report.signedBy, report.reporter, report.reportId)) !== undefined)
    return 'known';
  const recent = await db.get<{ n: number; own: number }>(
    `SELECT count(*) AS n, count(*) FILTER (WHERE signed_by = $1) AS own FROM dmarc_report
     WHERE domain_id = $2 AND received_at >= $3`,
    report.signedBy,
    domainId,
    recentSince,
  );
  if (recent !== undefined && (recent.n >= maxOfAll || recent.own >= maxOfSigner)) return 'full';
  await db.insert(
    'dmarc_report',
    { domain_id: domainId, ...DMARC_REPORT.row(report) },
    'ON CONFLICT DO NOTHING',
  );
  return 'added';
});

export const listDmarcReports = read('listDmarcReports', { lane: 'search' }, async (db, params) => {
  const domainId = await idOf(db, params.domain);
  if (domainId === null) return [];
  const { before = NEWEST } = params;
  const rows = await db.all<object>(
    `SELECT ${STORED_DMARC_REPORT.columns} FROM dmarc_report
     WHERE domain_id = $1 AND received_at >= $2 AND (received_at, id) < ($3, $4)
     ORDER BY received_at DESC, id DESC LIMIT $5`,
    domainId,
    params.since,
    before.receivedAt,
    before.id,
    params.limit,
  );
  return rows.map(STORED_DMARC_REPORT.value);
});

export const purgeDmarcReports = write('purgeDmarcReports', async ({ db }, { before, limit }) => {
  const sql = 'SELECT id FROM dmarc_report WHERE received_at < $1 ORDER BY received_at LIMIT $2';
  return db.run(`DELETE FROM dmarc_report WHERE id IN (${sql})`, before, limit);
});

async function idOf(db: Db, name: string): Promise<number | null> {
  return (await db.get<{ id: number }>('SELECT id FROM domain WHERE name = $1', name))?.id ?? null;
}
