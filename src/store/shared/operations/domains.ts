/**
 * Sender domains and their signing keys. Names are unique; a status change and its events are one transaction. Removing
 * a domain removes its keys and webhooks, so that somebody who adds the name later inherits nothing; waiting mail stays
 * and is held, because its domain is gone.
 */
import { DEFAULT_DOMAIN_SETTINGS, type DkimKey, type Domain, mergeSettings } from '../../../model/domain.ts';
import type { DomainStore, FailingDomain } from '../../topics/domains.ts';
import { anyOf, type Db, read, write } from '../operation.ts';
import { record } from '../record.ts';
import { UNFINISHED } from '../rows/queue.ts';
import type { Work } from '../work.ts';
import { deleteWebhooksOf, removeTemplatesOf } from './removal.ts';

const DOMAIN = record<Omit<Domain, 'keys'>>({
  id: 'plain',
  name: 'plain',
  status: 'plain',
  verifiedBy: 'plain',
  verifyToken: 'plain',
  settings: 'json',
  createdAt: 'plain',
  updatedAt: 'plain',
  verifiedAt: 'plain',
  failingSince: 'plain',
  lastCheckedAt: 'plain',
  lastChecks: 'plain',
  changes: 'plain',
});

const DOMAIN_KEY = record<DkimKey>({
  selector: 'plain',
  role: 'plain',
  privateSealed: 'plain',
  publicKey: 'plain',
  createdAt: 'plain',
  retiredAt: 'plain',
});

function newDomainRow(given: Parameters<DomainStore['addDomain']>[0]) {
  return {
    name: given.name,
    status: given.status,
    verified_by: given.verifiedBy,
    verify_token: given.verifyToken,
    settings: JSON.stringify(mergeSettings(DEFAULT_DOMAIN_SETTINGS, given.settings)),
    created_at: given.now,
    updated_at: given.now,
    verified_at: given.status === 'Verified' ? given.now : null,
  };
}

/** Rows of earlier versions lack newer settings. */
function withKeys(domain: Omit<Domain, 'keys'>, keys: DkimKey[]): Domain {
  return { ...domain, settings: mergeSettings(DEFAULT_DOMAIN_SETTINGS, domain.settings), keys };
}

/** Changes of a domain and its keys are rare, and each decides by what it has read. */
const SERIAL = { synced: true, serial: 'domains' } as const;

/** Adds a domain with its keys; `exists` if the name is taken. */
export const addDomain = write('addDomain', 'by key', SERIAL, function* ({ db }, params) {
  const known = yield* getDomain(db, params);
  if (known !== null) {
    return known.verifyToken === params.verifyToken ? { kind: 'added', domain: known } : { kind: 'exists' };
  }
  const id = yield* db.insertId('domain', 'id', newDomainRow(params));
  for (const key of params.keys) yield* addKey(db, id, key);
  const domain = yield* getDomain(db, params);
  if (domain === null) throw new Error('A domain vanished in its own transaction');
  return { kind: 'added', domain };
});

/** One domain by name, or null. */
export const getDomain = read('getDomain', 'by key', {}, function* (db, { name }) {
  const rows = yield* db.all<object>(`SELECT ${DOMAIN.columns} FROM domain WHERE name = ?`, name);
  return (yield* toDomains(db, rows))[0] ?? null;
});

export const listDomains = read('listDomains', 'measured', {}, function* (db, params) {
  return yield* toDomains(db, yield* pageOf<object>(db, DOMAIN.columns, params));
});

export const searchDomains = read('searchDomains', 'measured', { search: true }, function* (db, params) {
  const looked = yield* pageOf<{ name: string }>(db, 'name', { ...params, limit: params.look });
  const { found, next } = foundAmong(looked, params);
  return { domains: yield* listDomains(db, { domains: found, limit: found.length }), next };
});

/** By name, behind `after`. */
function pageOf<Row>(
  db: Db,
  columns: string,
  params: { domains?: readonly string[]; after?: string; limit: number },
): Work<Row[]> {
  const filter = db.filter();
  filter.oneOf('name', params.domains);
  filter.when('name > ?', params.after);
  const sql = `SELECT ${columns} FROM domain ${filter.where()} ORDER BY name LIMIT ?`;
  return db.all(sql, ...filter.values(), params.limit);
}

/** Of the names that were looked at, those that a search finds, and where the next look begins; null: there is no more. */
function foundAmong(
  looked: readonly { name: string }[],
  { search, limit, look }: { search: string; limit: number; look: number },
): { found: string[]; next: string | null } {
  const names = looked.map(({ name }) => name);
  const found = names.filter((name) => name.includes(search)).slice(0, limit);
  const last = found.length === limit ? found.at(-1) : looked.length === look ? names.at(-1) : undefined;
  return { found, next: last ?? null };
}

export const failingDomains = read(
  'failingDomains',
  'measured',
  { search: true },
  (db, { domains, limit }) => {
    const filter = anyOf(db, 'd.name', domains);
    return db.all<FailingDomain>(
      `SELECT d.name, d.status, d.failing_since AS "failingSince", d.updated_at AS "updatedAt",
         d.last_checks AS "lastChecks", ${UNFINISHED} AS unfinished
       FROM domain d {INDEXED BY domain_failing|} LEFT JOIN name n ON n.text = d.name
       WHERE d.status IN ('Failing', 'Suspended')${filter.and()} ORDER BY d.name LIMIT ?`,
      ...filter.values(),
      limit,
    );
  },
);

