/**
 * PostgreSQL servers for tests, from the programs of this machine: each a cluster in its own folder with a socket
 * there, and a loopback port if requested. `initdb` and the server refuse to run as root, so root runs them as
 * `nobody`.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const PROGRAMS = '/usr/lib/postgresql';
export const OLDEST = 15;

export interface TestCluster {
  /** URL of the database `postgres`, through the socket, as the owner of the server. */
  url: string;
  /** Files that the server reads, as its user. */
  folder: string;
  /** Of the server; its connections are processes below it. */
  pid(): number;
  /** `fast` ends connections in order, `immediate` as a failing machine does. */
  stop(how?: 'fast' | 'immediate'): Promise<void>;
  /** With more settings than before. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** A stopped server that has become a standby without a primary. */
  becomeStandby(): void;
  /** A standby takes over. */
  promote(): Promise<void>;
  remove(): Promise<void>;
}

export interface ClusterOptions {
  /** Streams from this one, as its standby. */
  standbyOf?: TestCluster;
  /** Where its folder is made, instead of in the one for temporary files. */
  parent?: string;
  /** A library that the server loads first. */
  preload?: string;
  /** Of `postgresql.conf`. */
  settings?: Readonly<Record<string, string>>;
  /** A loopback port on which logins need a password, and the owner's password. */
  login?: { port: number; password: string };
  /** The role that may do everything; `postrider` if left out. */
  owner?: string;
  /** Files to put into its folder, by name: certificate, key. */
  files?: Readonly<Record<string, string>>;
}

/** The folder of the newest programs, or null. */
export function newestPrograms(): string | null {
  if (!existsSync(PROGRAMS)) return null;
  const [newest] = readdirSync(PROGRAMS)
    .filter((version) => Number(version) >= OLDEST && existsSync(join(PROGRAMS, version, 'bin', 'initdb')))
    .sort((a, b) => Number(b) - Number(a));
  return newest === undefined ? null : join(PROGRAMS, newest, 'bin');
}

/** Makes a cluster and starts it. */
export async function startCluster(options: ClusterOptions = {}): Promise<TestCluster> {
  const programs = newestPrograms();
  if (programs === null) throw new Error(`There is no PostgreSQL ${OLDEST} or newer in ${PROGRAMS}`);
  const folder = mkdtempSync(join(options.parent ?? tmpdir(), 'postrider-pg-'));
  const user = process.getuid?.() === 0 ? await unprivileged() : null;
  const own = (path: string): void => {
    if (user !== null) chownSync(path, user.uid, user.gid);
  };
  own(folder);
  const write = (name: string, text: string): void => {
    const path = join(folder, name);
    writeFileSync(path, text, { mode: 0o600 });
    own(path);
  };
  const data = join(folder, 'data');
  const asUser = { ...user, cwd: folder, env: { PATH: process.env.PATH ?? '', LANG: 'C.UTF-8' } };
  const { login, owner = 'postrider' } = options;
  write('password', `${login?.password ?? 'unused'}\n`);
  if (options.standbyOf === undefined) {
    await run(
      join(programs, 'initdb'),
      [
        ...['-D', data, '-U', owner, '-E', 'UTF8', '--locale=C.UTF-8', '--no-sync'],
        ...['--auth-local=trust', '--auth-host=scram-sha-256', `--pwfile=${join(folder, 'password')}`],
      ],
      asUser,
    );
  } else {
    const from = ['-h', options.standbyOf.folder, '-U', 'postrider'];
    const how = ['-D', data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync'];
    await run(join(programs, 'pg_basebackup'), [...from, ...how], asUser);
  }
  for (const [name, text] of Object.entries(options.files ?? {})) write(name, text);
  let settings: Readonly<Record<string, string>> = {
    listen_addresses: login === undefined ? '' : '127.0.0.1',
    ...(login === undefined ? {} : { port: String(login.port) }),
    unix_socket_directories: folder,
    // A file of scenarios may start thirty servers with a dozen connections each.
    max_connections: '600',
    shared_buffers: '64MB',
    log_min_messages: 'panic',
    // Tests examine the plans of tables without statistics.
    autovacuum: 'off',
    ...options.settings,
  };
  let server: ChildProcess | null = null;

  async function start(more: Readonly<Record<string, string>> = {}): Promise<void> {
    settings = { ...settings, ...more };
    const args = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    server = spawn(join(programs ?? '', 'postgres'), ['-D', data, ...args], {
      ...asUser,
      env: { ...asUser.env, ...(options.preload === undefined ? {} : { LD_PRELOAD: options.preload }) },
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    const port = login === undefined ? [] : ['-p', String(login.port)];
    await isReady(join(programs ?? '', 'pg_isready'), ['-h', folder, ...port], asUser);
  }

  async function stop(how: 'fast' | 'immediate' = 'fast'): Promise<void> {
    const running = server;
    server = null;
    if (running === null || running.exitCode !== null) return;
    const ended = new Promise<void>((resolve) => running.once('exit', () => resolve()));
    running.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  await start();
  const port = login === undefined ? '' : `:${login.port}`;
  return {
    url: `postgres://${owner}@${port}/postgres?host=${encodeURIComponent(folder)}`,
    folder,
    pid: () => server?.pid ?? -1,
    stop,
    start,
    becomeStandby() {
      const path = join(data, 'standby.signal');
      writeFileSync(path, '');
      own(path);
    },
    async promote() {
      await run(join(programs, 'pg_ctl'), ['promote', '-w', '-D', data], asUser);
    },
    async remove() {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The ids of the user `nobody`. */
async function unprivileged(): Promise<{ uid: number; gid: number }> {
  const id = async (flag: string) => Number((await run('id', [flag, 'nobody'])).stdout);
  return { uid: await id('-u'), gid: await id('-g') };
}

async function isReady(program: string, where: readonly string[], options: object): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await run(program, [...where, '-U', 'postrider', '-d', 'postgres', '-t', '10'], options);
      return;
    } catch (error) {
      if (tries === 200) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}
