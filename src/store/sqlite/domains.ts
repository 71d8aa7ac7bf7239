/**
 * Sender domains and their signing keys. Names are unique; a status change and its events are one transaction. Removing
 * a domain removes its keys and webhooks, so that somebody who adds the name later inherits nothing; waiting mail stays
 * and is held, because its domain is gone.
 */

import { type DkimKey, type Domain, mergeSettings } from '../../model/domain.ts';
import { DOMAIN, DOMAIN_KEY, foundAmong, newDomainRow, withKeys } from '../shared/rows/domains.ts';
import type { FailingDomain } from '../topics/domains.ts';
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { read, write } from './engine/operation.ts';
import { appendEvent } from './events.ts';
import { removeTemplatesOf } from './templates.ts';
import { deleteWebhooksOf } from './webhooks.ts';

/** Adds a domain with its keys; `exists` if the name is taken. */
export const addDomain = write('addDomain', 'by key', { synced: true }, ({ db }, params) => {
  const known = getDomain(db, params);
  if (known !== null) {
    return known.verifyToken === params.verifyToken ? { kind: 'added', domain: known } : { kind: 'exists' };
  }
  const id = db.insert('domain', newDomainRow(params)).lastId;
  for (const key of params.keys) addKey(db, id, key);
  const domain = getDomain(db, params);
  if (domain === null) throw new Error('A domain vanished in its own transaction');
  return { kind: 'added', domain };
});

/** One domain by name, or null. */
export const getDomain = read('getDomain', 'by key', (db, params) => {
  const row = db.get<object>(`SELECT ${DOMAIN.columns} FROM domain WHERE name = ?`, params.name);
  return row === undefined ? null : toDomain(db, row);
});

export const listDomains = read('listDomains', 'measured', (db, params) => {
  const filter = createFilter();
  filter.oneOf('name', params.domains);
  filter.when('name > ?', params.after);
  const rows = db.all<object>(
    `SELECT ${DOMAIN.columns} FROM domain ${filter.where()} ORDER BY name LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  return rows.map((row) => toDomain(db, row));
});

export const searchDomains = read('searchDomains', 'measured', { search: true }, (db, params) => {
  const filter = createFilter();
  filter.oneOf('name', params.domains);
  filter.when('name > ?', params.after);
  const looked = db.all<{ name: string }>(
    `SELECT name FROM domain ${filter.where()} ORDER BY name LIMIT ?`,
    ...filter.values(),
    params.look,
  );
  const { found, next } = foundAmong(looked, params);
  return { domains: found.flatMap((name) => getDomain(db, { name }) ?? []), next };
});

export const failingDomains = read('failingDomains', 'measured', (db, params) => {
  const filter = createFilter();
  filter.oneOf('name', params.domains);
  return db.all<FailingDomain>(
    `SELECT name, status, failing_since AS failingSince, updated_at AS updatedAt, last_checks AS lastChecks,
       coalesce((SELECT u.recipients FROM name n JOIN unfinished u ON u.domain_id = n.id
        WHERE n.text = d.name), 0) AS unfinished
     FROM domain d INDEXED BY domain_failing WHERE status IN ('Failing', 'Suspended')${filter.and()}
     ORDER BY name LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
});

export const isReturnHost = read('isReturnHost', 'measured', (db, params) => {
  const sql =
    "SELECT 1 FROM domain INDEXED BY domain_return_host WHERE settings ->> '$.returnPathHost' = ? LIMIT 1";
  return db.get(sql, params.host) !== undefined;
});

export const setDomainStatus = write('setDomainStatus', 'by key', { synced: true }, (session, params) => {
  const { changes } = session.db.run(
    `UPDATE domain SET status = ?, verified_by = ?, failing_since = ?, last_checks = coalesce(?, last_checks),
       changes = coalesce(?, changes),
       last_checked_at = CASE WHEN ? THEN ? ELSE last_checked_at END,
       verified_at = CASE WHEN ? THEN coalesce(verified_at, ?) ELSE verified_at END,
       updated_at = CASE WHEN status <> ? THEN ? ELSE updated_at END
     WHERE name = ? AND verify_token = ?`,
    params.status,
    params.verifiedBy,
    params.failingSince,
    params.checks,
    params.changes ?? null,
    params.checks === null ? 0 : 1,
    params.now,
    params.status === 'Verified' ? 1 : 0,
    params.now,
    params.status,
    params.now,
    params.name,
    params.verifyToken,
  );
  if (changes === 0) return null;
  const subject = { domainId: session.nameId(params.name), messageSeq: null, deliveryId: null };
  for (const event of params.events) appendEvent(session, event, subject);
  return getDomain(session.db, params);
});

export const updateDomain = write('updateDomain', 'by key', { synced: true }, ({ db }, params) => {
  const domain = getDomain(db, params);
  if (domain === null) return null;
  db.run(
    'UPDATE domain SET settings = ?, updated_at = ? WHERE id = ?',
    JSON.stringify(mergeSettings(domain.settings, params.settings)),
    params.now,
    domain.id,
  );
  return getDomain(db, params);
});

export const rotateDomainKey = write('rotateDomainKey', 'by key', { synced: true }, ({ db }, params) => {
  const domain = getDomain(db, params);
  const standby = domain?.keys.find((key) => key.role === 'standby' && key.selector === params.selector);
  if (domain === null || standby === undefined) return null;
  db.run(
    "UPDATE domain_key SET role = 'retired', retired_at = ? WHERE domain_id = ? AND role = 'active'",
    params.now,
    domain.id,
  );
  db.run(
    "UPDATE domain_key SET role = 'active' WHERE domain_id = ? AND selector = ?",
    domain.id,
    params.selector,
  );
  return touched(db, params);
});

export const replaceRetiredKey = write('replaceRetiredKey', 'by key', { synced: true }, ({ db }, params) => {
  const domain = getDomain(db, params);
  if (domain === null || domain.keys.some((key) => key.role === 'standby')) return null;
  const { changes } = db.run(
    "DELETE FROM domain_key WHERE domain_id = ? AND role = 'retired' AND retired_at <= ?",
    domain.id,
    params.retiredBefore,
  );
  if (changes === 0) return null;
  addKey(db, domain.id, params.key);
  return touched(db, params);
});

export const removeDomain = write('removeDomain', 'measured', { synced: true }, (session, params) => {
  const row = session.db.get<{ id: number }>('DELETE FROM domain WHERE name = ? RETURNING id', params.name);
  if (row === undefined) return false;
  session.db.run('DELETE FROM domain_key WHERE domain_id = ?', row.id);
  deleteWebhooksOf(session, session.nameId(params.name));
  removeTemplatesOf(session.db, params.name);
  return true;
});

function addKey(db: Connection, domainId: number, key: DkimKey): void {
  db.insert('domain_key', { domain_id: domainId, ...DOMAIN_KEY.row(key) });
}

/** A cache of a domain notices by updatedAt that its keys have changed. */
function touched(db: Connection, params: { name: string; now: number }): Domain | null {
  db.run('UPDATE domain SET updated_at = ? WHERE name = ?', params.now, params.name);
  return getDomain(db, params);
}

function toDomain(db: Connection, row: object): Domain {
  const domain = DOMAIN.value(row);
  const keys = db.all(
    `SELECT ${DOMAIN_KEY.columns} FROM domain_key WHERE domain_id = ? ORDER BY id`,
    domain.id,
  );
  return withKeys(domain, keys.map(DOMAIN_KEY.value));
}
