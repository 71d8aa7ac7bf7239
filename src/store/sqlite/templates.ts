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
import type { Connection } from './engine/connection.ts';
import { createFilter } from './engine/filter.ts';
import { mergedRows } from './engine/merged.ts';
import { read, write } from './engine/operation.ts';
import { leaveRows } from './leftovers.ts';

export const addTemplate = write('addTemplate', 'by key', { synced: true }, ({ db }, params) => {
  if (findRow(db, { id: params.id }) !== undefined) return 'added';
  const count = db.get<{ n: number }>('SELECT count(*) AS n FROM template WHERE domain = ?', params.domain);
  if (isTaken(db, params.domain, params.name, '')) return 'taken';
  if ((count?.n ?? 0) >= params.maxPerDomain) return 'full';
  const { lastId } = db.insert('template', newTemplateRow(params));
  db.insert('template_version', versionRow(lastId, 1, params.texts, params.now));
  return 'added';
});

export const changeTemplate = write('changeTemplate', 'by key', { synced: true }, ({ db }, params) => {
  const row = findRow(db, params);
  if (row === undefined) return null;
  if (params.fromVersion !== undefined && params.fromVersion !== row.version) return 'changed';
  const name = params.name ?? row.name;
  if (isTaken(db, row.domain, name, row.id)) return 'taken';
  const version = params.texts === null ? row.version : row.version + 1;
  db.run(
    'UPDATE template SET name = ?, version = ?, updated_at = ? WHERE seq = ?',
    name,
    version,
    params.now,
    row.seq,
  );
  if (params.texts !== null) {
    db.insert('template_version', versionRow(row.seq, version, params.texts, params.now));
    db.run(
      'DELETE FROM template_version WHERE template_seq = ? AND version <= ?',
      row.seq,
      version - params.keepVersions,
    );
  }
  return toHead({ ...row, name, version, updatedAt: params.now });
});

export const removeTemplate = write('removeTemplate', 'by key', { synced: true }, ({ db }, params) => {
  const row = findRow(db, params);
  if (row === undefined) return false;
  db.run('DELETE FROM template WHERE seq = ?', row.seq);
  leaveRows(db, 'template', row.seq);
  return true;
});

/** Removes the templates of a domain that is being removed. */
export function removeTemplatesOf(db: Connection, domain: string): void {
  const gone = db.all<{ seq: number }>('DELETE FROM template WHERE domain = ? RETURNING seq', domain);
  for (const { seq } of gone) leaveRows(db, 'template', seq);
}

export const getTemplate = read('getTemplate', 'by key', (db, params) => {
  const row = findRow(db, params);
  return row === undefined ? null : toHead(row);
});

export const templateVersion = read('templateVersion', 'by key', (db, params) => {
  const row = db.get<TemplateVersion>(
    `SELECT ${VERSION_COLUMNS} FROM template t
     JOIN template_version v ON v.template_seq = t.seq AND v.version = ? WHERE t.id = ?`,
    params.version,
    params.id,
  );
  return row ?? null;
});

export const listTemplateVersions = read('listTemplateVersions', 'as asked', (db, params) => {
  return db.all<{ version: number; createdAt: number }>(
    `SELECT v.version, v.created_at AS createdAt FROM template t JOIN template_version v ON v.template_seq = t.seq
     WHERE t.id = ? ORDER BY v.version DESC LIMIT ?`,
    params.id,
    params.limit,
  );
});

export const listTemplates = read('listTemplates', 'measured', (db, params) => {
  const { domains, name, beforeId, limit } = params;
  // After a template that was removed, the list is empty.
  const before =
    beforeId === undefined
      ? Number.MAX_SAFE_INTEGER
      : (db.get<{ seq: number }>('SELECT seq FROM template WHERE id = ?', beforeId)?.seq ?? 0);
  const named = name === undefined ? [] : [name];
  const byName = name === undefined ? '' : ' AND name = ?';
  const places = domains === undefined ? [[]] : [...new Set(domains)].map((domain) => [domain]);
  const place =
    domains === undefined
      ? name === undefined
        ? 'NOT INDEXED WHERE true'
        : 'WHERE true'
      : 'WHERE domain = ?';
  return mergedRows<TemplateRow>(
    db,
    {
      sql: `SELECT ${TEMPLATE_COLUMNS} FROM template ${place}${byName} AND seq < ?`,
      values: places.map((value) => [...value, ...named, before]),
      order: 'seq DESC',
      compare: (a, b) => b.seq - a.seq,
    },
    limit,
  ).map(toHead);
});

function findRow(
  db: Connection,
  params: { id: string; domains?: readonly string[] },
): TemplateRow | undefined {
  const filter = createFilter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain', params.domains);
  return db.get<TemplateRow>(
    `SELECT ${TEMPLATE_COLUMNS} FROM template ${filter.where()}`,
    ...filter.values(),
  );
}

/** Whether another template of the domain has the name. */
function isTaken(db: Connection, domain: string, name: string, exceptId: string): boolean {
  const sql = 'SELECT 1 FROM template WHERE domain = ? AND name = ? AND id <> ?';
  return db.get(sql, domain, name, exceptId) !== undefined;
}
