/** Templates: a row for each, and one for each version of its texts. A list never contains those of another domain. */
import type { TemplateVersion } from '../../model/template.ts';
import {
  newTemplateRow,
  TEMPLATE_COLUMNS,
  type TemplateRow,
  toHead,
  VERSION_COLUMNS,
  versionRow,
} from '../shared/rows/templates.ts';
import type { Db } from './engine/db.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { leaveRows } from './leftovers.ts';

/** Names are unique and their number is limited: one change at a time. */
const SERIAL = { serial: 'templates' };

export const addTemplate = write('addTemplate', SERIAL, async ({ db }, params) => {
  if ((await findRow(db, { id: params.id })) !== undefined) return 'added';
  const sql = 'SELECT count(*) AS n FROM template WHERE domain = $1';
  const count = await db.get<{ n: number }>(sql, params.domain);
  if (await isTaken(db, params.domain, params.name, '')) return 'taken';
  if ((count?.n ?? 0) >= params.maxPerDomain) return 'full';
  const seq = await db.insertId('template', 'seq', newTemplateRow(params));
  await db.insert('template_version', versionRow(seq, 1, params.texts, params.now));
  return 'added';
});

export const changeTemplate = write('changeTemplate', SERIAL, async ({ db }, params) => {
  const row = await findRow(db, params);
  if (row === undefined) return null;
  if (params.fromVersion !== undefined && params.fromVersion !== row.version) return 'changed';
  const name = params.name ?? row.name;
  if (await isTaken(db, row.domain, name, row.id)) return 'taken';
  const version = params.texts === null ? row.version : row.version + 1;
  await db.run(
    'UPDATE template SET name = $1, version = $2, updated_at = $3 WHERE seq = $4',
    ...[name, version, params.now, row.seq],
  );
  if (params.texts !== null) {
    await db.insert('template_version', versionRow(row.seq, version, params.texts, params.now));
    await db.run(
      'DELETE FROM template_version WHERE template_seq = $1 AND version <= $2',
      row.seq,
      version - params.keepVersions,
    );
  }
  return toHead({ ...row, name, version, updatedAt: params.now });
});

export const removeTemplate = write('removeTemplate', SERIAL, async ({ db }, params) => {
  const row = await findRow(db, params);
  if (row === undefined) return false;
  await db.run('DELETE FROM template WHERE seq = $1', row.seq);
  await leaveRows(db, 'template', row.seq);
  return true;
});

/** Removes those of a removed domain. */
export async function removeTemplatesOf(db: Db, domain: string): Promise<void> {
  await db.run(
    `WITH gone AS (DELETE FROM template WHERE domain = $1 RETURNING seq)
     INSERT INTO leftover (kind, owner) SELECT 'template', seq FROM gone ON CONFLICT DO NOTHING`,
    domain,
  );
}

export const getTemplate = read('getTemplate', async (db, params) => {
  const row = await findRow(db, params);
  return row === undefined ? null : toHead(row);
});

export const templateVersion = read('templateVersion', async (db, params) => {
  const row = await db.get<TemplateVersion>(
    `SELECT ${VERSION_COLUMNS} FROM template t
     JOIN template_version v ON v.template_seq = t.seq AND v.version = $1 WHERE t.id = $2`,
    params.version,
    params.id,
  );
  return row ?? null;
});

export const listTemplateVersions = read('listTemplateVersions', (db, params) => {
  return db.all<{ version: number; createdAt: number }>(
    `SELECT v.version, v.created_at AS "createdAt" FROM template t JOIN template_version v ON v.template_seq = t.seq
     WHERE t.id = $1 ORDER BY v.version DESC LIMIT $2`,
    params.id,
    params.limit,
  );
});

export const listTemplates = read('listTemplates', async (db, params) => {
  const { domains, name, beforeId, limit } = params;
  // After a template that was removed, the list is empty.
  const last = 'SELECT seq FROM template WHERE id = $1';
  const before =
    beforeId === undefined ? undefined : ((await db.get<{ seq: number }>(last, beforeId))?.seq ?? 0);
  const filter = createFilter();
  filter.when('name = ?', name);
  filter.when('seq < ?', before);
  const place = domains === undefined ? 'true' : 'domain = g.place';
  const sql = `SELECT ${TEMPLATE_COLUMNS} FROM template WHERE ${place}${filter.and()}`;
  const ranges = { sql, values: filter.values(), places: domains, order: 'seq DESC' };
  const rows = await mergedRows<TemplateRow>(db, ranges, limit);
  return rows.map(toHead);
});

async function findRow(
  db: Db,
  params: { id: string; domains?: readonly string[] },
): Promise<TemplateRow | undefined> {
  const filter = createFilter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain', params.domains);
  return db.get<TemplateRow>(
    `SELECT ${TEMPLATE_COLUMNS} FROM template ${filter.where()}`,
    ...filter.values(),
  );
}

/** Whether another template of the domain has the name. */
async function isTaken(db: Db, domain: string, name: string, exceptId: string): Promise<boolean> {
  const sql = 'SELECT FROM template WHERE domain = $1 AND name = $2 AND id <> $3';
  return (await db.get(sql, domain, name, exceptId)) !== undefined;
}
