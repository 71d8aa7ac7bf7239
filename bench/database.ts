// The databases that ours is measured on: `sqlite` (in the folder of each run), and PostgreSQL: a server of Debian's that
// is started here, with settings as a small one has them, or the one of a URL. Each run gets an empty database.
import { join } from 'node:path';
import { openLink } from '../src/store/postgres/engine/connections.ts';
import { createStatements } from '../src/store/postgres/engine/db.ts';
import { startCluster } from '../src/store/postgres/test-cluster.ts';

/** What a server is measured on. */
export interface BenchDatabase {
  readonly name: string;
  /** Process ids whose trees are the database server; undefined = there is none, or it runs elsewhere. */
  readonly roots: readonly number[] | undefined;
  /** The configuration's `database` for a run in this folder; `remove` deletes what it made. */
  open(folder: string): Promise<{ url: string; remove(): Promise<void> }>;
  stop(): Promise<void>;
}

const SETTINGS = {
  autovacuum: 'on',
  max_wal_size: '4GB',
  shared_buffers: '512MB',
  wal_compression: 'lz4',
};

/** Opens those named: `sqlite`, `postgres`, `postgres://…`. `preload`: the library that slows fsync down. */
export async function openDatabases(
  names: readonly string[],
  { baseDir, preload }: { baseDir: string; preload: string | undefined },
): Promise<BenchDatabase[]> {
  const opened: BenchDatabase[] = [];
  for (const name of names) {
    if (name === 'sqlite') opened.push(sqlite());
    else if (name !== 'postgres') opened.push(postgres(name, undefined, async () => undefined));
    else {
      const slowed = preload === undefined ? {} : { preload };
      const server = await startCluster({ parent: baseDir, settings: SETTINGS, ...slowed });
      opened.push(postgres(server.url, [server.pid()], server.remove));
    }
  }
  return opened;
}

function sqlite(): BenchDatabase {
  return {
    name: 'SQLite',
    roots: undefined,
    open: async (folder) => ({
      url: `sqlite:${join(folder, 'postrider.db')}`,
      remove: async () => undefined,
    }),
    stop: async () => undefined,
  };
}

function postgres(
  server: string,
  roots: readonly number[] | undefined,
  stop: () => Promise<void>,
): BenchDatabase {
  let made = 0;
  const run = async (sql: string): Promise<void> => {
    const link = await openLink(server, createStatements(), 'cold');
    await link.exec(sql).finally(link.end);
  };
  return {
    name: 'PostgreSQL',
    roots,
    async open() {
      made += 1;
      const name = `postrider_bench_${process.pid}_${made}`;
      await run(`CREATE DATABASE ${name} ENCODING 'UTF8' TEMPLATE template0`);
      return {
        url: server.replace(/\/[^/?]*(\?|$)/, `/${name}$1`),
        remove: () => run(`DROP DATABASE ${name} WITH (FORCE)`),
      };
    },
    stop,
  };
}
