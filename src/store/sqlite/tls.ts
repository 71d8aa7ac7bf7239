/** MTA-STS policies (`../topics/tls.ts`), which belong to no sender domain. */

import { POLICY, POLICY_COLUMNS, toPolicy } from '../shared/rows/tls.ts';
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

export const purgeMtaSts = write('purgeMtaSts', 'as asked', { portion: true }, ({ db }, params) => {
  return db.run(
    'DELETE FROM mta_sts WHERE domain IN (SELECT domain FROM mta_sts WHERE expires_at <= ? LIMIT ?)',
    params.now,
    params.limit,
  ).changes;
});
