/** User names and passwords for SMTP submission. A name is unique; a list never contains those of another domain. */

import type { SmtpCredential } from '../../model/smtp-credential.ts';
import { CREDENTIAL } from '../shared/rows/smtp-credentials.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { AFTER_ALL_IDS } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';

/** A domain has a limited number: one that is added counts for the next. */
const SERIAL = { serial: 'smtp-credentials' };

export const addSmtpCredential = write('addSmtpCredential', SERIAL, async ({ db }, params) => {
  const { credential, inSession } = params;
  if ((await credentialOf(db, credential.username))?.id === credential.id) return 'added';
  if (await isMakerGone(db, credential.createdBy, inSession)) return 'ended';
  if (!(await hasRoom(db, credential, params.maxPerDomain))) return 'full';
  const added = await db.insert('smtp_credential', CREDENTIAL.row(credential), 'ON CONFLICT DO NOTHING');
  return added > 0 ? 'added' : 'taken';
});

/** Whether a domain has room for one more, after one that has expired was removed for it. */
async function hasRoom(db: Db, { domain, createdAt }: SmtpCredential, max: number): Promise<boolean> {
  const of = 'FROM smtp_credential WHERE domain = $1';
  const count = await db.get<{ n: number }>(`SELECT count(*) AS n ${of}`, domain);
  if ((count?.n ?? 0) < max) return true;
  const expired = `SELECT id ${of} AND expires_at <= $2 ORDER BY id LIMIT 1`;
  return (await db.run(`DELETE FROM smtp_credential WHERE id IN (${expired})`, domain, createdAt)) > 0;
}

export const purgeSmtpCredentials = write('purgeSmtpCredentials', ({ db }, { before, limit }) =>
  db.run(
    'DELETE FROM smtp_credential WHERE id IN (SELECT id FROM smtp_credential WHERE expires_at < $1 LIMIT $2)',
    before,
    limit,
  ),
);

/** The credential of a user name, or null. */
export const getSmtpCredential = read('getSmtpCredential', (db, { username }) => credentialOf(db, username));

async function credentialOf(db: Db, username: string): Promise<SmtpCredential | null> {
  const sql = `SELECT ${CREDENTIAL.columns} FROM smtp_credential WHERE username = $1`;
  const row = await db.get<object>(sql, username);
  return row === undefined ? null : CREDENTIAL.value(row);
}

export const listSmtpCredentials = read('listSmtpCredentials', async (db, params) => {
  const { domains, beforeId = AFTER_ALL_IDS, limit } = params;
  const filter = createFilter();
  filter.when('id < ?', beforeId);
  const place = domains === undefined ? 'true' : 'domain = g.place';
  const sql = `SELECT ${CREDENTIAL.columns} FROM smtp_credential WHERE ${place}${filter.and()}`;
  const ranges = { sql, values: filter.values(), places: domains, order: 'id DESC' };
  return (await mergedRows(db, ranges, limit)).map(CREDENTIAL.value);
});

export const removeSmtpCredential = write('removeSmtpCredential', async ({ db }, params) => {
  const filter = createFilter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain', params.domains);
  return (await db.run(`DELETE FROM smtp_credential ${filter.where()}`, ...filter.values())) > 0;
});
