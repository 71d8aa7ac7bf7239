/**
 * API tokens (the row decides, the JWT only proves possession) and the keys that sign them. Revoking is done once and
 * keeps its first time; a list for some domains never contains a token that can use others.
 */

import type { Token } from '../../model/token.ts';
import { SIGNING_KEY, TOKEN } from '../shared/rows/tokens.ts';
import type { Connection } from './engine/connection.ts';
import { AFTER_ALL_IDS, newestById } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';
import { deleteWebhooksMadeWith } from './webhooks.ts';

/** It made nothing that is still stored. */
const IS_LEAF = `NOT EXISTS (SELECT 1 FROM token c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT 1 FROM smtp_credential c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT 1 FROM webhook c WHERE c.created_by = t.id)`;

export const addToken = write('addToken', 'by key', { synced: true }, ({ db }, params) => {
  const { token, inSession } = params;
  if (getToken(db, token) !== null) return 'added';
  if (isMakerGone(db, token.createdBy, inSession)) return 'ended';
  if (!hasRoom(db, token, params.maxPerDomain)) return 'full';
  db.insert('token', TOKEN.row(token));
  return 'added';
});

/** Whether the first domain of a token has room for one more, after one that has ended was removed for it. */
function hasRoom(db: Connection, { domains: [domain = '*'], createdAt }: Token, max: number): boolean {
  if (domain === '*') return true;
  const of = "FROM token t INDEXED BY token_domain WHERE json_extract(domains, '$[0]') = ?";
  const count = db.get<{ n: number }>(`SELECT count(*) AS n ${of}`, domain);
  if ((count?.n ?? 0) < max) return true;
  const ended = `SELECT rowid ${of} AND (revoked_at IS NOT NULL OR expires_at <= ?) AND ${IS_LEAF} ORDER BY id LIMIT 1`;
  return db.run(`DELETE FROM token WHERE rowid IN (${ended})`, domain, createdAt).changes > 0;
}

export const purgeTokens = write('purgeTokens', 'as asked', { portion: true }, ({ db }, params) => {
  const { before, beforeId = AFTER_ALL_IDS, look } = params;
  const rows = db.all<{ rowid: number; id: string; ended: number }>(
    `SELECT t.rowid, t.id, (revoked_at < ?1 OR expires_at < ?1) IS TRUE AND ${IS_LEAF} AS ended
     FROM token t WHERE id < ?2 ORDER BY id DESC LIMIT ?3`,
    before,
    beforeId,
    look,
  );
  const ended = rows.filter((row) => row.ended !== 0);
  for (const { rowid } of ended) db.run('DELETE FROM token WHERE rowid = ?', rowid);
  return { removed: ended.length, nextId: rows.length === look ? (rows.at(-1)?.id ?? null) : null };
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
  if (getToken(session.db, token) !== null) return 'rotated';
  if (isMakerGone(session.db, token.createdBy, params.inSession)) return 'ended';
  if (!hasRoom(session.db, token, params.maxPerDomain)) return 'full';
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
  if (changes === 0) return 'ended';
  session.db.insert('token', TOKEN.row(token));
  return 'rotated';
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
