/** User names and passwords for SMTP submission. A name is given once; a list never shows another domain's. */
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import type { RateShare } from '../../model/token.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { isMakerRevoked } from './tokens.ts';

/** Stores a credential. */
export const addSmtpCredential = write(
  'addSmtpCredential',
  'by key',
  { synced: true },
  ({ db }, { credential }) => {
    if (isMakerRevoked(db, credential.createdBy)) return 'ended';
    const { changes } = db.run(
      `INSERT INTO smtp_credential (id, username, name, owner, domain, sandbox, notices, salt, hash, cost_log2,
       ip_allow_list, rate_limit, rate_shares, created_by, created_at, expires_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (username) DO NOTHING`,
      credential.id,
      credential.username,
      credential.name,
      credential.owner,
      credential.domain,
      credential.sandbox ? 1 : 0,
      credential.notices ? 1 : 0,
      credential.salt,
      credential.hash,
      credential.costLog2,
      JSON.stringify(credential.ipAllowList),
      credential.rateLimit,
      JSON.stringify(credential.rateShares),
      credential.createdBy,
      credential.createdAt,
      credential.expiresAt,
    );
    return changes > 0 ? 'added' : 'taken';
  },
);

/** The credential of a user name, or null. */
export const getSmtpCredential = read('getSmtpCredential', 'by key', (db, { username }) => {
  const row = db.get<CredentialRow>('SELECT * FROM smtp_credential WHERE username = ?', username);
  return row === undefined ? null : toCredential(row);
});

/** Above every id: ids are of digits and small letters. */
const AFTER_ALL_IDS = '~';

/** Those of the given domains, or all, by id, the newest first. */
export const listSmtpCredentials = read('listSmtpCredentials', 'measured', (db, params) => {
  const { domains, beforeId = AFTER_ALL_IDS, limit } = params;
  const from = 'SELECT * FROM smtp_credential';
  const all: Ranges<CredentialRow> = {
    ...(domains === undefined
      ? { sql: `${from} WHERE id < ?`, values: [[beforeId]] }
      : {
          sql: `${from} INDEXED BY smtp_credential_place WHERE domain = ? AND id < ?`,
          values: [...new Set(domains)].map((domain) => [domain, beforeId]),
        }),
    order: 'id DESC',
    compare: (a, b) => (a.id < b.id ? 1 : -1),
  };
  return mergedRows(db, all, limit).map(toCredential);
});

/** Removes one of the given domains; false where there is none of that id. */
export const removeSmtpCredential = write(
  'removeSmtpCredential',
  'by key',
  { synced: true },
  ({ db }, params) => {
    const filter = createFilter();
    filter.when('id = ?', params.id);
    filter.oneOf('domain', params.domains);
    return db.run(`DELETE FROM smtp_credential ${filter.where()}`, ...filter.values()).changes > 0;
  },
);

interface CredentialRow {
  id: string;
  username: string;
  name: string;
  owner: string;
  domain: string;
  sandbox: number;
  notices: number;
  salt: Uint8Array;
  hash: Uint8Array;
  cost_log2: number;
  ip_allow_list: string;
  rate_limit: number | null;
  rate_shares: string;
  created_by: string | null;
  created_at: number;
  expires_at: number | null;
}

function toCredential(row: CredentialRow): SmtpCredential {
  return {
    id: row.id,
    username: row.username,
    name: row.name,
    owner: row.owner,
    domain: row.domain,
    sandbox: row.sandbox === 1,
    notices: row.notices === 1,
    salt: row.salt,
    hash: row.hash,
    costLog2: row.cost_log2,
    ipAllowList: JSON.parse(row.ip_allow_list) as string[],
    rateLimit: row.rate_limit,
    rateShares: JSON.parse(row.rate_shares) as RateShare[],
    createdBy: row.created_by,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
  };
}
