/** Templates: a row for each, and one for each version of its texts. A list never contains those of another domain. */
import type { TemplateHead, TemplateTexts, TemplateVersion } from '../../../model/template.ts';
import { count, type Db, type ParamsOf, read, write } from '../operation.ts';
import type { Work } from '../work.ts';
import { leaveRows } from './removal.ts';

type TemplateRow = TemplateHead & { seq: number };

/** Selected as a `TemplateRow`. */
const COLUMNS = 'seq, id, domain, name, version, created_at AS "createdAt", updated_at AS "updatedAt"';

/** Names are unique and their number is limited: one change at a time. */
const SERIAL = { synced: true, serial: 'templates' } as const;

export const addTemplate = write('addTemplate', 'by key', SERIAL, function* ({ db }, params) {
  const { id, domain, name, texts, now, maxPerDomain } = params;
  if ((yield* findRow(db, { id })) !== undefined) return 'added';
  if (yield* isTaken(db, domain, name, '')) return 'taken';
  const n = yield* count(db, 'SELECT count(*) AS n FROM template WHERE domain = ?', domain);
  if (n >= maxPerDomain) return 'full';
  const row = { id, domain, name, version: 1, created_at: now, updated_at: now };
  yield* addVersion(db, yield* db.insertId('template', 'seq', row), 1, texts, now);
  return 'added';
});

function addVersion(db: Db, seq: number, version: number, texts: TemplateTexts, now: number): Work<number> {
  const { subject, html, text } = texts;
  const row = { template_seq: seq, version, created_at: now, subject, html, plain: text };
  return db.insert('template_version', row);
}

export const changeTemplate = write('changeTemplate', 'by key', SERIAL, function* ({ db }, params) {
  const row = yield* findRow(db, params);
  if (row === undefined) return null;
  if (params.fromVersion !== undefined && params.fromVersion !== row.version) return 'changed';
  const name = params.name ?? row.name;
  if (yield* isTaken(db, row.domain, name, row.id)) return 'taken';
  const version = params.texts === null ? row.version : row.version + 1;
  yield* db.run(
    'UPDATE template SET name = ?, version = ?, updated_at = ? WHERE seq = ?',
    ...[name, version, params.now, row.seq],
  );
  if (params.texts !== null) {
    yield* addVersion(db, row.seq, version, params.texts, params.now);
    const sql = 'DELETE FROM template_version WHERE template_seq = ? AND version <= ?';
    yield* db.run(sql, row.seq, version - params.keepVersions);
  }
  return toHead({ ...row, name, version, updatedAt: params.now });
});

export const removeTemplate = write('removeTemplate', 'by key', SERIAL, function* ({ db }, params) {
  const row = yield* findRow(db, params);
  if (row === undefined) return false;
  yield* db.run('DELETE FROM template WHERE seq = ?', row.seq);
  yield* leaveRows(db, 'template', [row.seq]);
  return true;
});

export const getTemplate = read('getTemplate', 'by key', {}, function* (db, params) {
  const row = yield* findRow(db, params);
  return row === undefined ? null : toHead(row);
});

export const templateVersion = read('templateVersion', 'by key', {}, function* (db, { id, version }) {
  const row = yield* db.get<TemplateVersion>(
    `SELECT v.version, v.created_at AS "createdAt", v.subject, v.html, v.plain AS text FROM template t
     JOIN template_version v ON v.template_seq = t.seq AND v.version = ? WHERE t.id = ?`,
    version,
    id,
  );
  return row ?? null;
});

export const listTemplateVersions = read('listTemplateVersions', 'as asked', {}, (db, { id, limit }) => {
  return db.all<{ version: number; createdAt: number }>(
    `SELECT v.version, v.created_at AS "createdAt" FROM template t JOIN template_version v ON v.template_seq = t.seq
     WHERE t.id = ? ORDER BY v.version DESC LIMIT ?`,
    id,
    limit,
  );
});

export const listTemplates = read('listTemplates', 'measured', { search: true }, (db, params) =>
  newest(db, params),
);

/** Mail waits for it, so it is no search. */
export const templatesNamed = read('templatesNamed', 'measured', {}, (db, params) => newest(db, params));

function* newest(db: Db, params: ParamsOf<'listTemplates'>): Work<TemplateHead[]> {
  const { domains, name, beforeId, limit } = params;
  // After a template that was removed, the list is empty.
  const last = 'SELECT seq FROM template WHERE id = ?';
  const before =
    beforeId === undefined ? undefined : ((yield* db.get<{ seq: number }>(last, beforeId))?.seq ?? 0);
  const filter = db.filter();
  filter.when('name = ?', name);
  filter.when('seq < ?', before);
  const isAll = domains === undefined && name === undefined;
  const select = `SELECT ${COLUMNS} FROM template ${isAll ? '{NOT INDEXED|}' : ''}`;
  const ranges = { select, column: 'domain', places: domains, filter, order: 'seq DESC' };
  return (yield* db.merged<TemplateRow>(ranges, limit)).map(toHead);
}

function findRow(db: Db, params: { id: string; domains?: readonly string[] }): Work<TemplateRow | undefined> {
  const filter = db.filter();
  filter.when('id = ?', params.id);
  filter.oneOf('domain', params.domains);
  return db.get(`SELECT ${COLUMNS} FROM template ${filter.where()}`, ...filter.values());
}

/** Whether another template of the domain has the name. */
function* isTaken(db: Db, domain: string, name: string, exceptId: string): Work<boolean> {
  const sql = 'SELECT 1 FROM template WHERE domain = ? AND name = ? AND id <> ?';
  return (yield* db.get(sql, domain, name, exceptId)) !== undefined;
}

function toHead({ seq: _, ...head }: TemplateRow): TemplateHead {
  return head;
}
