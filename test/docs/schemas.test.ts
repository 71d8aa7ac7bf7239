/**
 * The schemas of both engines beside each other, without a server: a column that one of them was given and the other was
 * not is named here. Each engine's own tests hold its expected-schema.sql to its migrations.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const STORE = join(import.meta.dirname, '..', '..', 'src', 'store');

it('the engines have the same tables and columns, but for those that are named here', () => {
  const sqlite = columnsOf('sqlite', /^CREATE TABLE "?(\w+)"? ?\((.*)\)[^)]*;$/gm, ',');
  const postgres = columnsOf('postgres', /^CREATE TABLE (\w+) \(\n([^;]*)\n\)[^;]*;$/gm, ',\n');
  expect(sqlite.length).toBeGreaterThan(300);
  expect(
    only(postgres, sqlite),
    'columns that only PostgreSQL has: add their migration in src/store/sqlite/migrations, then `npm run docs`',
  ).toEqual([
    'content.coding',
    'content.domain_id',
    'content.size',
    'era.begun_at',
    'era.number',
    'migration.at',
    'migration.version',
  ]);
  // Counted when it is asked for; triggers keep it in SQLite.
  const counted = ['audit_count', 'inbox', 'kept_content', 'probe', 'stored_bytes', 'total', 'unfinished'];
  const withoutTable = new Set([...counted, 'recipient_index', 'waiting_hook', 'waiting_queue']);
  expect(
    only(sqlite, postgres).filter((column) => !withoutTable.has(column.split('.')[0] ?? '')),
    'columns that only SQLite has: write src/store/postgres/expected-schema.sql with ' +
      '`npx vitest run -u --project postgres src/store/postgres/engine/migrate.test.ts`; ' +
      'is the column still missing, add its migration in src/store/postgres/migrations',
  ).toEqual([]);
});

/** `table.column`. */
function columnsOf(engine: string, table: RegExp, between: string): string[] {
  const text = readFileSync(join(STORE, engine, 'expected-schema.sql'), 'utf8');
  return [...text.matchAll(table)].flatMap(([, name, body = '']) =>
    body
      .replace(/\([^()]*\)/g, '')
      .split(between)
      .map((column) => column.trim().split(' ')[0] ?? '')
      .filter((column) => !['UNIQUE', 'PRIMARY', 'CONSTRAINT'].includes(column))
      .map((column) => `${name}.${column}`),
  );
}

function only(ones: readonly string[], others: readonly string[]): string[] {
  const known = new Set(others);
  return [...new Set(ones)].filter((one) => !known.has(one)).sort();
}
