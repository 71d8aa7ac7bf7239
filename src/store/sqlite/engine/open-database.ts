/**
 * Opens the database file for writing: checks that it is complete and ours, configures the journal, migrates it. A
 * missing file is created only if no journal shows that there was one; a damaged file is never replaced.
 */
import { existsSync, statSync } from 'node:fs';
import { type Migration, readMigrations } from '../../shared/migrations.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import { type Connection, openConnection } from './connection.ts';
import { migrate, schemaVersion } from './migrate.ts';
import type { Sharing } from './protocol.ts';
import { isCorruption, unavailableReason } from './sqlite-errors.ts';

/** A full check of a larger file would delay the start too much; then only the schema is read. */
const CHECK_UP_TO_BYTES = 128 * 1024 * 1024;

// A batch has at most 4 MiB of content, so with 8 MiB of cache it is never written out early. 16 MiB were not faster
// and stayed in memory, filled with contents that nobody reads again. The log is copied into the database at 32 MiB:
// with 8 MiB, contents of 100 KB caused this every other batch.
const SETTINGS = `
  PRAGMA synchronous = FULL;
  PRAGMA cache_size = -8192;
  PRAGMA temp_store = MEMORY;
  PRAGMA secure_delete = FAST;
  PRAGMA wal_autocheckpoint = 4000;
  PRAGMA journal_size_limit = 67108864;`;

/** How long a transaction waits for one of another process. */
const OTHERS_MS = 10_000;

/** A writing connection with the current schema. Throws StoreRefused. */
export function openDatabase(path: string, sharing: Sharing = 'none'): Connection {
  refuseLostDatabase(path);
  let db: Connection | undefined;
  try {
    db = openConnection(path, { readOnly: false, busyMs: sharing === 'none' ? 2000 : OTHERS_MS });
    checkWhole(db, path);
    // Only effective in an empty file. Measured with contents of 10 KB: 8 KiB pages need a quarter less system time
    // than 4 KiB (fewer writes to the log), 16 KiB no less than 8.
    db.exec('PRAGMA page_size = 8192');
    const mode = db.get<{ journal_mode: string }>('PRAGMA journal_mode = WAL');
    if (mode?.journal_mode !== 'wal') {
      throw new StoreRefused(
        'inaccessible',
        `${path} is on a file system without shared memory (SQLite WAL).`,
      );
    }
    db.exec(SETTINGS);
    const migrations = readMigrations('sqlite');
    if (sharing === 'joined') requireCurrent(db, path, migrations);
    upgrade(db, path, migrations);
    return db;
  } catch (error) {
    db?.close();
    throw asRefusal(path, error);
  }
}

/** The schema is not changed under processes that were started with an older version. */
function requireCurrent(db: Connection, path: string, migrations: readonly Migration[]): void {
  if (schemaVersion(db) >= (migrations.at(-1)?.version ?? 0)) return;
  throw new StoreRefused(
    'locked',
    `${path} needs an upgrade, but processes of an older postrider work with it. Stop them all first, then start this one.`,
  );
}

/** Says of a change that fails what has become of the database, and how to go back. */
function upgrade(db: Connection, path: string, migrations: readonly Migration[]): void {
  const from = schemaVersion(db);
  try {
    migrate(db, migrations);
  } catch (error) {
    if (error instanceof StoreRefused) throw error;
    const why = unavailableReason(error) ?? (error instanceof Error ? error.message : String(error));
    const copy = copyBefore(path, migrations.at(-1)?.version ?? 0);
    // An earlier start may have changed it already.
    const before = existsSync(copy) ? versionIn(copy) : from;
    const way =
      schemaVersion(db) === before
        ? 'It was not changed: the former version of postrider can be started again'
        : existsSync(copy)
          ? `To go back to the former version: \`postrider rollback\`, which puts back ${copy}`
          : 'To go back to the former version, restore a backup';
    throw new StoreRefused(
      'inaccessible',
      `${path} was not upgraded, because a change of its schema failed: ${why}. Start again once that is mended. ${way}.`,
      { cause: error },
    );
  }
}

function versionIn(path: string): number {
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  try {
    return schemaVersion(db);
  } finally {
    db.close();
  }
}

/** Where the copy is that is made before a database gets the schema `to`. */
export function copyBefore(path: string, to: number): string {
  return `${path}.before-${to}`;
}

/** The meaning of a failed opening. */
function asRefusal(path: string, error: unknown): unknown {
  if (error instanceof StoreRefused) return error;
  if (isCorruption(error))
    return corrupt(path, error instanceof Error ? error.message : String(error), error);
  const reason = unavailableReason(error);
  if (reason === null) return error;
  return new StoreRefused('inaccessible', `${path} cannot be used: ${reason}.`, { cause: error });
}

function corrupt(path: string, finding: string, cause?: unknown): StoreRefused {
  return new StoreRefused(
    'corrupt',
    `${path} is damaged: ${finding}. It was not changed. If the log of the system has errors of its disk (journalctl -k), look at that first. Otherwise restore a backup, or recover what is left with sqlite3's .recover.`,
    { cause },
  );
}

/** A non-empty journal without a database means that the database was lost. */
function refuseLostDatabase(path: string): void {
  const empty = !existsSync(path) || statSync(path).size === 0;
  const wal = `${path}-wal`;
  if (empty && existsSync(wal) && statSync(wal).size > 0) {
    throw corrupt(path, `the database file is missing or empty, but its journal ${wal} is there`);
  }
}

function checkWhole(db: Connection, path: string): void {
  const size = statSync(path).size;
  if (size > CHECK_UP_TO_BYTES) {
    checkLength(db, path, size);
    return;
  }
  const found = db.get<{ quick_check: string }>('PRAGMA quick_check(1)');
  if (found !== undefined && found.quick_check !== 'ok') throw corrupt(path, found.quick_check);
}

/** Without a journal the file must have all its pages. */
function checkLength(db: Connection, path: string, size: number): void {
  const wal = `${path}-wal`;
  if (existsSync(wal) && statSync(wal).size > 0) return;
  const pages = db.get<{ page_count: number }>('PRAGMA page_count')?.page_count ?? 0;
  const bytes = db.get<{ page_size: number }>('PRAGMA page_size')?.page_size ?? 0;
  if (pages * bytes > size) throw corrupt(path, `it is cut off after ${size} of ${pages * bytes} bytes`);
}
