/**
 * Which engine the store has, and what follows from it: `database` of the configuration in, an open Store out. Nothing
 * else knows whether that is SQLite or PostgreSQL.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { databaseFile } from './config/database-file.ts';
import type { Config } from './config/table.ts';
import type { Clock } from './lib/clock.ts';
import { DATA_FILES } from './lib/data-files.ts';
import type { Failpoints } from './lib/failpoints.ts';
import { isPostgresUrl } from './lib/postgres-url.ts';
import { openPostgresStore } from './store/postgres/open.ts';
import { StoreRefused } from './store/shared/refusal.ts';
import { removeOldCopies } from './store/sqlite/before-migration.ts';
import { otherDatabase } from './store/sqlite/copy.ts';
import { takeLock } from './store/sqlite/engine/lock.ts';
import { openSqliteStore } from './store/sqlite/open.ts';
import type { Store } from './store/store.ts';

type Keys = Pick<Config, 'data' | 'database' | 'shared-store'>;

export interface Database {
  store: Store;
  /** Folder whose disk fills as mail is accepted. */
  folder: string;
  /** Removes copies from before upgrades that are too old to go back to. */
  removeOldCopies(): Promise<void>;
  close(): Promise<void>;
}

interface Dependencies {
  clock: Clock;
  failpoints: Failpoints;
  /** The store can do nothing any more, and the process must be started again. */
  onLost(reason: string): void;
  onCommit(durationMs: number): void;
  /** SQLite without threads: for a command, and for tests on a virtual clock. */
  storeThreads?: 0 | undefined;
  log(
    level: 'info' | 'warn' | 'error',
    message: string,
    fields: Readonly<Record<string, string | number | boolean>>,
  ): void;
}

/** Whether several processes may work on the database. */
export function isShared(config: Keys): boolean {
  return config['shared-store'] || isPostgresUrl(config.database);
}

/**
 * Opens the database. Where others may work on it too, the data folder is this process's alone: its name identifies the
 * node. Throws StoreRefused, StoreUnavailable.
 */
export async function openDatabase(deps: Dependencies, config: Keys): Promise<Database> {
  const { clock } = deps;
  const file = databaseFile(config);
  if (file !== null) {
    const other = otherDatabase(file, config.data);
    if (other !== null) throw new StoreRefused('inaccessible', other);
    refuseLost(file, config.data);
  }
  const folderLock = isShared(config) ? takeLock(join(config.data, 'node')) : null;
  try {
    const store = await (file === null
      ? openPostgresStore({
          ...{ url: config.database, clock, placeFile: join(config.data, DATA_FILES.place) },
          ...{ onLost: deps.onLost, onCommit: deps.onCommit, log: deps.log },
        })
      : openSqliteStore({
          ...{ path: file, shared: config['shared-store'], clock },
          ...{ onLost: deps.onLost, onCommit: deps.onCommit, log: deps.log },
          failStoreWrites: deps.failpoints.failStoreWrites,
          ...(deps.storeThreads === undefined ? {} : { threads: deps.storeThreads }),
        }));
    let closing: Promise<void> | null = null;
    return {
      store,
      folder: file === null ? config.data : dirname(file),
      removeOldCopies: async () => {
        if (file !== null) await removeOldCopies(file, clock.now());
      },
      close() {
        closing ??= store.close().then(() => folderLock?.release());
        return closing;
      },
    };
  } catch (cause) {
    folderLock?.release();
    throw cause;
  }
}

/**
 * The administrator's token is made in a database. Where only the token is left, a server on a new database would lack all
 * that waits, and refuse its clients for good, who would otherwise try again.
 */
function refuseLost(file: string, folder: string): void {
  const token = join(folder, DATA_FILES.adminToken);
  const isEmpty = !existsSync(file) || statSync(file).size === 0;
  if (!isEmpty || !existsSync(token)) return;
  throw new StoreRefused(
    'inaccessible',
    `${file} is missing or empty, but ${token} was made with a database. Put that one back: mount its disk, correct the key database, or restore a backup into a new folder. To begin with an empty database, delete ${token}.`,
  );
}
