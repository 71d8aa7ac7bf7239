/**
 * API tokens (the row decides, the JWT only proves possession) and the keys that sign them. Revoking is done once and
 * keeps its first time; a list for some domains never contains a token that can use others.
 */
import type { Token } from '../../../model/token.ts';
import type { StoredSigningKey } from '../../topics/tokens.ts';
import { AFTER_ALL_IDS, newestById } from '../newest-by-id.ts';
import { anyOf, count, type Db, read, write } from '../operation.ts';
import { record } from '../record.ts';
import { isTrue, type StoredFlag } from '../stored.ts';
import type { Work } from '../work.ts';
import { isMakerGone } from './makers.ts';
import { deleteWebhooksMadeWith } from './removal.ts';

const TOKEN = record<Token>({
  id: 'plain',
  name: 'plain',
  owner: 'plain',
  domains: 'json',
  scopes: 'json',
  sandbox: 'flag',
  ipAllowList: 'json',
  rateLimit: 'plain',
  rateShares: 'json',
  createdBy: 'plain',
  createdAt: 'plain',
  expiresAt: 'plain',
  lastUsedAt: 'plain',
  lastUsedIp: 'plain',
  revokedAt: 'plain',
  replacedBy: 'plain',
});

const SIGNING_KEY = record<StoredSigningKey>({
  kid: 'plain',
  privateSealed: 'plain',
  publicJwk: 'plain',
  createdAt: 'plain',
});

/** It made nothing that is still stored. */
const IS_LEAF = `NOT EXISTS (SELECT 1 FROM token c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT 1 FROM smtp_credential c WHERE c.created_by = t.id)
  AND NOT EXISTS (SELECT 1 FROM webhook c WHERE c.created_by = t.id)`;

/** A domain has a limited number: one that is added counts for the next. */
const ADDING = { synced: true, serial: 'tokens' } as const;

export const addToken = write('addToken', 'by key', ADDING, function* ({ db }, params) {
  const { token, inSession } = params;
  if ((yield* getToken(db, token)) !== null) return 'added';
  if (yield* isMakerGone(db, token.createdBy, inSession)) return 'ended';
  if (!(yield* hasRoom(db, token, params.maxPerDomain))) return 'full';
  yield* db.insert('token', TOKEN.row(token));
  return 'added';
});

const OF_DOMAIN = `FROM token t {INDEXED BY token_domain|}
  WHERE {json_extract(domains, '$[0]')|(domains::json ->> 0)} = ?`;

/** Whether the first domain of a token has room for one more, after one that has ended was removed for it. */
function* hasRoom(db: Db, { domains: [domain = '*'], createdAt }: Token, max: number): Work<boolean> {
  if (domain === '*') return true;
  if ((yield* count(db, `SELECT count(*) AS n ${OF_DOMAIN}`, domain)) < max) return true;
  const ended = `SELECT id ${OF_DOMAIN} AND (revoked_at IS NOT NULL OR expires_at <= ?) AND ${IS_LEAF} ORDER BY id LIMIT 1`;
  return (yield* db.run(`DELETE FROM token WHERE id IN (${ended})`, domain, createdAt)) > 0;
}

export const purgeTokens = write('purgeTokens', 'as asked', { portion: true }, function* ({ db }, params) {
  const { before, beforeId = AFTER_ALL_IDS, look } = params;
  const rows = yield* db.all<{ id: string; ended: StoredFlag }>(
    `SELECT id, (revoked_at < ?1 OR expires_at < ?1) IS TRUE AND ${IS_LEAF} AS ended
     FROM token t WHERE id < ?2 ORDER BY id DESC LIMIT ?3`,
    ...[before, beforeId, look],
  );
  const ended = rows.filter((row) => isTrue(row.ended)).map(({ id }) => id);
  const these = anyOf(db, 'id', ended);
  yield* db.run(`DELETE FROM token ${these.where()}`, ...these.values());
  return { removed: ended.length, nextId: rows.length === look ? (rows.at(-1)?.id ?? null) : null };
});

export const getToken = read('getToken', 'by key', {}, function* (db, { id }) {
  const row = yield* db.get<object>(`SELECT ${TOKEN.columns} FROM token WHERE id = ?`, id);
  return row === undefined ? null : TOKEN.value(row);
});

