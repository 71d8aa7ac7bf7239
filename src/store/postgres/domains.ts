/**
 * Sender domains and their signing keys. Names are unique; a status change and its events are one transaction. Removing
 * a domain removes its keys and webhooks, so that somebody who adds the name later inherits nothing; waiting mail stays
 * and is held, because its domain is gone.
 */

import { type DkimKey, type Domain, mergeSettings } from '../../model/domain.ts';
import { DOMAIN, DOMAIN_KEY, foundAmong, newDomainRow, withKeys } from '../shared/rows/domains.ts';
import type { FailingDomain } from '../topics/domains.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { read, write } from './engine/operation.ts';
import { appendAll } from './events.ts';
import { unfinishedOf } from './queue.ts';
import { removeTemplatesOf } from './templates.ts';
import { deleteWebhooksOf } from './webhook-removal.ts';

/** Changes of a domain and its keys are rare, and each decides by what it has read. */
const SERIAL = { serial: 'domains' };

/** Adds a domain with its keys; `exists` if the name is taken. */
export const addDomain = write('addDomain', SERIAL, async ({ db }, params) => {
  const known = await domainOf(db, params.name);
  if (known !== null) {
    return known.verifyToken === params.verifyToken ? { kind: 'added', domain: known } : { kind: 'exists' };
  }
  const id = await db.insertId('domain', 'id', newDomainRow(params));
  for (const key of params.keys) await addKey(db, id, key);
  const domain = await domainOf(db, params.name);
  if (domain === null) throw new Error('A domain vanished in its own transaction');
  return { kind: 'added', domain };
});

/** One domain by name, or null. */
export const getDomain = read('getDomain', (db, { name }) => domainOf(db, name));

