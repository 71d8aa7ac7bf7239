/**
 * The schema that the migrations of SQLite make, as text and as types: expected-schema.sql shows what a migration changes,
 * and the types check the columns of every inserted row. Applies the migrations to an empty database in memory.
 */
import { join } from 'node:path';
import { readMigrations } from '../../src/store/shared/migrations.ts';
import { type Connection, openConnection } from '../../src/store/sqlite/engine/connection.ts';
import { migrate } from '../../src/store/sqlite/engine/migrate.ts';
import { formatted } from './formatted.ts';

const SQLITE = join(import.meta.dirname, '..', '..', 'src', 'store', 'sqlite');
export const EXPECTED_SCHEMA = join(SQLITE, 'expected-schema.sql');
export const TABLES = join(SQLITE, '..', 'shared', 'tables.ts');

/** File → whole text. */
export function schemaFiles(): ReadonlyMap<string, string> {
  const db = openConnection(':memory:', { readOnly: false, busyMs: 0 });
  try {
    migrate(db, readMigrations('sqlite'));
    return new Map([
      [EXPECTED_SCHEMA, schemaText(db)],
      [TABLES, formatted(TABLES, tablesText(db))],
    ]);
  } finally {
    db.close();
  }
}

/** Tables, columns, indexes as text, comments left out. */
export function schemaText(db: Connection): string {
  const rows = db.all<{ sql: string }>(
    `SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type, name`,
  );
  return `${rows.map((row) => `${row.sql.replace(/\s+/g, ' ')};`).join('\n')}\n`;
}

function tablesText(db: Connection): string {
  const columns = db.all<{ table_name: string; column_name: string }>(
    `SELECT t.name AS table_name, c.name AS column_name FROM sqlite_schema t, pragma_table_xinfo(t.name) c
     WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' AND c.hidden = 0 ORDER BY t.name, c.cid`,
  );
  const tables = Map.groupBy(columns, ({ table_name }) => table_name);
  const members = [...tables].map(
    ([name, own]) => `  ${name}: ${own.map(({ column_name }) => `'${column_name}'`).join(' | ')};`,
  );
  return `/** The columns of every table. Written by docs/generate.ts from the migrations: run \`npm run docs\` after a new one. */
export interface Tables {
${members.join('\n')}
}
`;
}
