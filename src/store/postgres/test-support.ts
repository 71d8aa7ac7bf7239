/**
 * Shared by the tests of this engine: each process that runs tests has its own database, which is emptied before each use,
 * and opens stores on it.
 */
import { describe, inject } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { openedBy } from '../conformance/fixtures.ts';
import { readMigrations } from '../shared/migrations.ts';
import { type Link, openLink } from './engine/connections.ts';
import { createStatements, type Db } from './engine/db.ts';
import { keepEras } from './engine/eras.ts';
import { migrate } from './engine/migrate.ts';
import { openPostgresStore } from './open.ts';

/** `describe`, or its `skip` where there is no server (test-server.ts has said so). */
export function describePostgres(name: string, tests: () => void): void {
  const server = inject('postgres');
  if ('url' in server) describe(name, tests);
  else describe.skip(`${name} (${server.missing})`, tests);
}

export interface TestDatabase {
  url: string;
  use<Result>(work: (db: Db) => Promise<Result>): Promise<Result>;
  link: Link;
  /** Deletes all rows; numbers begin again. */
  empty(): Promise<void>;
  close(): Promise<void>;
}

/**
 * The database of this process, with the current schema and without rows. One with a name is made anew, without what an
 * earlier run has left on a server that stays up, such as dead rows in its indexes.
 */
export async function testDatabase(name?: string): Promise<TestDatabase> {
  const url = await makeDatabase(
    `postrider_test_${process.env.VITEST_POOL_ID ?? '0'}_${name ?? 'store'}`,
    name !== undefined,
  );
  const link = await openLink(url, createStatements(), 'cold');
  await migrate(link, { migrations: readMigrations('postgres'), clock: systemClock });
  await keepEras(link, systemClock);
  const empty = () => link.exec(EMPTY).then(() => undefined);
  await empty();
  return { url, link, use: (work) => work(link.db), empty, close: () => link.end() };
}

/** Creates an empty database of this name where there is none, or `anew`; its URL. */
async function makeDatabase(name: string, anew: boolean): Promise<string> {
  const server = inject('postgres');
  if ('missing' in server) throw new Error(server.missing);
  const admin = await openLink(server.url, createStatements(), 'cold');
  try {
    if (anew) await admin.exec(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    const sql = 'SELECT 1 AS one FROM pg_database WHERE datname = $1';
    if ((await admin.db.get(sql, name)) === undefined) {
      await admin.exec(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
    }
  } finally {
    await admin.end();
  }
  // Replaced as text: `URL` cannot parse an address without a host, as that of a Unix socket is.
  return server.url.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
}

const EMPTY = `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = current_schema()::regnamespace
    AND c.relkind = 'r' AND c.relname NOT IN ('migration', 'era') LOOP EXECUTE format('DELETE FROM %I', one.name); END LOOP;
  FOR one IN SELECT s.sequencename AS name FROM pg_sequences s WHERE s.schemaname = current_schema()
    AND s.last_value IS NOT NULL LOOP PERFORM setval(one.name::regclass, 1, false); END LOOP;
END $$`;

/** An empty store, for the conformance suite. */
export async function openedStore(database: TestDatabase) {
  await database.empty();
  return openedBy(() => openPostgresStore({ url: database.url, clock: systemClock }));
}
