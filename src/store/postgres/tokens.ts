/**
 * API tokens (the row decides, the JWT only proves possession) and the keys that sign them. Revoking is done once and
 * keeps its first time; a list for some domains never contains a token that can use others.
 */

import type { Token } from '../../model/token.ts';
import { SIGNING_KEY, TOKEN } from '../shared/rows/tokens.ts';
import { texts } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { AFTER_ALL_IDS, newestById } from './engine/newest-by-id.ts';
import { read, write } from './engine/operation.ts';
import { isMakerGone } from './makers.ts';
import { deleteWebhooksMadeWith } from './webhook-removal.ts';

/** It made nothing that is still stored. */
const IS_LEAF = `NOT EXISTS (SELECT FROM token c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT FROM smtp_credential c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT FROM webhook c WHERE c.created_by = t.id)`;

/** A domain has a limited number: one that is added counts for the next. */
const SERIAL = { serial: 'tokens' };

export const addToken = write('addToken', SERIAL, async ({ db }, params) => {
  const { token, inSession } = params;
  if ((await tokenOf(db, token.id)) !== null) return 'added';
  if (await isMakerGone(db, token.createdBy, inSession)) return 'ended';
  if (!(await hasRoom(db, token, params.maxPerDomain))) return 'full';
  await db.insert('token', TOKEN.row(token));
  return 'added';
});

/** Whether the first domain of a token has room for one more, after one that has ended was removed for it. */
async function hasRoom(db: Db, { domains: [domain = '*'], createdAt }: Token, max: number): Promise<boolean> {
  if (domain === '*') return true;
  const of = 'FROM token t WHERE (domains::json ->> 0) = $1';
  const count = await db.get<{ n: number }>(`SELECT count(*) AS n ${of}`, domain);
  if ((count?.n ?? 0) < max) return true;
  const ended = `SELECT id ${of} AND (revoked_at IS NOT NULL OR expires_at <= $2) AND ${IS_LEAF} ORDER BY id LIMIT 1`;
  return (await db.run(`DELETE FROM token WHERE id IN (${ended})`, domain, createdAt)) > 0;
}

export const purgeTokens = write(
  'purgeTokens',
  async ({ db }, { before, beforeId = AFTER_ALL_IDS, look }) => {
    const rows = await db.all<{ id: string; ended: boolean }>(
      `SELECT id, (revoked_at < $1 OR expires_at < $1) IS TRUE AND ${IS_LEAF} AS ended
     FROM token t WHERE id < $2 ORDER BY id DESC LIMIT $3`,
      ...[before, beforeId, look],
    );
    const ended = rows.filter((row) => row.ended).map(({ id }) => id);
    const removed = await db.run('DELETE FROM token WHERE id = ANY ($1::text[])', texts(ended));
    return { removed, nextId: rows.length === look ? (rows.at(-1)?.id ?? null) : null };
  },
);

export const getToken = read('getToken', (db, { id }) => tokenOf(db, id));

async function tokenOf(db: Db, id: string): Promise<Token | null> {
  const row = await db.get<object>(`SELECT ${TOKEN.columns} FROM token WHERE id = $1`, id);
  return row === undefined ? null : TOKEN.value(row);
}

export const listTokens = read('listTokens', { lane: 'search' }, async (db, params) => {
  const domains = params.domains === undefined ? undefined : texts(params.domains);
  const { rows, nextId } = await newestById(
    db,
    {
      columns: TOKEN.columns,
      table: 'token',
      narrow: (filter) =>
        filter.when(
          'NOT EXISTS (SELECT FROM json_array_elements_text(domains::json) d WHERE d <> ALL (?::text[]))',
          domains,
        ),
    },
    { ...params, look: domains === undefined ? undefined : params.look },
  );
  return { tokens: rows.map(TOKEN.value), nextId };
});

export const revokeToken = write('revokeToken', { whole: true }, async ({ db }, { id, now }) => {
  const sql = 'UPDATE token SET revoked_at = coalesce(revoked_at, $1) WHERE id = $2';
  return (await db.run(sql, now, id)) > 0;
});

export const endMadeWith = write('endMadeWith', async ({ db }, params) => {
  const { id, now, afterId, limit } = params;
  const made = await db.all<{ id: string; ended: boolean }>(
    `SELECT id, revoked_at IS NOT NULL AS ended FROM token WHERE created_by = $1 AND id > $2 ORDER BY id LIMIT $3
     FOR UPDATE`,
    ...[id, afterId, limit],
  );
  const tokens = made.map((one) => one.id);
  const revoked = made.filter(({ ended }) => !ended).map((one) => one.id);
  await db.run('UPDATE token SET revoked_at = $1 WHERE id = ANY ($2::text[])', now, texts(revoked));
  const credentials = await db.run(
    `DELETE FROM smtp_credential WHERE id IN
       (SELECT id FROM smtp_credential WHERE created_by = $1 ORDER BY id LIMIT $2 FOR UPDATE)`,
    id,
    limit,
  );
  const webhooks = await deleteWebhooksMadeWith(db, id, limit);
  const isAll = tokens.length < limit && credentials < limit && webhooks < limit;
  return { tokens, revoked, credentials, webhooks, next: isAll ? null : (tokens.at(-1) ?? afterId) };
});

export const rotateToken = write('rotateToken', SERIAL, async ({ db }, params) => {
  const { now, oldEndsAt, token } = params;
  if ((await tokenOf(db, token.id)) !== null) return 'rotated';
  if (await isMakerGone(db, token.createdBy, params.inSession)) return 'ended';
  if (!(await hasRoom(db, token, params.maxPerDomain))) return 'full';
  const changes = await db.run(
    `UPDATE token SET expires_at = least(expires_at, $1), revoked_at = CASE WHEN $1 <= $2 THEN $2 END
     WHERE id = $3 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    ...[oldEndsAt, now, params.oldId],
  );
  if (changes === 0) return 'ended';
  await db.insert('token', TOKEN.row(token));
  return 'rotated';
});

export const touchToken = write('touchToken', { unsynced: true }, async ({ db }, params) => {
  const sql = 'UPDATE token SET last_used_at = $1, last_used_ip = $2 WHERE id = $3';
  await db.run(sql, params.usedAt, params.ip, params.id);
});

export const signingKeys = read('signingKeys', async (db) => {
  const sql = `SELECT ${SIGNING_KEY.columns} FROM signing_key ORDER BY created_at, kid`;
  return (await db.all(sql)).map(SIGNING_KEY.value);
});

/** Stores a signing key. */
export const addSigningKey = write('addSigningKey', async ({ db }, params) => {
  await db.insert('signing_key', SIGNING_KEY.row(params), 'ON CONFLICT DO NOTHING');
});
