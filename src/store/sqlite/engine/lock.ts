/**
 * Which processes may have a database open. The lock is a transaction on a separate file beside the database, held as
 * long as the store is open: it ends with the process in any case, and leaves the database itself free for other
 * threads and processes. The empty file stays.
 *
 * A process that wants the database for itself holds the lock exclusively. Sharing processes hold it together; the
 * first of them holds it exclusively until it has migrated the schema, so that no process works on a schema that
 * changes.
 */
import { accessSync, closeSync, constants, existsSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Clock, keepProcess, sleep } from '../../../lib/clock.ts';
import { whyNot } from '../../../lib/why-not.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import { sqliteCode, unavailableReason } from './sqlite-errors.ts';

const BUSY = 5;
const READ_ONLY = 8;
const FULL = 13;

const MAKE_ROOM = 'make room there, then try again';
const CANNOT_OPEN = 14;
/** The longest time that migrating may take. */
const UPGRADE_MS = 5_000;
const RETRY_MS = 20;

export interface StoreLock {
  /** No other process has the database open, now or until `share`. */
  readonly alone: boolean;
  /** From now on other sharing processes may join. Only after `joinLock`. */
  share(): Promise<void>;
  release(): void;
}

/** Takes the lock of `path` exclusively, or throws StoreRefused. */
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

  /** Waiting must not block this process: in tests, the process that is waited for is the same one. */
  async function again(endMs: number): Promise<void> {
    // At the start of a program there is nothing else that keeps it alive.
    if (clock.monotonicMs() < endMs) return sleep(clock, RETRY_MS).finally(keepProcess());
    throw new StoreRefused(
      'locked',
      `${path} is in use by another postrider that does not share it. Stop that one, or start it with shared-store too.`,
    );
  }
}

/** null if another process has it. */
function tryExclusive(path: string): DatabaseSync | null {
  return open(path, (db) => db.exec('BEGIN EXCLUSIVE'));
}

/**
 * Changes the lock in one step from exclusive to shared: if nobody had it in between, another process could change the
 * schema.
 */
function openToOthers(db: DatabaseSync): Iterator<unknown> {
  // A commit keeps the shared lock while a read of the same connection is unfinished.
  const unfinished = db.prepare('SELECT count(*) FROM sqlite_schema UNION ALL SELECT 0').iterate();
  unfinished.next();
  db.exec('COMMIT');
  return unfinished;
}

/** null if another process has it exclusively. */
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
    makePrivate(file);
    db = new DatabaseSync(file, { timeout: 0 });
    take(db);
    return db;
  } catch (error) {
    db?.close();
    if (sqliteCode(error) === BUSY) return null;
    if (error instanceof StoreRefused) throw error;
    // SQLite says neither which file, nor why; of a folder that nothing can be made in, that the database is read-only.
    const code = sqliteCode(error);
    if (code === CANNOT_OPEN || code === READ_ONLY) makePrivate(`${file}-journal`);
    const why =
      code === FULL
        ? `the disk is full (df -h, df -i); ${MAKE_ROOM}`
        : (unavailableReason(error) ?? whyNot(error));
    throw new StoreRefused('inaccessible', `${file} cannot be locked: ${why}`, { cause: error });
  }
}

/** Creates the file readable only by its owner; SQLite would let others read it, and gives its other files the same mode. Throws StoreRefused. */
export function makePrivate(path: string): void {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw notOpened(path, error);
  }
}

/**
 * Of a journal that another user left, SQLite names not even the file. Throws StoreRefused. It is not opened: closing it would
 * end the locks that this process has on it.
 */
export function refuseForeign(path: string): void {
  try {
    if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  } catch (error) {
    throw notOpened(path, error);
  }
}

function notOpened(path: string, error: unknown): StoreRefused {
  const { code } = error as NodeJS.ErrnoException;
  const folder = dirname(path);
  const fix =
    code === 'ENOENT'
      ? `make the folder ${folder}, owned by the user that runs postrider`
      : code === 'EROFS'
        ? 'mount it read-write (ReadWritePaths= in a systemd unit), or choose another folder with --data'
        : code === 'EIO'
          ? 'see the log of the system (journalctl -k)'
          : code === 'ENOSPC' || code === 'EDQUOT'
            ? MAKE_ROOM
            : `give ${existsSync(path) ? 'it' : `the folder ${folder}`} to the user that runs postrider (chown), run as the user that owns it, or choose another folder with --data`;
  return new StoreRefused('inaccessible', `${path} cannot be opened: ${whyNot(error)}; ${fix}`, {
    cause: error,
  });
}
