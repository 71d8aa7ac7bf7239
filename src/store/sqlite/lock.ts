/**
 * Keeps a second process away from the same database. The lock is an exclusive transaction on a file of its own
 * beside the database, held as long as this store is open: it ends with the process, however that ends, and leaves
 * the database itself free for reader threads. The file stays behind, empty.
 */
import { DatabaseSync } from 'node:sqlite';
import { StoreRefused } from './refusal.ts';
import { sqliteCode } from './sqlite-errors.ts';

const BUSY = 5;

/** Takes the lock of `path` or throws StoreRefused; the answer releases it. */
export function takeLock(path: string): { release(): void } {
  const file = `${path}-lock`;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    db.exec('BEGIN EXCLUSIVE');
  } catch (error) {
    db?.close();
    if (sqliteCode(error) === BUSY) {
      throw new StoreRefused('locked', `${path} is in use by another postrider. Stop that one first.`, {
        cause: error,
      });
    }
    throw new StoreRefused('inaccessible', `${file} cannot be locked: ${String(error)}`, { cause: error });
  }
  const held = db;
  return { release: () => held.close() };
}
