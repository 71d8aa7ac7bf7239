// The processes of a product, seen through /proc: their CPU seconds (exited children included), their memory,
// starting one with its output in a file, and stopping one with everything below it. Linux only.
// Only processes that were started here, and their descendants, are ever signalled.
import { spawn } from 'node:child_process';
import { closeSync, existsSync, openSync, readdirSync, readFileSync, readSync, statSync } from 'node:fs';
import { connect } from 'node:net';

const TICKS_PER_SECOND = 100; // USER_HZ, 100 on every Linux architecture that Node supports
const STOP_GRACE_MS = 8_000;

/** A process of ours. `exited` resolves with the exit code (null after a signal). */
export type OwnProcess = {
  readonly pid: number;
  readonly exited: Promise<number | null>;
  isRunning(): boolean;
  /** The last lines it wrote. */
  tail(): string;
};

/** Starts a program with stdout and stderr in `logFile`; rejects where it can't be started. */
export async function startProcess(
  command: string,
  args: readonly string[],
  options: {
    readonly logFile: string;
    readonly env?: Record<string, string | undefined>;
    readonly cwd?: string;
  },
): Promise<OwnProcess> {
  const log = openSync(options.logFile, 'a');
  const child = spawn(command, [...args], {
    stdio: ['ignore', log, log],
    env: { ...process.env, ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  });
  closeSync(log);
  let running = true;
  const exited = new Promise<number | null>((resolve) => {
    child.on('exit', (code) => {
      running = false;
      resolve(code);
    });
  });
  await new Promise<void>((resolve, reject) => {
    child.on('spawn', resolve);
    child.on('error', (cause) => reject(new Error(`could not start ${command}`, { cause })));
  });
  return { pid: child.pid ?? -1, exited, isRunning: () => running, tail: () => tailOf(options.logFile) };
}

/** Asks a process to end, waits, then kills what is left of its tree. */
export async function stopProcess(target: OwnProcess, graceMs = STOP_GRACE_MS): Promise<void> {
  if (target.isRunning()) {
    const tree = treeOf([target.pid]);
    signal(target.pid, 'SIGTERM');
    await Promise.race([target.exited, sleep(graceMs)]);
    const born = new Map(tree.map((one) => [one.pid, one.startedAt]));
    for (const one of processes()) if (born.get(one.pid) === one.startedAt) signal(one.pid, 'SIGKILL');
  }
  await Promise.race([target.exited, sleep(2_000)]);
}

/** CPU seconds used so far by the trees below `roots`: user and system, waited-for children included. */
export function cpuSecondsOf(roots: readonly number[]): number {
  return treeOf(roots).reduce((sum, one) => sum + one.ticks, 0) / TICKS_PER_SECOND;
}

/** What a thread does, by the name that Node or this server gives it. */
const THREADS: Readonly<Record<string, string>> = {
  MainThread: 'main',
  node: 'main',
  'node-MainThread': 'main', // so since Node 26
  'store-writer': 'store writer',
  'store-reader': 'store readers',
  'libuv-worker': 'pool',
  V8Worker: 'V8 helpers',
  'node-V8Worker': 'V8 helpers',
  DelayedTaskSche: 'V8 helpers',
};

/** CPU seconds by what the threads do, of threads that are running. */
export function threadSecondsOf(roots: readonly number[]): Map<string, number> {
  const found = new Map<string, number>();
  for (const { pid } of treeOf(roots)) {
    for (const thread of entriesOf(`/proc/${pid}/task`)) {
      const name = THREADS[read(`/proc/${pid}/task/${thread}/comm`).trim()] ?? 'others';
      const [ns = '0'] = read(`/proc/${pid}/task/${thread}/schedstat`).split(' ');
      found.set(name, (found.get(name) ?? 0) + Number(ns) / 1e9);
    }
  }
  return found;
}

/** Memory that no file stands behind, of the trees below `roots`, in MiB: what nobody else could use. */
export function anonymousMiBOf(roots: readonly number[]): number {
  return (
    treeOf(roots).reduce((sum, { pid }) => sum + kibOf(read(`/proc/${pid}/status`), 'RssAnon'), 0) / 1024
  );
}

/** Resolves when something accepts connections on the loopback port; rejects when `target` ends or time is up. */
export async function waitForPort(port: number, target: OwnProcess, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (performance.now() < until) {
    if (!target.isRunning()) throw new Error(`ended before it listened on port ${port}:\n${target.tail()}`);
    if (await accepts(port)) return;
    await sleep(50);
  }
  throw new Error(`nothing listens on port ${port} after ${timeoutMs} ms:\n${target.tail()}`);
}

/** Resolves when the path exists; rejects when `target` ends or time is up. */
export async function waitForFile(path: string, target: OwnProcess, timeoutMs: number): Promise<void> {
  const until = performance.now() + timeoutMs;
  while (!existsSync(path)) {
    if (!target.isRunning()) throw new Error(`ended before ${path} appeared:\n${target.tail()}`);
    if (performance.now() > until) throw new Error(`no ${path} after ${timeoutMs} ms:\n${target.tail()}`);
    await sleep(20);
  }
}

/** Resolves after `ms`. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Path of a program, looked for in PATH and the system folders; undefined where there is none. */
export function programPath(name: string): string | undefined {
  const { PATH: path = '' } = process.env;
  const folders = [...path.split(':'), '/usr/sbin', '/usr/local/sbin', '/sbin'];
  return folders.map((folder) => `${folder}/${name}`).find((file) => existsSync(file));
}

type Entry = { pid: number; parent: number; ticks: number; startedAt: number };

function treeOf(roots: readonly number[]): Entry[] {
  const all = processes();
  const inside = new Set(roots);
  // A child may have a lower number than its parent: repeat until nothing is added.
  for (let before = -1; before !== inside.size; ) {
    before = inside.size;
    for (const one of all) if (inside.has(one.parent)) inside.add(one.pid);
  }
  return all.filter((one) => inside.has(one.pid));
}

function processes(): Entry[] {
  const found: Entry[] = [];
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = read(`/proc/${name}/stat`);
    // The second field is the program's name in parentheses and may hold anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    if (fields.length < 20) continue;
    const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at]), 0);
    found.push({ pid: Number(name), parent: Number(fields[1]), ticks, startedAt: Number(fields[19]) });
  }
  return found;
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // the process is gone
  }
}

function kibOf(text: string, key: string): number {
  const match = new RegExp(`^${key}:\\s+(\\d+)`, 'm').exec(text);
  return match === null ? 0 : Number(match[1]);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return ''; // the process is gone
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // it is gone already
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    const answer = (value: boolean) => () => {
      socket.destroy();
      resolve(value);
    };
    socket.on('connect', answer(true));
    socket.on('error', answer(false));
  });
}

function tailOf(path: string): string {
  try {
    const size = statSync(path).size;
    const file = openSync(path, 'r');
    const bytes = Buffer.alloc(Math.min(size, 4_000));
    readSync(file, bytes, 0, bytes.length, size - bytes.length);
    closeSync(file);
    return size === 0 ? '(no log: --logs keeps one)' : bytes.toString('utf8');
  } catch {
    return '(no log)';
  }
}
