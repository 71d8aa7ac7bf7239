/** User names and passwords for SMTP submission. A name is unique; a list never contains those of another domain. */
import type { SmtpCredential } from '../../model/smtp-credential.ts';
import { CREDENTIAL } from '../shared/rows/smtp-credentials.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { AFTER_ALL_IDS } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';

export const addSmtpCredential = write(
  'addSmtpCredential',
  'by key',
  { synced: true },
  ({ db }, { credential, maxPerDomain, inSession }) => {
    if (getSmtpCredential(db, credential)?.id === credential.id) return 'added';
    if (isMakerGone(db, credential.createdBy, inSession)) return 'ended';
    if (!hasRoom(db, credential, maxPerDomain)) return 'full';
    const { changes } = db.insert('smtp_credential', CREDENTIAL.row(credential), 'ON CONFLICT DO NOTHING');
    return changes > 0 ? 'added' : 'taken';
  },
);

/** Whether a domain has room for one more, after one that has expired was removed for it. */
function hasRoom(db: Connection, { domain, createdAt }: SmtpCredential, max: number): boolean {
  const of = 'FROM smtp_credential INDEXED BY smtp_credential_place WHERE domain = ?';
  const count = db.get<{ n: number }>(`SELECT count(*) AS n ${of}`, domain);
  if ((count?.n ?? 0) < max) return true;
  const expired = `SELECT rowid ${of} AND expires_at <= ? ORDER BY id LIMIT 1`;
  return db.run(`DELETE FROM smtp_credential WHERE rowid IN (${expired})`, domain, createdAt).changes > 0;
}

export const purgeSmtpCredentials = write(
  'purgeSmtpCredentials',
  'as asked',
  { portion: true },
  ({ db }, { before, limit }) => {
    const sql =
      'SELECT rowid FROM smtp_credential INDEXED BY smtp_credential_end WHERE expires_at < ? LIMIT ?';
    return db.run(`DELETE FROM smtp_credential WHERE rowid IN (${sql})`, before, limit).changes;
  },
);

/** The credential of a user name, or null. */
export const getSmtpCredential = read('getSmtpCredential', 'by key', (db, { username }) => {
  const row = db.get<object>(
    `SELECT ${CREDENTIAL.columns} FROM smtp_credential WHERE username = ?`,
    username,
  );
  return row === undefined ? null : CREDENTIAL.value(row);
});

export const listSmtpCredentials = read('listSmtpCredentials', 'measured', (db, params) => {
  const { domains, beforeId = AFTER_ALL_IDS, limit } = params;
  const from = `SELECT ${CREDENTIAL.columns} FROM smtp_credential`;
  const all: Ranges<{ id: string }> = {
    ...(domains === undefined
      ? { sql: `${from} WHERE id < ?`, values: [[beforeId]] }
      : {
          sql: `${from} INDEXED BY smtp_credential_place WHERE domain = ? AND id < ?`,
          values: [...new Set(domains)].map((domain) => [domain, beforeId]),
        }),
    order: 'id DESC',
    compare: (a, b) => (a.id < b.id ? 1 : -1),
  };
  return mergedRows(db, all, limit).map(CREDENTIAL.value);
});

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
