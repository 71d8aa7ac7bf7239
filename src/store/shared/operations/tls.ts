/** MTA-STS policies (`../../topics/tls.ts`), which belong to no sender domain. */
import type { StoredMtaSts } from '../../topics/tls.ts';
import { read, write } from '../operation.ts';
import { record } from '../record.ts';

const POLICY = record<Omit<StoredMtaSts, 'maxAgeSeconds'>>({
  domain: 'plain',
  policyId: 'plain',
  mode: 'plain',
  mx: {
    of: (hosts) => hosts.join(' '),
    word: (text: string) => (text === '' ? [] : text.split(' ')),
  },
  fetchedAt: 'plain',
  expiresAt: 'plain',
  renewAt: 'plain',
  renewFailures: 'plain',
});

const SELECT = `SELECT ${POLICY.columns}, max_age FROM mta_sts`;

function toPolicy(row: { max_age: number }): StoredMtaSts {
  return { ...POLICY.value(row), maxAgeSeconds: row.max_age };
}

export const putMtaSts = write('putMtaSts', 'by key', { whole: true }, function* ({ db }, params) {
  yield* db.put('mta_sts', 'domain', { ...POLICY.row(params), max_age: params.maxAgeSeconds });
});

export const getMtaSts = read('getMtaSts', 'by key', {}, function* (db, { domain }) {
  const row = yield* db.get<{ max_age: number }>(`${SELECT} WHERE domain = ?`, domain);
  return row === undefined ? null : toPolicy(row);
});

export const staleMtaSts = read('staleMtaSts', 'as asked', {}, function* (db, { now, limit }) {
  const sql = `${SELECT} WHERE renew_at <= ?1 AND expires_at > ?1 AND mode <> 'none' ORDER BY renew_at, domain LIMIT ?2`;
  return (yield* db.all<{ max_age: number }>(sql, now, limit)).map(toPolicy);
});

/** A policy that is just being renewed stays. */
export const purgeMtaSts = write('purgeMtaSts', 'as asked', { portion: true }, ({ db }, { now, limit }) => {
  const old = 'SELECT domain FROM mta_sts WHERE expires_at <= ? LIMIT ? {|FOR UPDATE SKIP LOCKED}';
  return db.run(`DELETE FROM mta_sts WHERE domain IN (${old})`, now, limit);
});
