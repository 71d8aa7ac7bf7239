/** MTA-STS policies and daily TLS counters (`../topics/tls.ts`); they belong to no sender domain. */

import { POLICY, POLICY_COLUMNS, toPolicy } from '../shared/rows/tls.ts';
import type { TlsCount } from '../topics/tls.ts';
import { int8s, texts } from './engine/arrays.ts';
import { createFilter } from './engine/filter.ts';
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

export const addTlsCounts = write('addTlsCounts', { whole: true }, async ({ db }, { counts }) => {
  await db.run(
    `INSERT INTO tls_count (day, domain, policy, mx_host, result, sessions)
     SELECT day, domain, policy, mx_host, result, sum(sessions)
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::text[], $6::int8[])
       g (day, domain, policy, mx_host, result, sessions)
     GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
     ON CONFLICT (day, domain, policy, mx_host, result) DO UPDATE SET sessions = tls_count.sessions + excluded.sessions`,
    texts(counts.map(({ day }) => day)),
    texts(counts.map(({ domain }) => domain)),
    texts(counts.map(({ policy }) => policy)),
    texts(counts.map(({ mxHost }) => mxHost)),
    texts(counts.map(({ result }) => result)),
    int8s(counts.map(({ sessions }) => sessions)),
  );
});

export const tlsCounts = read('tlsCounts', { lane: 'search' }, (db, params) => {
  const filter = createFilter();
  filter.when('day >= ?', params.fromDay);
  filter.when('domain = ?', params.domain);
  return db.all<TlsCount>(
    `SELECT day, domain, policy, mx_host AS "mxHost", result, sessions FROM tls_count ${filter.where()}
     ORDER BY day, domain, policy, mx_host, result LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
});

/** A policy that is just being renewed stays. */
export const purgeTls = write('purgeTls', async ({ db }, { now, beforeDay, limit }) => {
  const policies = await db.run(
    `DELETE FROM mta_sts WHERE domain IN
       (SELECT domain FROM mta_sts WHERE expires_at <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
    now,
    limit,
  );
  const counts = await db.run(
    `DELETE FROM tls_count WHERE (day, domain, policy, mx_host, result) IN
       (SELECT day, domain, policy, mx_host, result FROM tls_count WHERE day < $1 LIMIT $2)`,
    beforeDay,
    limit,
  );
  return policies + counts;
});
