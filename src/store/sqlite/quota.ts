/**
 * Mail quotas: what a sender domain has used of its minute, hour and day. Counted in the transaction that stores the
 * messages, by the only writer: exact, and kept over a restart. A row contains only the latest window.
 */
import { charged, type Exceeded, type QuotaWindow } from '../shared/rows/quota.ts';
import type { QuotaCharge } from '../topics/acceptance.ts';
import type { Session } from './engine/session.ts';

/** Charges every domain, or none and returns the quota that is used up. */
export function charge({ db, nameId }: Session, charges: readonly QuotaCharge[]): Exceeded | null {
  const sql = 'SELECT started_at AS startedAt, used FROM quota_use WHERE domain_id = ? AND period = ?';
  const windows = charged(charges, nameId, (domainId, code) => db.get<QuotaWindow>(sql, domainId, code));
  if ('kind' in windows) return windows;
  for (const { domainId, code, startedAt, used } of windows) {
    const row = { domain_id: domainId, period: code, started_at: startedAt, used };
    db.put('quota_use', 'domain_id, period', row);
  }
  return null;
}
