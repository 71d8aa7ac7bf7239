/**
 * Opens one end of a transfer from what the operator writes for a database: `sqlite:PATH` or the URL of a PostgreSQL
 * database.
 */
import { resolve } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { isPostgresUrl, readPostgresUrl } from '../lib/postgres-url.ts';
import { type End, type Role, TransferError } from './end.ts';
import { isNewPostgres, openPostgresEnd } from './postgres-end.ts';
import { isNewSqlite, openSqliteEnd } from './sqlite-end.ts';

const SQLITE = 'sqlite:';

/**
 * Throws TransferError for a text that names no database, and StoreRefused for a database that cannot be used now.
 */
export function openEnd(database: string, role: Role, clock: Clock): Promise<End> {
  if (isPostgresUrl(database)) return openPostgresEnd(database, role, clock);
  return openSqliteEnd(resolve(database.slice(SQLITE.length)), role);
}

/**
 * Whether the database is empty or missing, so that a transfer creates its tables. Throws as `openEnd` does for a
 * target; changes nothing.
 */
export async function isNewDatabase(database: string): Promise<boolean> {
  if (isPostgresUrl(database)) return isNewPostgres(database);
  return isNewSqlite(resolve(database.slice(SQLITE.length)));
}

/** Throws TransferError unless the text names a database. */
export function requireDatabase(flag: '--from' | '--to', database: string): void {
  const read = isPostgresUrl(database) ? readPostgresUrl(database) : null;
  if (read?.ok === false) throw new TransferError(`${flag}: ${read.fix}`);
  if (read === null && (!database.startsWith(SQLITE) || database === SQLITE))
    throw new TransferError(`${flag}: give sqlite:PATH or postgres://user@host/name`);
}

/** Throws TransferError unless both are databases, and of different engines. */
export function requireTwoEngines(from: string, to: string): void {
  requireDatabase('--from', from);
  requireDatabase('--to', to);
  if (isPostgresUrl(from) === isPostgresUrl(to))
    throw new TransferError(
      isPostgresUrl(from)
        ? 'both are PostgreSQL: copy one by pg_dump and psql; a transfer changes the engine'
        : 'both are SQLite: copy one by postrider backup and restore; a transfer changes the engine',
    );
}
