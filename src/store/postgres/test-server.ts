/**
 * The PostgreSQL of the tests: the one that POSTRIDER_TEST_DATABASE names (a URL whose role may create databases), or one
 * from the programs of this machine, started once for all test files and removed behind them. Where there is neither, the
 * tests of this engine are skipped, which is said; in CI (CI=true) that is an error.
 */
import { execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { TestProject } from 'vitest/node';

declare module 'vitest' {
  interface ProvidedContext {
    /** URL of a database of the server, or why there is none. */
    postgres: { url: string } | { missing: string };
  }
}

const run = promisify(execFile);
const PROGRAMS = '/usr/lib/postgresql';
const OLDEST = 15;

/** For vitest: starts the server, and gives what stops it. */
export async function setup(project: TestProject): Promise<(() => Promise<void>) | undefined> {
  const given = process.env.POSTRIDER_TEST_DATABASE;
  if (given !== undefined && given !== '') {
    project.provide('postgres', { url: given });
    return undefined;
  }
  const programs = newestPrograms();
  if (programs === null) {
    const missing = `PostgreSQL ${OLDEST} or newer is not installed in ${PROGRAMS}, and POSTRIDER_TEST_DATABASE is not set`;
    if (process.env.CI === 'true') throw new Error(missing);
    process.stderr.write(`SKIPPED: all tests of the PostgreSQL engine, because ${missing}.\n`);
    project.provide('postgres', { missing });
    return undefined;
  }
  const server = await startCluster(programs);
  project.provide('postgres', { url: server.url });
  return server.stop;
}

/** The folder of the newest programs, or null. */
function newestPrograms(): string | null {
  if (!existsSync(PROGRAMS)) return null;
  const [newest] = readdirSync(PROGRAMS)
    .filter((version) => Number(version) >= OLDEST && existsSync(join(PROGRAMS, version, 'bin', 'initdb')))
    .sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? null : join(PROGRAMS, newest, 'bin');
}

/** A cluster in a folder of its own, reached only through a socket there. `initdb` refuses root. */
async function startCluster(programs: string): Promise<{ url: string; stop(): Promise<void> }> {
  const folder = mkdtempSync(join(tmpdir(), 'postrider-pg-'));
  const user = process.getuid?.() === 0 ? await unprivileged() : null;
  if (user !== null) chownSync(folder, user.uid, user.gid);
  const data = join(folder, 'data');
  const options = { ...user, cwd: folder, env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8' } };
  await run(
    join(programs, 'initdb'),
    ['-D', data, '-U', 'postrider', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
    options,
  );
  const settings = {
    listen_addresses: '',
    unix_socket_directories: folder,
    max_connections: '200',
    shared_buffers: '64MB',
    log_min_messages: 'panic',
    // Tests read plans of tables without statistics.
    autovacuum: 'off',
  };
  const server = spawn(
    join(programs, 'postgres'),
    ['-D', data, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])],
    { ...options, stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const ended = new Promise<void>((resolve) => server.once('exit', () => resolve()));
  const url = `postgres://postrider@/postgres?host=${encodeURIComponent(folder)}`;
  await isReady(join(programs, 'pg_isready'), folder, options);
  return {
    url,
    async stop() {
      server.kill('SIGINT');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The ids of the user `nobody`. */
async function unprivileged(): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

async function isReady(program: string, folder: string, options: object): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await run(program, ['-h', folder, '-U', 'postrider', '-d', 'postgres', '-t', '10'], options);
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
