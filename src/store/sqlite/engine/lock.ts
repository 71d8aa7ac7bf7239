/**
 * Says who may have a database open. The lock is a transaction on a file of its own beside the database, held as long as
 * the store is open: it ends with the process, however that ends, and leaves the database itself free for other threads
 * and processes. The file stays behind, empty.
 *
 * Whoever wants the database for itself holds the lock exclusively. Those that share it hold it together; the one that
 * finds nobody there holds it exclusively until it has brought the schema up to date, so that no process ever works on a
 * schema that changes under it.
 */
import { DatabaseSync } from 'node:sqlite';
import { type Clock, keepProcess, sleep } from '../../../lib/clock.ts';
import { StoreRefused } from './refusal.ts';
import { sqliteCode } from './sqlite-errors.ts';

const BUSY = 5;
/** How long somebody may take to bring the schema up to date. */
const UPGRADE_MS = 5_000;
const RETRY_MS = 20;

export interface StoreLock {
  /** Nobody else has the database open, now or until `share`. */
  readonly alone: boolean;
  /** From now on others that share may join. Only after `joinLock`. */
  share(): Promise<void>;
  release(): void;
}

/** Takes the lock of `path` for oneself or throws StoreRefused. */
export function takeLock(path: string): StoreLock {
  const held = tryExclusive(path);
  if (held === null) {
    throw new StoreRefused('locked', `${path} is in use by another postrider. Stop that one first.`);
  }
  return { alone: true, async share() {}, release: () => held.close() };
}

/** Takes the lock of `path` together with others that share it; rejects with StoreRefused. */
export async function joinLock(path: string, clock: Clock): Promise<StoreLock> {
  const untilMs = clock.monotonicMs() + UPGRADE_MS;
  for (;;) {
    const exclusive = tryExclusive(path);
    const held = exclusive ?? tryShared(path);
    if (held !== null) {
      let unfinished: Iterator<unknown> | null = null;
      return {
        alone: exclusive !== null,
        async share() {
          if (exclusive !== null) unfinished = openToOthers(exclusive);
        },
        release() {
          unfinished?.return?.();
          held.close();
        },
      };
    }
    await again(untilMs);
  }

  /** Waiting does not stop this process: the one that is waited for may be in it, under test. */
  async function again(endMs: number): Promise<void> {
    // At the start of a program there is nothing else yet that it would live for.
    if (clock.monotonicMs() < endMs) return sleep(clock, RETRY_MS).finally(keepProcess());
    throw new StoreRefused(
      'locked',
      `${path} is in use by another postrider that does not share it. Stop that one, or start it with shared-store too.`,
    );
  }
}

/** null where somebody holds it. */
function tryExclusive(path: string): DatabaseSync | null {
  return open(path, (db) => db.exec('BEGIN EXCLUSIVE'));
}

/** The lock in one step from exclusive to shared: while nobody held it another process could change the schema. */
function openToOthers(db: DatabaseSync): Iterator<unknown> {
  // A commit keeps the shared lock while a read of the same connection has not come to its end.
  const unfinished = db.prepare('SELECT count(*) FROM sqlite_schema UNION ALL SELECT 0').iterate();
  unfinished.next();
  db.exec('COMMIT');
  return unfinished;
}

/** null where somebody holds it exclusively. */
function tryShared(path: string): DatabaseSync | null {
  // A read inside a transaction keeps SQLite's shared lock until the transaction ends.
  return open(path, (db) => {
    db.exec('BEGIN');
    db.prepare('SELECT count(*) FROM sqlite_schema').get();
  });
}

function open(path: string, take: (db: DatabaseSync) => void): DatabaseSync | null {
  const file = `${path}-lock`;
  let db: DatabaseSync | undefined;
  try {
    db = new DatabaseSync(file, { timeout: 0 });
    take(db);
    return db;
  } catch (error) {
    db?.close();
    if (sqliteCode(error) === BUSY) return null;
    throw new StoreRefused('inaccessible', `${file} cannot be locked: ${String(error)}`, { cause: error });
  }
}