export const listDomains = read('listDomains', async (db, params) => {
  const filter = createFilter();
  filter.oneOf('name', params.domains);
  filter.when('name > ?', params.after);
  const rows = await db.all<object>(
    `SELECT ${DOMAIN.columns} FROM domain ${filter.where()} ORDER BY name LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
  return toDomains(db, rows);
});

export const searchDomains = read('searchDomains', { lane: 'search' }, async (db, params, shared) => {
  const filter = createFilter();
  filter.oneOf('name', params.domains);
  filter.when('name > ?', params.after);
  const looked = await db.all<{ name: string }>(
    `SELECT name FROM domain ${filter.where()} ORDER BY name LIMIT ?`,
    ...filter.values(),
    params.look,
  );
  const { found, next } = foundAmong(looked, params);
  const domains =
    found.length === 0 ? [] : await listDomains(db, { domains: found, limit: found.length }, shared);
  return { domains, next };
});

export const failingDomains = read('failingDomains', { lane: 'search' }, async (db, params) => {
  const filter = createFilter();
  filter.oneOf('d.name', params.domains);
  return db.all<FailingDomain>(
    `SELECT d.name, d.status, d.failing_since AS "failingSince", d.updated_at AS "updatedAt",
       d.last_checks AS "lastChecks",
       ${unfinishedOf('n.id')} AS unfinished
     FROM domain d LEFT JOIN name n ON n.text = d.name
     WHERE d.status IN ('Failing', 'Suspended')${filter.and()} ORDER BY d.name LIMIT ?`,
    ...filter.values(),
    params.limit,
  );
});

export const isReturnHost = read('isReturnHost', async (db, params) => {
  const sql = "SELECT 1 AS one FROM domain WHERE settings::json ->> 'returnPathHost' = $1 LIMIT 1";
  return (await db.get(sql, params.host)) !== undefined;
});

export const setDomainStatus = write('setDomainStatus', SERIAL, async (session, params) => {
  const changes = await session.db.run(
    `UPDATE domain SET status = $1, verified_by = $2, failing_since = $3, last_checks = coalesce($4, last_checks),
       changes = coalesce($5, changes),
       last_checked_at = CASE WHEN $4::text IS NULL THEN last_checked_at ELSE $6 END,
       verified_at = CASE WHEN $1 = 'Verified' THEN coalesce(verified_at, $6) ELSE verified_at END,
       updated_at = CASE WHEN status <> $1 THEN $6 ELSE updated_at END
     WHERE name = $7 AND verify_token = $8`,
    params.status,
    params.verifiedBy,
    params.failingSince,
    params.checks,
    params.changes ?? null,
    params.now,
    params.name,
    params.verifyToken,
  );
  if (changes === 0) return null;
  const subject = { domainId: await session.nameId(params.name), messageSeq: null, deliveryId: null };
  await appendAll(
    session,
    params.events.map((event) => ({ event, subject })),
  );
  return domainOf(session.db, params.name);
});

export const updateDomain = write('updateDomain', SERIAL, async ({ db }, params) => {
  const domain = await domainOf(db, params.name);
  if (domain === null) return null;
  await db.run(
    'UPDATE domain SET settings = $1, updated_at = $2 WHERE id = $3',
    JSON.stringify(mergeSettings(domain.settings, params.settings)),
    params.now,
    domain.id,
  );
  return domainOf(db, params.name);
});

export const rotateDomainKey = write('rotateDomainKey', SERIAL, async ({ db }, params) => {
  const domain = await domainOf(db, params.name);
  const standby = domain?.keys.find((key) => key.role === 'standby' && key.selector === params.selector);
  if (domain === null || standby === undefined) return null;
  await db.run(
    "UPDATE domain_key SET role = 'retired', retired_at = $1 WHERE domain_id = $2 AND role = 'active'",
    params.now,
    domain.id,
  );
  await db.run(
    "UPDATE domain_key SET role = 'active' WHERE domain_id = $1 AND selector = $2",
    domain.id,
    params.selector,
  );
  return touched(db, params);
});

export const replaceRetiredKey = write('replaceRetiredKey', SERIAL, async ({ db }, params) => {
  const domain = await domainOf(db, params.name);
  if (domain === null || domain.keys.some((key) => key.role === 'standby')) return null;
  const changes = await db.run(
    "DELETE FROM domain_key WHERE domain_id = $1 AND role = 'retired' AND retired_at <= $2",
    domain.id,
    params.retiredBefore,
  );
  if (changes === 0) return null;
  await addKey(db, domain.id, params.key);
  return touched(db, params);
});

export const removeDomain = write('removeDomain', SERIAL, async (session, params) => {
  const { db } = session;
  const row = await db.get<{ id: number }>('DELETE FROM domain WHERE name = $1 RETURNING id', params.name);
  if (row === undefined) return false;
  await db.run('DELETE FROM domain_key WHERE domain_id = $1', row.id);
  await deleteWebhooksOf(db, await session.nameId(params.name));
  await removeTemplatesOf(db, params.name);
  return true;
});

async function addKey(db: Db, domainId: number, key: DkimKey): Promise<void> {
  await db.insert('domain_key', { domain_id: domainId, ...DOMAIN_KEY.row(key) });
}

/** A cache of a domain notices by updatedAt that its keys have changed. */
async function touched(db: Db, params: { name: string; now: number }): Promise<Domain | null> {
  await db.run('UPDATE domain SET updated_at = $1 WHERE name = $2', params.now, params.name);
  return domainOf(db, params.name);
}

async function domainOf(db: Db, name: string): Promise<Domain | null> {
  const rows = await db.all<object>(`SELECT ${DOMAIN.columns} FROM domain WHERE name = $1`, name);
  return (await toDomains(db, rows))[0] ?? null;
}

/** With the keys of all of them. */
async function toDomains(db: Db, rows: readonly object[]): Promise<Domain[]> {
  const domains = rows.map(DOMAIN.value);
  if (domains.length === 0) return [];
  const keys = new Map<number, DkimKey[]>(domains.map(({ id }) => [id, []]));
  const all = await db.all<{ domain_id: number }>(
    `SELECT domain_id, ${DOMAIN_KEY.columns} FROM domain_key WHERE domain_id = ANY ($1::int8[]) ORDER BY id`,
    int8s([...keys.keys()]),
  );
  for (const row of all) keys.get(row.domain_id)?.push(DOMAIN_KEY.value(row));
  return domains.map((domain) => withKeys(domain, keys.get(domain.id) ?? []));
}
