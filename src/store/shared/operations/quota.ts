/** What sender domains have used of their quotas. */
import { QUOTA_PERIODS, windowStart } from '../../../model/quota.ts';
import { anyOf, read } from '../operation.ts';
import { type QuotaWindow, windowFrom } from '../rows/quota.ts';

export const quotaUses = read('quotaUses', 'by key', {}, function* (db, { domains, now }) {
  const asked = anyOf(db, 'n.text', domains);
  const rows = yield* db.all<QuotaWindow & { domain: string; code: number }>(
    `SELECT n.text AS domain, q.period AS code, q.started_at AS "startedAt", q.used
     FROM name n {CROSS|} JOIN quota_use q ON q.domain_id = n.id ${asked.where()}`,
    ...asked.values(),
  );
  const stored = new Map(rows.map((row) => [`${row.code} ${row.domain}`, row]));
  return domains.map((domain) =>
    QUOTA_PERIODS.map(({ period, code, ms }) => {
      const { startedAt, used } = windowFrom(stored.get(`${code} ${domain}`), windowStart(now, ms));
      return { period, used, resetAt: startedAt + ms };
    }),
  );
});
