/**
 * The engine that scenarios run on: SQLite in each data folder, or where the run has a server of PostgreSQL (`npm run
 * test:postgres`) a database of its own for each folder, so that a second server on a folder finds what the first one left.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { inject } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { openPostgresStore } from '../../src/store/postgres/open.ts';
import { newestPrograms } from '../../src/store/postgres/test-cluster.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { Store } from '../../src/store/store.ts';

const known = new Set<string>();

/** Whether this run is on PostgreSQL. */
export function isOnPostgres(): boolean {
  return serverOf() !== undefined;
}

/** The value of `database` for a data folder, made at its first use; undefined: the default. */
export function databaseOf(folder: string): string | undefined {
  const server = serverOf();
  if (server === undefined) return undefined;
  const name = nameOf(folder);
  if (!known.has(name)) {
    run('createdb', ['--maintenance-db', server, '-E', 'UTF8', '-T', 'template0', name]);
    known.add(name);
  }
  return server.replace(/\/[^/?]*(\?|$)/, `/${name}$1`);
}

/** The store of a data folder, while no server has it open. */
export function openStoreOf(folder: string): Promise<Store> {
  const url = databaseOf(folder);
  return url === undefined
    ? openSqliteStore({ path: join(folder, 'postrider.db'), clock: systemClock, threads: 0 })
    : openPostgresStore({ url, clock: systemClock });
}

/** Removes it with the folder. */
export function dropDatabaseOf(folder: string): void {
  const server = serverOf();
  if (server !== undefined && known.delete(nameOf(folder)))
    run('dropdb', ['--maintenance-db', server, '--force', nameOf(folder)]);
}

/** Undefined in runs on SQLite, where nothing was provided. */
function serverOf(): string | undefined {
  // The scripts that take pictures start servers without the test runner.
  if (process.env.VITEST === undefined) return undefined;
  const server: { url: string } | { missing: string } | undefined = inject('postgres');
  if (server !== undefined && 'missing' in server) throw new Error(server.missing);
  return server?.url;
}

function nameOf(folder: string): string {
  return `scenario_${createHash('sha256').update(folder).digest('hex').slice(0, 16)}`;
}

function run(program: string, args: readonly string[]): void {
  execFileSync(join(newestPrograms() ?? '', program), args, { stdio: ['ignore', 'ignore', 'inherit'] });
}
