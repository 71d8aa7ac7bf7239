/**
 * The real server as a child process, to be killed, stopped and started again on the same data folder.
 * Given settings (environment); leaves a running process, its address and the administrator's token, and every line it
 * logged. The process is started without the launcher, so that SIGKILL ends the server and not its parent.
 * What can go wrong: it does not come up in time (its last lines are in the error), or outlives a signal.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

const ROOT = join(import.meta.dirname, '..', '..');
const PINNED = join(ROOT, 'node_modules', '.bin', 'node');
export const NODE = existsSync(PINNED) ? PINNED : process.execPath;
export const MAIN = join(ROOT, 'src', 'main.ts');
const START_MS = 30_000;

export interface LogLine {
  msg: string;
  stream?: string;
  [field: string]: unknown;
}

export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** From the signal (or the call that waited) to the end, ms. */
  tookMs: number;
}

export interface ServerProcess {
  readonly url: string;
  readonly token: string;
  readonly pid: number;
  readonly lines: readonly LogLine[];
  readonly exited: Promise<Exit>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<Exit>;
  /** SIGTERM; resolves when the process is gone, and rejects after `deadlineMs`. */
  terminate(deadlineMs?: number): Promise<Exit>;
  /** One request to the API as the administrator; throws on anything but 2xx. */
  api<T>(path: string, init?: { method?: string; body?: unknown }): Promise<T>;
  /** A plain request from the root, whatever it answers. */
  get(path: string): Promise<{ status: number; headers: Headers; text: string }>;
}

export interface Settings {
  data: string;
  /** Added to the environment of the server; its own keys win over the defaults here. */
  env?: Record<string, string>;
  /** Log lines that are kept, from the first on; all where left out. */
  mostLines?: number;
  /** A program of the tests in place of `serve`; it must say on standard error where it listens, as that does. */
  program?: string;
}

/** A new empty folder for a server's data, with its removal. */
export async function makeDataFolder(): Promise<{ path: string; remove(): Promise<void> }> {
  const path = await mkdtemp(join(tmpdir(), 'postrider-chaos-'));
  return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

/** Starts `serve` and resolves when `/healthz` answers. */
export async function startServerProcess(settings: Settings): Promise<ServerProcess> {
  const lines: LogLine[] = [];
  const errors: string[] = [];
  const program = settings.program === undefined ? [MAIN, 'serve'] : [settings.program];
  const args = ['--disable-warning=ExperimentalWarning', ...program];
  const child = spawn(NODE, args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: {
      PATH: process.env.PATH,
      NODE_ENV: 'test',
      UV_THREADPOOL_SIZE: '4',
      // Compiled once for all the tests.
      NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
      POSTRIDER_DATA: settings.data,
      POSTRIDER_HTTP: '127.0.0.1:0',
      POSTRIDER_HOSTNAME: 'sender.test',
      ...settings.env,
    },
  });
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (lines.length >= (settings.mostLines ?? Number.POSITIVE_INFINITY)) return;
    try {
      lines.push(JSON.parse(line) as LogLine);
    } catch {
      errors.push(line);
    }
  });
  const exited = new Promise<Exit>((resolve) => {
    const from = performance.now();
    child.once('exit', (code, signal) => resolve({ code, signal, tookMs: performance.now() - from }));
  });
  const url = await listening(child, errors, lines);
  const token = (await readFile(join(settings.data, 'admin-token'), 'utf8')).trim();

  const get: ServerProcess['get'] = async (path) => {
    const answer = await fetch(url + path, {
      headers: { authorization: `Bearer ${token}` },
      signal: AbortSignal.timeout(10_000),
    });
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  await until('the server answers /healthz', START_MS, async () => {
    const health = await get('/healthz').catch(() => null);
    return health?.status === 200;
  });
  // The log is buffered: what the start has to say about an earlier run stands before this line.
  await until('the server logs its start', START_MS, () => lines.some((line) => line.msg === 'started'));

  const end = async (signal: 'SIGKILL' | 'SIGTERM', deadlineMs: number): Promise<Exit> => {
    const from = performance.now();
    child.kill(signal);
    const late = AbortSignal.timeout(deadlineMs);
    if (child.exitCode === null && child.signalCode === null) {
      await once(child, 'exit', { signal: late }).catch(() => {
        throw new Error(`the server outlives ${signal} by ${deadlineMs} ms: ${tail(lines, errors)}`);
      });
    }
    const { code, signal: by } = await exited;
    return { code, signal: by, tookMs: performance.now() - from };
  };
  return {
    url,
    token,
    pid: child.pid ?? 0,
    lines,
    exited,
    kill: () => end('SIGKILL', 10_000),
    terminate: (deadlineMs = 40_000) => end('SIGTERM', deadlineMs),
    get,
    async api<T>(path: string, init: { method?: string; body?: unknown } = {}): Promise<T> {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method: init.method ?? 'GET',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
        signal: AbortSignal.timeout(20_000),
      });
      const text = await answer.text();
      if (!answer.ok) throw new Error(`${init.method ?? 'GET'} ${path}: ${answer.status} ${text}`);
      return JSON.parse(text) as T;
    },
  };
}

/** Registers example.com without DNS. */
export async function addDomain(server: ServerProcess, name = 'example.com'): Promise<void> {
  await server.api('/domains', { method: 'POST', body: { Domain: name, Verified: true } });
}

/** Value of a gauge or counter without labels; null: it is left out at the moment. */
export async function metric(server: ServerProcess, name: string): Promise<number | null> {
  const { text } = await server.get('/metrics');
  const line = text.split('\n').find((one) => one.startsWith(`${name} `));
  return line === undefined ? null : Number(line.slice(name.length + 1));
}

/** Resolves when nothing waits or is being sent. */
export async function queueEmpty(server: ServerProcess, deadlineMs = 30_000): Promise<void> {
  await until(
    'the queue is empty',
    deadlineMs,
    async () => (await metric(server, 'postrider_queue_waiting')) === 0,
  );
}

/** Asks again and again until the answer is true; rejects with what was waited for. */
export async function until(
  what: string,
  deadlineMs: number,
  holds: () => boolean | Promise<boolean>,
): Promise<void> {
  const end = performance.now() + deadlineMs;
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function listening(child: ChildProcess, errors: string[], lines: LogLine[]): Promise<string> {
  return new Promise<string>((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`${why}: ${tail(lines, errors)}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail(`the server did not start in ${START_MS} ms`);
    }, START_MS);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      fail(`the server ended at once (${code ?? signal})`);
    });
    if (child.stderr === null) throw new TypeError('stderr is a pipe');
    createInterface({ input: child.stderr }).on('line', (line) => {
      errors.push(line);
      const url = /listens on (http:\S+)/.exec(line)?.[1];
      if (url === undefined) return;
      clearTimeout(timer);
      resolve(url);
    });
  });
}

function tail(lines: readonly LogLine[], errors: readonly string[]): string {
  return [...errors.slice(-5), ...lines.slice(-5).map((line) => JSON.stringify(line))].join('\n');
}
