/** MTA-STS policies (`../topics/tls.ts`), which belong to no sender domain. */

import { POLICY, POLICY_COLUMNS, toPolicy } from '../shared/rows/tls.ts';
import { read, write } from './engine/operation.ts';

export const putMtaSts = write('putMtaSts', { whole: true }, async ({ db }, params) => {
  await db.put('mta_sts', 'domain', { ...POLICY.row(params), max_age: params.maxAgeSeconds });
});

export const getMtaSts = read('getMtaSts', async (db, { domain }) => {
  const row = await db.get<{ max_age: number }>(
    `SELECT ${POLICY_COLUMNS} FROM mta_sts WHERE domain = $1`,
    domain,
  );
  return row === undefined ? null : toPolicy(row);
});

export const staleMtaSts = read('staleMtaSts', async (db, { now, limit }) => {
  const rows = await db.all<{ max_age: number }>(
    `SELECT ${POLICY_COLUMNS} FROM mta_sts WHERE renew_at <= $1 AND expires_at > $1 AND mode <> 'none'
     ORDER BY renew_at, domain LIMIT $2`,
    now,
    limit,
  );
  return rows.map(toPolicy);
});

/** A policy that is just being renewed stays. */
export const purgeMtaSts = write('purgeMtaSts', ({ db }, { now, limit }) =>
  db.run(
    `DELETE FROM mta_sts WHERE domain IN
       (SELECT domain FROM mta_sts WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    now,
    limit,
  ),
);
