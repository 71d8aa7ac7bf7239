/**
 * API tokens (the row decides, the JWT only proves possession) and the keys that sign them. Revoking is done once and
 * keeps its first time; a list for some domains never contains a token that can use others.
 */
import { SIGNING_KEY, TOKEN } from '../shared/rows/tokens.ts';
import { newestById } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';
import { deleteWebhooksMadeWith } from './webhooks.ts';

export const addToken = write('addToken', 'by key', { synced: true }, ({ db }, { token, inSession }) => {
  if (isMakerGone(db, token.createdBy, inSession)) return false;
  db.insert('token', TOKEN.row(token), 'ON CONFLICT DO NOTHING');
  return true;
});

export const getToken = read('getToken', 'by key', (db, params) => {
  const row = db.get<object>(`SELECT ${TOKEN.columns} FROM token WHERE id = ?`, params.id);
  return row === undefined ? null : TOKEN.value(row);
});

export const listTokens = read('listTokens', 'measured', (db, params) => {
  const domains = params.domains === undefined ? undefined : JSON.stringify(params.domains);
  const { rows, nextId } = newestById(
    db,
    {
      columns: TOKEN.columns,
      table: 'token',
      narrow: (filter) =>
        filter.when(
          'NOT EXISTS (SELECT value FROM json_each(domains) EXCEPT SELECT value FROM json_each(?))',
          domains,
        ),
    },
    { ...params, look: domains === undefined ? undefined : params.look },
  );
  return { tokens: rows.map(TOKEN.value), nextId };
});

export const revokeToken = write('revokeToken', 'by key', { synced: true }, ({ db }, { id, now }) => {
  const sql = 'UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?';
  return db.run(sql, now, id).changes > 0;
});

export const endMadeWith = write('endMadeWith', 'measured', { synced: true }, (session, params) => {
  const { db } = session;
  const { id, now, afterId, limit } = params;
  const tokens = db
    .all<{ id: string }>(
      'SELECT id FROM token INDEXED BY token_maker WHERE created_by = ? AND id > ? ORDER BY id LIMIT ?',
      id,
      afterId,
      limit,
    )
    .map((row) => row.id);
  const revoked = tokens.filter(
    (one) =>
      db.run('UPDATE token SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, one).changes > 0,
  );
  const credentials = db.run(
    `DELETE FROM smtp_credential WHERE rowid IN
       (SELECT rowid FROM smtp_credential INDEXED BY smtp_credential_maker WHERE created_by = ? LIMIT ?)`,
    id,
    limit,
  ).changes;
  const webhooks = deleteWebhooksMadeWith(session, id, limit);
  const isAll = tokens.length < limit && credentials < limit && webhooks < limit;
  return { tokens, revoked, credentials, webhooks, next: isAll ? null : (tokens.at(-1) ?? afterId) };
});

export const rotateToken = write('rotateToken', 'by key', { synced: true }, (session, params) => {
  const { now, oldEndsAt, token } = params;
  if (getToken(session.db, token) !== null) return true;
  if (isMakerGone(session.db, token.createdBy, params.inSession)) return false;
  const { changes } = session.db.run(
    `UPDATE token SET expires_at = min(coalesce(expires_at, ?), ?), revoked_at = CASE WHEN ? <= ? THEN ? END
     WHERE id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)`,
    oldEndsAt,
    oldEndsAt,
    oldEndsAt,
    now,
    now,
    params.oldId,
    now,
  );
  if (changes === 0) return false;
  session.db.insert('token', TOKEN.row(token));
  return true;
});

export const touchToken = write('touchToken', 'by key', { patient: () => 1 }, ({ db }, params) => {
  const sql = 'UPDATE token SET last_used_at = ?, last_used_ip = ? WHERE id = ?';
  db.run(sql, params.usedAt, params.ip, params.id);
});

export const signingKeys = read('signingKeys', 'small', (db) => {
  const sql = `SELECT ${SIGNING_KEY.columns} FROM signing_key ORDER BY created_at, rowid`;
  return db.all(sql).map(SIGNING_KEY.value);
});

/** Stores a signing key. */
export const addSigningKey = write('addSigningKey', 'by key', { synced: true }, ({ db }, params) => {
  db.insert('signing_key', SIGNING_KEY.row(params), 'ON CONFLICT DO NOTHING');
});
