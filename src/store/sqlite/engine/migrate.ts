/**
 * Migrates a database file to the schema of this program: applies the missing numbered changes (`store/shared/migrations.ts`), each in
 * one transaction together with its number, so that an interrupted migration continues. Refuses files of a newer
 * version, of other programs, and damaged ones, and leaves them unchanged.
 */
import type { Migration } from '../../shared/migrations.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import type { Connection } from './connection.ts';

/** Applies what is missing; returns the version reached. Throws StoreRefused for a file that must not be changed. */
export function migrate(db: Connection, migrations: readonly Migration[]): number {
  let version = schemaVersion(db);
  const newest = migrations.at(-1)?.version ?? 0;
  if (version > newest) {
    throw new StoreRefused(
      'newer-schema',
      `The database was made by a newer postrider: its schema is number ${version}, this program knows up to ${newest}; run the newer program, or go back with its \`rollback\` command or with a backup from before the upgrade.`,
    );
  }
  for (const migration of migrations) {
    if (migration.version <= version) continue;
    db.exec('BEGIN IMMEDIATE');
    try {
      db.exec(migration.sql);
      db.run(
        `INSERT INTO meta (name, value) VALUES ('schema_version', ?)
         ON CONFLICT DO UPDATE SET value = excluded.value`,
        migration.version,
      );
      db.exec('COMMIT');
    } catch (error) {
      if (db.inTransaction()) db.exec('ROLLBACK');
      throw error;
    }
    version = migration.version;
  }
  return version;
}

/** Number of the last applied migration, 0 for an empty file. Throws StoreRefused for a file of another program. */
export function schemaVersion(db: Connection): number {
  const tables = db
    .all<{ name: string }>("SELECT name FROM sqlite_schema WHERE type = 'table'")
    .map((row) => row.name);
  if (tables.length === 0) return 0;
  const row = tables.includes('meta')
    ? db.get<{ value: unknown }>("SELECT value FROM meta WHERE name = 'schema_version'")
    : undefined;
  if (typeof row?.value !== 'number') {
    throw new StoreRefused('foreign', 'The file is a database, but not one of postrider.');
  }
  return row.value;
}
