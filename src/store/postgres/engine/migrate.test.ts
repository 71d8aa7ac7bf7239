/** Migrations of the PostgreSQL engine, and the schema they lead to, held against that of the SQLite engine. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { describePostgres, type TestDatabase, testDatabase } from '../test-support.ts';
import { openLink } from './connections.ts';
import { createStatements } from './db.ts';
import { migrate, readMigrations } from './migrate.ts';
import { schemaText } from './schema-text.ts';

const FOLDER = join(import.meta.dirname, '..');

describePostgres('migrations of PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await testDatabase('migrate');
  });
  afterAll(() => database.close());
  beforeEach(() => database.link.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public').then(() => {}));

  const apply = (migrations = readMigrations()) => migrate(database.link, migrations, systemClock);
  const schema = () => database.use(schemaText);

  it('are numbered upwards, each number once', () => {
    const versions = readMigrations().map(({ version }) => version);
    expect(versions[0]).toBe(1);
    expect(versions).toEqual([...new Set(versions)].sort((a, b) => a - b));
  });

  it('lead to exactly the expected schema', async () => {
    await apply();
    await expect(await schema()).toMatchFileSnapshot(join(FOLDER, 'expected-schema.sql'));
  });

  it('change nothing the second time, and are applied once where several nodes start at once', async () => {
    const links = await Promise.all([1, 2, 3].map(() => openLink(database.url, createStatements(), 'cold')));
    await Promise.all(links.map((link) => migrate(link, readMigrations(), systemClock)));
    await Promise.all(links.map((link) => link.end()));
    const before = await schema();
    await apply();
    expect(await schema()).toBe(before);
  });

  it('apply each step whole or not at all, and go on from there', async () => {
    const first = { version: 1, sql: 'CREATE TABLE a (x int)' };
    await expect(
      apply([first, { version: 2, sql: 'CREATE TABLE b (x int); CREATE TABLE a (y int)' }]),
    ).rejects.toThrow('already exists');
    expect(await schema()).not.toContain('TABLE b');
    await apply([first, { version: 2, sql: 'CREATE TABLE b (x int)' }]);
    expect(await schema()).toContain('TABLE b');
  });

  it('refuse a database of a newer version, and one of another program, and leave them unchanged', async () => {
    await apply([{ version: 7, sql: 'CREATE TABLE a (x int)' }]);
    await expect(apply([{ version: 6, sql: 'CREATE TABLE b (x int)' }])).rejects.toMatchObject({
      reason: 'newer-schema',
      message: expect.stringContaining('number 7'),
    });
    expect(await schema()).not.toContain('TABLE b');
    await database.link.exec('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE theirs (x int)');
    await expect(apply()).rejects.toMatchObject({ reason: 'foreign' });
    expect(await schema()).not.toContain('migration');
  });

  it('make the tables and columns of the SQLite engine, but for those that are named here', async () => {
    await apply();
    const rows = await database.use((db) =>
      db.all<{ place: string }>(
        `SELECT table_name || '.' || column_name AS place FROM information_schema.columns WHERE table_schema = 'public'`,
      ),
    );
    const here = rows.map(({ place }) => place);
    const there = columnsOfSqlite();
    const only = (ones: readonly string[], others: readonly string[]) =>
      [...new Set(ones.filter((one) => !others.includes(one)))].sort();
    expect(only(here, there)).toEqual([
      'content.coding',
      'content.domain_id',
      'content.size',
      'era.begun_at',
      'era.number',
      'migration.at',
      'migration.version',
    ]);
    // Counted when it is asked for; triggers keep it there.
    const tables = new Set(only(there, here).map((place) => place.split('.')[0]));
    expect([...tables]).toEqual([
      ...['audit_count', 'inbox', 'kept_content', 'probe', 'stored_bytes', 'total', 'unfinished'],
      ...['waiting_hook', 'waiting_queue'],
    ]);
  });
});

/** `table.column`, of the schema that its own test holds to the migrations. */
function columnsOfSqlite(): string[] {
  const text = readFileSync(join(FOLDER, '..', 'sqlite', 'expected-schema.sql'), 'utf8');
  return [...text.matchAll(/^CREATE TABLE "?(\w+)"? ?\((.*)\)[^)]*;$/gm)].flatMap(([, table, body = '']) =>
    body
      .replace(/\([^()]*\)/g, '')
      .split(',')
      .map((column) => column.trim().split(' ')[0] ?? '')
      .filter((name) => !['UNIQUE', 'PRIMARY'].includes(name))
      .map((name) => `${table}.${name}`),
  );
}