export const listTokens = read('listTokens', 'measured', { search: true }, function* (db, params) {
  const { domains, look } = params;
  const { rows, nextId } = yield* newestById(
    db,
    {
      columns: TOKEN.columns,
      table: 'token',
      narrow: (filter) =>
        filter.when(
          `NOT EXISTS (SELECT 1 FROM {json_each(domains)|json_array_elements_text(domains::json)}
             WHERE value NOT IN (SELECT value FROM {json_each(?)|json_array_elements_text(?::json)}))`,
          domains && JSON.stringify(domains),
        ),
    },
    { ...params, look: domains === undefined ? undefined : look },
  );
  return { tokens: rows.map(TOKEN.value), nextId };
});

export const revokeToken = write(
  'revokeToken',
  'by key',
  { synced: true, whole: true },
  function* ({ db }, { id, now }) {
    const sql = 'UPDATE token SET revoked_at = coalesce(revoked_at, ?) WHERE id = ?';
    return (yield* db.run(sql, now, id)) > 0;
  },
);

export const endMadeWith = write('endMadeWith', 'measured', { synced: true }, function* (session, params) {
  const { db } = session;
  const { id, now, afterId, limit } = params;
  const made = yield* db.all<{ id: string; ended: StoredFlag }>(
    `SELECT id, revoked_at IS NOT NULL AS ended FROM token {INDEXED BY token_maker|}
     WHERE created_by = ? AND id > ? ORDER BY id LIMIT ? {|FOR UPDATE}`,
    ...[id, afterId, limit],
  );
  const tokens = made.map((one) => one.id);
  const revoked = made.filter(({ ended }) => !isTrue(ended)).map((one) => one.id);
  const these = anyOf(db, 'id', revoked);
  yield* db.run(`UPDATE token SET revoked_at = ? ${these.where()}`, now, ...these.values());
  const credentials = yield* db.run(
    `DELETE FROM smtp_credential WHERE id IN (SELECT id FROM smtp_credential {INDEXED BY smtp_credential_maker|}
       WHERE created_by = ? LIMIT ? {|FOR UPDATE})`,
    id,
    limit,
  );
  const webhooks = yield* deleteWebhooksMadeWith(session, id, limit);
  const isAll = tokens.length < limit && credentials < limit && webhooks < limit;
  return { tokens, revoked, credentials, webhooks, next: isAll ? null : (tokens.at(-1) ?? afterId) };
});

export const rotateToken = write('rotateToken', 'by key', ADDING, function* ({ db }, params) {
  const { now, oldEndsAt, token } = params;
  if ((yield* getToken(db, token)) !== null) return 'rotated';
  if (yield* isMakerGone(db, token.createdBy, params.inSession)) return 'ended';
  if (!(yield* hasRoom(db, token, params.maxPerDomain))) return 'full';
  const changes = yield* db.run(
    `UPDATE token SET expires_at = {min(coalesce(expires_at, ?1), ?1)|least(expires_at, ?1)},
       revoked_at = CASE WHEN ?1 <= ?2 THEN ?2 END, replaced_by = ?4
     WHERE id = ?3 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2) AND replaced_by IS NULL`,
    ...[oldEndsAt, now, params.oldId, token.id],
  );
  if (changes === 0) return 'ended';
  yield* db.insert('token', TOKEN.row(token));
  return 'rotated';
});

export const touchToken = write(
  'touchToken',
  'by key',
  { patient: () => 1, unsynced: true },
  function* ({ db }, { usedAt, ip, id }) {
    yield* db.run('UPDATE token SET last_used_at = ?, last_used_ip = ? WHERE id = ?', usedAt, ip, id);
  },
);

export const signingKeys = read('signingKeys', 'small', {}, function* (db) {
  const sql = `SELECT ${SIGNING_KEY.columns} FROM signing_key ORDER BY created_at, {rowid|kid}`;
  return (yield* db.all(sql)).map(SIGNING_KEY.value);
});

/** Stores a signing key. */
export const addSigningKey = write('addSigningKey', 'by key', { synced: true }, function* ({ db }, key) {
  yield* db.insert('signing_key', SIGNING_KEY.row(key), 'ON CONFLICT DO NOTHING');
});
