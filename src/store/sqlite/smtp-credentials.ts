/** User names and passwords for SMTP submission. A name is unique; a list never contains those of another domain. */
import { CREDENTIAL } from '../shared/rows/smtp-credentials.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows, type Ranges } from './engine/merged.ts';
import { AFTER_ALL_IDS } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';

export const addSmtpCredential = write(
  'addSmtpCredential',
  'by key',
  { synced: true },
  ({ db }, { credential, inSession }) => {
    if (isMakerGone(db, credential.createdBy, inSession)) return 'ended';
    const { changes } = db.insert('smtp_credential', CREDENTIAL.row(credential), 'ON CONFLICT DO NOTHING');
    if (changes > 0) return 'added';
    return getSmtpCredential(db, credential)?.id === credential.id ? 'added' : 'taken';
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
