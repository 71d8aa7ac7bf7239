/** MTA-STS policies and daily TLS counters (`../topics/tls.ts`), which belong to no sender domain. */

import { POLICY, POLICY_COLUMNS, toPolicy } from '../shared/rows/tls.ts';
import type { TlsCount } from '../topics/tls.ts';
import { read, write } from './engine/operation.ts';

export const putMtaSts = write('putMtaSts', 'by key', ({ db }, params) => {
  db.put('mta_sts', 'domain', { ...POLICY.row(params), max_age: params.maxAgeSeconds });
});

export const getMtaSts = read('getMtaSts', 'by key', (db, params) => {
  const row = db.get<{ max_age: number }>(
    `SELECT ${POLICY_COLUMNS} FROM mta_sts WHERE domain = ?`,
    params.domain,
  );
  return row === undefined ? null : toPolicy(row);
});

export const staleMtaSts = read('staleMtaSts', 'as asked', (db, params) => {
  return db
    .all<{ max_age: number }>(
      `SELECT ${POLICY_COLUMNS} FROM mta_sts WHERE renew_at <= ? AND expires_at > ? AND mode <> 'none' ORDER BY renew_at, domain LIMIT ?`,
      params.now,
      params.now,
      params.limit,
    )
    .map(toPolicy);
});

export const addTlsCounts = write('addTlsCounts', 'by key', ({ db }, params) => {
  for (const count of params.counts) {
    db.insert(
      'tls_count',
      {
        day: count.day,
        domain: count.domain,
        policy: count.policy,
        mx_host: count.mxHost,
        result: count.result,
        sessions: count.sessions,
      },
      'ON CONFLICT DO UPDATE SET sessions = sessions + excluded.sessions',
    );
  }
});

export const tlsCounts = read('tlsCounts', 'as asked', { search: true }, (db, params) => {
  const { domain } = params;
  const where = domain === undefined ? '' : 'AND domain = ?';
  const given = domain === undefined ? [] : [domain];
  return db.all<TlsCount>(
    `SELECT day, domain, policy, mx_host AS mxHost, result, sessions FROM tls_count WHERE day >= ? ${where}
     ORDER BY day, domain, policy, mx_host, result LIMIT ?`,
    params.fromDay,
    ...given,
    params.limit,
  );
});

export const purgeTls = write('purgeTls', 'as asked', { portion: true }, ({ db }, params) => {
  const policies = db.run(
    'DELETE FROM mta_sts WHERE domain IN (SELECT domain FROM mta_sts WHERE expires_at <= ? LIMIT ?)',
    params.now,
    params.limit,
  ).changes;
  const counts = db.run(
    `DELETE FROM tls_count WHERE (day, domain, policy, mx_host, result) IN
       (SELECT day, domain, policy, mx_host, result FROM tls_count WHERE day < ? LIMIT ?)`,
    params.beforeDay,
    params.limit,
  ).changes;
  return policies + counts;
});
