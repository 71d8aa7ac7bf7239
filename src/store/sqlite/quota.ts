/**
 * Mail quotas: what a sender domain has used of its minute, hour and day. Counted in the transaction that stores the
 * messages, by the only writer: exact, and kept over a restart. A row contains only the latest window; if the clock is
 * set back, that window continues.
 */
import { QUOTA_PERIODS, windowStart } from '../../model/quota.ts';
import type { CommitResult, QuotaCharge } from '../topics/acceptance.ts';
import type { Connection } from './engine/connection.ts';
import { read } from './engine/operation.ts';
import { findNameId, type Session } from './engine/session.ts';

type Exceeded = Extract<CommitResult, { kind: 'quota-exceeded' }>;

/** Charges every domain, or none and returns the quota that is used up. */
export function charge(session: Session, charges: readonly QuotaCharge[]): Exceeded | null {
  const { db } = session;
  const rows: [domainId: number, period: number, startedAt: number, used: number][] = [];
  for (const { domain, count, limits, now } of charges) {
    const domainId = session.nameId(domain);
    for (const { period, code, ms } of QUOTA_PERIODS) {
      const max = limits[period];
      if (max === null) continue;
      const { startedAt, used } = windowOf(db, domainId, code, windowStart(now, ms));
      if (used + count > max) {
        const left = Math.max(0, max - used);
        return { kind: 'quota-exceeded', domain, period, max, left, resetAt: startedAt + ms };
      }
      rows.push([domainId, code, startedAt, used + count]);
    }
  }
  for (const row of rows) {
    db.run(
      'INSERT OR REPLACE INTO quota_use (domain_id, period, started_at, used) VALUES (?, ?, ?, ?)',
      ...row,
    );
  }
  return null;
}

export const quotaUses = read('quotaUses', 'by key', (db, { domains, now }) =>
  domains.map((domain) => {
    const domainId = findNameId(db, domain);
    return QUOTA_PERIODS.map(({ period, code, ms }) => {
      const start = windowStart(now, ms);
      const { startedAt, used } =
        domainId === null ? { startedAt: start, used: 0 } : windowOf(db, domainId, code, start);
      return { period, used, resetAt: startedAt + ms };
    });
  }),
);

/** The stored window if it has not ended, otherwise a new one. */
function windowOf(db: Connection, domainId: number, code: number, start: number) {
  const row = db.get<{ started_at: number; used: number }>(
    'SELECT started_at, used FROM quota_use WHERE domain_id = ? AND period = ?',
    domainId,
    code,
  );
  return row === undefined || row.started_at < start
    ? { startedAt: start, used: 0 }
    : { startedAt: row.started_at, used: row.used };
}