export const isReturnHost = read('isReturnHost', 'measured', {}, function* (db, { host }) {
  const sql = `SELECT 1 FROM domain {INDEXED BY domain_return_host|}
    WHERE {settings ->> '$.returnPathHost'|settings::json ->> 'returnPathHost'} = ? LIMIT 1`;
  return (yield* db.get(sql, host)) !== undefined;
});

export const setDomainStatus = write('setDomainStatus', 'by key', SERIAL, function* (session, params) {
  const changes = yield* session.db.run(
    `UPDATE domain SET status = ?1, verified_by = ?2, failing_since = ?3, last_checks = coalesce(?4, last_checks),
       changes = coalesce(?5, changes),
       last_checked_at = CASE WHEN CAST(?4 AS text) IS NULL THEN last_checked_at ELSE ?6 END,
       verified_at = CASE WHEN ?1 = 'Verified' THEN coalesce(verified_at, ?6) ELSE verified_at END,
       updated_at = CASE WHEN status <> ?1 THEN ?6 ELSE updated_at END
     WHERE name = ?7 AND verify_token = ?8`,
    ...[params.status, params.verifiedBy, params.failingSince, params.checks, params.changes ?? null],
    ...[params.now, params.name, params.verifyToken],
  );
  if (changes === 0) return null;
  const subject = { domainId: yield* session.nameId(params.name), messageSeq: null, deliveryId: null };
  for (const event of params.events) yield* session.appendEvent(event, subject);
  return yield* getDomain(session.db, params);
});

export const updateDomain = write('updateDomain', 'by key', SERIAL, function* ({ db }, params) {
  const domain = yield* getDomain(db, params);
  if (domain === null) return null;
  const settings = JSON.stringify(mergeSettings(domain.settings, params.settings));
  const sql = 'UPDATE domain SET settings = ?, updated_at = ? WHERE id = ?';
  yield* db.run(sql, settings, params.now, domain.id);
  return yield* getDomain(db, params);
});

export const rotateDomainKey = write('rotateDomainKey', 'by key', SERIAL, function* ({ db }, params) {
  const { selector, now } = params;
  const domain = yield* getDomain(db, params);
  const standby = domain?.keys.find((key) => key.role === 'standby' && key.selector === selector);
  if (domain === null || standby === undefined) return null;
  const retire =
    "UPDATE domain_key SET role = 'retired', retired_at = ? WHERE domain_id = ? AND role = 'active'";
  yield* db.run(retire, now, domain.id);
  const activate = "UPDATE domain_key SET role = 'active' WHERE domain_id = ? AND selector = ?";
  yield* db.run(activate, domain.id, selector);
  return yield* touched(db, params);
});

export const replaceRetiredKey = write('replaceRetiredKey', 'by key', SERIAL, function* ({ db }, params) {
  const domain = yield* getDomain(db, params);
  if (domain === null || domain.keys.some((key) => key.role === 'standby')) return null;
  const sql = "DELETE FROM domain_key WHERE domain_id = ? AND role = 'retired' AND retired_at <= ?";
  if ((yield* db.run(sql, domain.id, params.retiredBefore)) === 0) return null;
  yield* addKey(db, domain.id, params.key);
  return yield* touched(db, params);
});

export const removeDomain = write('removeDomain', 'measured', SERIAL, function* (session, { name }) {
  const { db } = session;
  const row = yield* db.get<{ id: number }>('DELETE FROM domain WHERE name = ? RETURNING id', name);
  if (row === undefined) return false;
  yield* db.run('DELETE FROM domain_key WHERE domain_id = ?', row.id);
  yield* deleteWebhooksOf(session, yield* session.nameId(name));
  yield* removeTemplatesOf(db, name);
  return true;
});

function addKey(db: Db, domainId: number, key: DkimKey): Work<number> {
  return db.insert('domain_key', { domain_id: domainId, ...DOMAIN_KEY.row(key) });
}

/** A cache of a domain notices by updatedAt that its keys have changed. */
function* touched(db: Db, params: { name: string; now: number }): Work<Domain | null> {
  yield* db.run('UPDATE domain SET updated_at = ? WHERE name = ?', params.now, params.name);
  return yield* getDomain(db, params);
}

/** With the keys of all of them. */
function* toDomains(db: Db, rows: readonly object[]): Work<Domain[]> {
  const domains = rows.map(DOMAIN.value);
  if (domains.length === 0) return [];
  const ids = domains.map(({ id }) => id);
  const of = anyOf(db, 'domain_id', ids);
  const keys = yield* db.all<{ domain_id: number }>(
    `SELECT domain_id, ${DOMAIN_KEY.columns} FROM domain_key ${of.where()} ORDER BY {+id|id}`,
    ...of.values(),
  );
  const byDomain = Map.groupBy(keys, (row) => row.domain_id);
  return domains.map((domain) => withKeys(domain, (byDomain.get(domain.id) ?? []).map(DOMAIN_KEY.value)));
}
