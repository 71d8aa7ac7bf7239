/**
 * The database of a simulated node: real SQLite on one connection in this thread, so that it answers at once and the
 * virtual clock does not move. Takes a path for a new file, or an open connection.
 */
import type { Clock } from '../lib/clock.ts';
import type { Connection } from '../store/sqlite/engine/connection.ts';
import { openDatabase } from '../store/sqlite/engine/open-database.ts';
import type { FailStoreWrites } from '../store/sqlite/engine/protocol.ts';
import { openSqliteStore } from '../store/sqlite/open.ts';
import type { Store } from '../store/store.ts';

/** A new database that need not survive a crash: nothing waits for the disk. */
export function openPassingDatabase(path: string): Connection {
  const db = openDatabase(path);
  db.exec('PRAGMA synchronous = OFF');
  return db;
}

/**
 * A store on an open connection. Several may follow one another on it, as processes do on a file; `shared`: several at a
 * time.
 */
export function openStoreOver(
  connection: Connection,
  clock: Clock,
  failStoreWrites: FailStoreWrites | null = null,
  shared = false,
): Promise<Store> {
  return openSqliteStore({ path: ':memory:', clock, threads: 0, connection, failStoreWrites, shared });
}
