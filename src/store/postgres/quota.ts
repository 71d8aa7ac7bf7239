/**
 * Mail quotas: what a sender domain has used of its minute, hour and day. Counted in the transaction that stores the
 * messages, exact, under the lock of the domain's rows. A row contains only the latest window; if the clock is set back,
 * that window continues.
 */
import { QUOTA_PERIODS } from '../../model/quota.ts';
import { type ChargedWindow, charged, type Exceeded } from '../shared/rows/quota.ts';
import type { QuotaCharge } from '../topics/acceptance.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Session } from './engine/session.ts';

/**
 * Charges each of several operations in order: every domain of it, or none where a quota is used up, which is returned for it.
 */
export async function charge(
  session: Session,
  operations: readonly (readonly QuotaCharge[])[],
): Promise<(Exceeded | null)[]> {
  const { db } = session;
  const names = await session.nameIds(operations.flatMap((charges) => charges.map(({ domain }) => domain)));
  // Rows are locked in one order everywhere.
  const ids = [...new Set(names.values())].sort((a, b) => a - b);
  await db.run(
    `INSERT INTO quota_use (domain_id, period, started_at, used)
     SELECT d, p, 0, 0 FROM unnest($1::int8[]) d, unnest($2::int2[]) p ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    int8s(ids),
    int2s(QUOTA_PERIODS.map(({ code }) => code)),
  );
  const stored = await db.all<ChargedWindow>(
    `SELECT domain_id AS "domainId", period AS code, started_at AS "startedAt", used FROM quota_use
     WHERE domain_id = ANY ($1::int8[]) ORDER BY domain_id, period FOR UPDATE`,
    int8s(ids),
  );
  const keyOf = (domainId: number, code: number) => `${domainId} ${code}`;
  const windows = new Map(stored.map((window) => [keyOf(window.domainId, window.code), window]));
  const changed = new Map<string, ChargedWindow>();
  const exceeded = operations.map((charges) => {
    const found = charged(
      charges,
      (domain) => names.get(domain) ?? 0,
      (domainId, code) => windows.get(keyOf(domainId, code)),
    );
    if ('kind' in found) return found;
    for (const window of found) {
      const key = keyOf(window.domainId, window.code);
      windows.set(key, window);
      changed.set(key, window);
    }
    return null;
  });
  const rows = [...changed.values()];
  if (rows.length === 0) return exceeded;
  await db.run(
    `UPDATE quota_use q SET started_at = g.started_at, used = g.used
     FROM unnest($1::int8[], $2::int2[], $3::int8[], $4::int8[]) g (domain_id, period, started_at, used)
     WHERE q.domain_id = g.domain_id AND q.period = g.period`,
    int8s(rows.map(({ domainId }) => domainId)),
    int2s(rows.map(({ code }) => code)),
    int8s(rows.map(({ startedAt }) => startedAt)),
    int8s(rows.map(({ used }) => used)),
  );
  return exceeded;
}
