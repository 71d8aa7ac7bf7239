/** DMARC reports about sender domains. They belong to a domain's number, so whoever adds its name again inherits none. */
import type { DmarcReport } from '../../../model/dmarc-report.ts';
import { type Db, read, write } from '../operation.ts';
import { record } from '../record.ts';
import type { Work } from '../work.ts';

const MEMBERS = {
  reporter: 'plain',
  signedBy: 'plain',
  reportId: 'plain',
  beginAt: 'plain',
  endAt: 'plain',
  receivedAt: 'plain',
  counts: 'json',
} as const;

const DMARC_REPORT = record<DmarcReport>(MEMBERS);

const STORED_DMARC_REPORT = record<DmarcReport & { id: number }>({ id: 'plain', ...MEMBERS });

const NEWEST = { receivedAt: Number.MAX_SAFE_INTEGER, id: Number.MAX_SAFE_INTEGER };

const BY_TIME =
  'FROM dmarc_report {INDEXED BY dmarc_report_received|} WHERE domain_id = ? AND received_at >= ?';

export const addDmarcReport = write('addDmarcReport', 'by key', { synced: true }, function* ({ db }, params) {
  const { domain, report, recentSince, maxOfSigner, maxOfAll } = params;
  const domainId = yield* idOf(db, domain);
  if (domainId === null) return 'unknown';
  const known = `SELECT 1 FROM dmarc_report
    WHERE domain_id = ? AND signed_by = ? AND reporter = ? AND report_id = ?`;
  if ((yield* db.get(known, domainId, report.signedBy, report.reporter, report.reportId)) !== undefined)
    return 'known';
  const recent = yield* db.get<{ n: number; own: number }>(
    `SELECT count(*) AS n, count(*) FILTER (WHERE signed_by = ?) AS own ${BY_TIME}`,
    ...[report.signedBy, domainId, recentSince],
  );
  const own = recent?.own ?? 0;
  if (own >= maxOfSigner) return 'full';
  if (recent !== undefined && recent.n >= maxOfAll) {
    const most = yield* db.get<{ signer: string; n: number }>(
      `SELECT signed_by AS signer, count(*) AS n ${BY_TIME} GROUP BY signed_by ORDER BY n DESC LIMIT 1`,
      ...[domainId, recentSince],
    );
    if (most === undefined || most.n <= own + 1) return 'full';
    const last = `SELECT id ${BY_TIME} AND signed_by = ? ORDER BY received_at DESC, id DESC LIMIT 1`;
    yield* db.run(`DELETE FROM dmarc_report WHERE id = (${last})`, domainId, recentSince, most.signer);
  }
  const row = { domain_id: domainId, ...DMARC_REPORT.row(report) };
  return (yield* db.insert('dmarc_report', row, 'ON CONFLICT DO NOTHING')) === 0 ? 'known' : 'added';
});

export const listDmarcReports = read(
  'listDmarcReports',
  'as asked',
  { search: true },
  function* (db, { domain, since, before = NEWEST, limit }) {
    const domainId = yield* idOf(db, domain);
    if (domainId === null) return [];
    const rows = yield* db.all<object>(
      `SELECT ${STORED_DMARC_REPORT.columns} ${BY_TIME} AND (received_at, id) < (?, ?)
       ORDER BY received_at DESC, id DESC LIMIT ?`,
      ...[domainId, since, before.receivedAt, before.id, limit],
    );
    return rows.map(STORED_DMARC_REPORT.value);
  },
);

export const purgeDmarcReports = write(
  'purgeDmarcReports',
  'as asked',
  { portion: true },
  ({ db }, { before, limit }) => {
    const old = 'SELECT id FROM dmarc_report WHERE received_at < ? ORDER BY received_at LIMIT ?';
    return db.run(`DELETE FROM dmarc_report WHERE id IN (${old})`, before, limit);
  },
);

function* idOf(db: Db, name: string): Work<number | null> {
  return (yield* db.get<{ id: number }>('SELECT id FROM domain WHERE name = ?', name))?.id ?? null;
}
