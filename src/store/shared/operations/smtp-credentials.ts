/** User names and passwords for SMTP submission. A name is unique; a list never contains those of another domain. */
import type { SmtpCredential } from '../../../model/smtp-credential.ts';
import { AFTER_ALL_IDS } from '../newest-by-id.ts';
import { count, type Db, read, write } from '../operation.ts';
import { record } from '../record.ts';
import type { Work } from '../work.ts';
import { isMakerGone } from './makers.ts';

const CREDENTIAL = record<SmtpCredential>({
  id: 'plain',
  username: 'plain',
  name: 'plain',
  owner: 'plain',
  domain: 'plain',
  sandbox: 'flag',
  notices: 'flag',
  salt: 'plain',
  hash: 'plain',
  costLog2: 'plain',
  ipAllowList: 'json',
  rateLimit: 'plain',
  rateShares: 'json',
  createdBy: 'plain',
  createdAt: 'plain',
  expiresAt: 'plain',
});

export const addSmtpCredential = write(
  'addSmtpCredential',
  'by key',
  // A domain has a limited number: one that is added counts for the next.
  { synced: true, serial: 'smtp-credentials' },
  function* ({ db }, { credential, maxPerDomain, inSession }) {
    if ((yield* getSmtpCredential(db, credential))?.id === credential.id) return 'added';
    if (yield* isMakerGone(db, credential.createdBy, inSession)) return 'ended';
    if (!(yield* hasRoom(db, credential, maxPerDomain))) return 'full';
    const added = yield* db.insert('smtp_credential', CREDENTIAL.row(credential), 'ON CONFLICT DO NOTHING');
    return added > 0 ? 'added' : 'taken';
  },
);

const PLACE = '{INDEXED BY smtp_credential_place|}';

/** Whether a domain has room for one more, after one that has expired was removed for it. */
function* hasRoom(db: Db, { domain, createdAt }: SmtpCredential, max: number): Work<boolean> {
  const of = `FROM smtp_credential ${PLACE} WHERE domain = ?`;
  if ((yield* count(db, `SELECT count(*) AS n ${of}`, domain)) < max) return true;
  const expired = `SELECT id ${of} AND expires_at <= ? ORDER BY id LIMIT 1`;
  return (yield* db.run(`DELETE FROM smtp_credential WHERE id IN (${expired})`, domain, createdAt)) > 0;
}

export const purgeSmtpCredentials = write(
  'purgeSmtpCredentials',
  'as asked',
  { portion: true },
  ({ db }, { before, limit }) => {
    const old =
      'SELECT id FROM smtp_credential {INDEXED BY smtp_credential_end|} WHERE expires_at < ? LIMIT ?';
    return db.run(`DELETE FROM smtp_credential WHERE id IN (${old})`, before, limit);
  },
);

/** The credential of a user name, or null. */
export const getSmtpCredential = read('getSmtpCredential', 'by key', {}, function* (db, { username }) {
  const sql = `SELECT ${CREDENTIAL.columns} FROM smtp_credential WHERE username = ?`;
  const row = yield* db.get<object>(sql, username);
  return row === undefined ? null : CREDENTIAL.value(row);
});

export const listSmtpCredentials = read(
  'listSmtpCredentials',
  'measured',
  { search: true },
  function* (db, params) {
    const { domains, beforeId = AFTER_ALL_IDS, limit } = params;
    const filter = db.filter();
    filter.when('id < ?', beforeId);
    const select = `SELECT ${CREDENTIAL.columns} FROM smtp_credential ${domains === undefined ? '' : PLACE}`;
    const ranges = { select, column: 'domain', places: domains, filter, order: 'id DESC' };
    return (yield* db.merged(ranges, limit)).map(CREDENTIAL.value);
  },
);

export const removeSmtpCredential = write(
  'removeSmtpCredential',
  'by key',
  { synced: true },
  function* ({ db }, { id, domains }) {
    const filter = db.filter();
    filter.when('id = ?', id);
    filter.oneOf('domain', domains);
    return (yield* db.run(`DELETE FROM smtp_credential ${filter.where()}`, ...filter.values())) > 0;
  },
);
