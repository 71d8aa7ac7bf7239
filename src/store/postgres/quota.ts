/**
 * Mail quotas: what a sender domain has used of its minute, hour and day. Counted in the transaction that stores the
 * messages, exact, under the lock of the domain's rows. A row contains only the latest window; if the clock is set back,
 * that window continues.
 */
import { QUOTA_PERIODS, windowStart } from '../../model/quota.ts';
import type { CommitResult, QuotaCharge } from '../topics/acceptance.ts';
import { int2s, int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { read } from './engine/operation.ts';
import { findNameId, type Session } from './engine/session.ts';

interface Window {
  startedAt: number;
  used: number;
}

type Exceeded = Extract<CommitResult, { kind: 'quota-exceeded' }>;

/**
 * Charges each of several operations in order: every domain of it, or none where a quota is used up, which is returned for it.
 */
export async function charge(
  session: Session,
  operations: readonly (readonly QuotaCharge[])[],
): Promise<(Exceeded | null)[]> {
  const { db } = session;
  const names = await session.nameIds(operations.flatMap((charges) => charges.map(({ domain }) => domain)));
  const idOf = (domain: string) => names.get(domain) ?? 0;
  // Rows are locked in one order everywhere.
  const ids = [...new Set(names.values())].sort((a, b) => a - b);
  await db.run(
    `INSERT INTO quota_use (domain_id, period, started_at, used)
     SELECT d, p, 0, 0 FROM unnest($1::int8[]) d, unnest($2::int2[]) p ORDER BY 1, 2 ON CONFLICT DO NOTHING`,
    int8s(ids),
    int2s(QUOTA_PERIODS.map(({ code }) => code)),
  );
  const windows = await windowsOf(db, ids, 'FOR UPDATE');
  const changed = new Map<string, Window & { domainId: number; code: number }>();
  const chargeOne = (charges: readonly QuotaCharge[]): Exceeded | null => {
    const mine: typeof changed = new Map();
    for (const { domain, count, limits, now } of charges) {
      const domainId = idOf(domain);
      for (const { period, code, ms } of QUOTA_PERIODS) {
        const max = limits[period];
        if (max === null) continue;
        const key = `${domainId} ${code}`;
        const start = windowStart(now, ms);
        const before = mine.get(key) ?? changed.get(key);
        const { startedAt, used } =
          before !== undefined && before.startedAt >= start ? before : windows(domainId, code, start);
        if (used + count > max) {
          const left = Math.max(0, max - used);
          return { kind: 'quota-exceeded', domain, period, max, left, resetAt: startedAt + ms };
        }
        mine.set(key, { domainId, code, startedAt, used: used + count });
      }
    }
    for (const [key, window] of mine) changed.set(key, window);
    return null;
  };
  const exceeded = operations.map(chargeOne);
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

export const quotaUses = read('quotaUses', async (db, params) => {
  const ids = await Promise.all(params.domains.map((domain) => findNameId(db, domain)));
  const windows = await windowsOf(
    db,
    ids.filter((id) => id !== null),
    '',
  );
  return ids.map((id) =>
    QUOTA_PERIODS.map(({ period, code, ms }) => {
      const { startedAt, used } = windows(id ?? 0, code, windowStart(params.now, ms));
      return { period, used, resetAt: startedAt + ms };
    }),
  );
});

/** The stored windows that have not ended; otherwise a new one. */
async function windowsOf(db: Db, domainIds: readonly number[], lock: 'FOR UPDATE' | '') {
  const rows = await db.all<{ domain_id: number; period: number; started_at: number; used: number }>(
    `SELECT domain_id, period, started_at, used FROM quota_use WHERE domain_id = ANY ($1::int8[])
     ORDER BY domain_id, period ${lock}`,
    int8s(domainIds),
  );
  const known = new Map(rows.map((row) => [`${row.domain_id} ${row.period}`, row]));
  return (domainId: number, code: number, start: number): Window => {
    const row = known.get(`${domainId} ${code}`);
    return row === undefined || row.started_at < start
      ? { startedAt: start, used: 0 }
      : { startedAt: row.started_at, used: row.used };
  };
}
