/**
 * `postrider/testing`: a server of `postrider dev` for tests, as a process of its own with its own temporary folder and
 * ports. All mail is captured; nothing leaves the machine. It ends with `stop`, and with this process, however that ends:
 * a watcher between them sees its input close, stops the server and removes the folder. Node only; no dependency.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { mkdtemp, readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { createPostrider, type Postrider } from './client.ts';

export interface SandboxOptions {
  /** How postrider is started, e.g. `['/opt/postrider/bin/postrider']`. Default: the installed package, otherwise `postrider` of PATH. */
  command?: readonly string[];
  /** Port of the API on 127.0.0.1. Default 0: any free one. */
  port?: number;
  /** Port of SMTP submission on 127.0.0.1. Default 0. */
  smtpPort?: number;
  /** More settings, as flags without their dashes: `{ 'simulator-domain': 'sim.test' }`. */
  settings?: Readonly<Record<string, string>>;
  /** How long it may take until it answers. Default 30,000. */
  timeoutMs?: number;
}

export interface Sandbox {
  /** `http://127.0.0.1:PORT`. */
  readonly url: string;
  /** The administrator's. */
  readonly token: string;
  /** Takes mail with any login, or none. */
  readonly smtp: { readonly host: string; readonly port: number };
  /** A client with this address and token. */
  readonly client: Postrider;
  /** The newest captured mail that matches, at once or as it arrives. */
  readonly wait: Postrider['sandbox']['wait'];
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
}

const USUAL_TIMEOUT_MS = 30_000;
const ASK_EVERY_MS = 50;
const KEPT_OUTPUT = 4_000;
/** Runs between this process and the server: argv is the folder and the command. */
const WATCHER = `
const { spawn } = require('node:child_process');
const { rmSync } = require('node:fs');
const [folder, command, ...args] = process.argv.slice(1);
const server = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' });
server.stdout.pipe(process.stdout);
server.stderr.pipe(process.stderr);
let code = 1;
const end = () => {
  try { rmSync(folder, { recursive: true, force: true, maxRetries: 5 }); } catch {}
  process.exit(code);
};
server.on('error', (error) => { process.stderr.write(error.message + '\\n'); end(); });
server.on('exit', (status) => { code = status ?? 1; end(); });
const stop = () => {
  server.kill('SIGTERM');
  setTimeout(() => server.kill('SIGKILL'), 5000).unref();
};
process.stdin.on('end', stop).on('error', stop).resume();
for (const output of [process.stdout, process.stderr]) output.on('error', () => {});
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, stop);
`;

/** Resolves when it answers. Rejects with a sentence when postrider is not installed, or with what it said when it ended. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const [program, ...first] = commandOf(options);
  const folder = await mkdtemp(join(tmpdir(), 'postrider-sandbox-'));
  const settings = Object.entries(options.settings ?? {}).map(([key, value]) => `--${key}=${value}`);
  const args = [
    ...first,
    'dev',
    ...['--data', folder],
    ...['--http', `127.0.0.1:${options.port ?? 0}`],
    ...['--submission', `127.0.0.1:${options.smtpPort ?? 0}`],
    ...settings,
  ];
  // The settings of this process are not those of the server: `POSTRIDER_ROUTE` would let mail out.
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !name.startsWith('POSTRIDER_')),
  );
  const watcher = spawn(process.execPath, ['-e', WATCHER, folder, program, ...args], { stdio: 'pipe', env });
  const ended = new Promise<void>((resolve) => {
    watcher.once('exit', () => resolve());
    watcher.once('error', () => resolve());
  });
  const stop = async (): Promise<void> => {
    watcher.stdin?.end();
    await ended;
  };
  const output = outputOf(watcher);
  try {
    const ready = await untilReady(folder, output, ended, options.timeoutMs ?? USUAL_TIMEOUT_MS);
    const client = createPostrider({ baseUrl: ready.url, token: ready.token });
    const { Submission } = await client.me();
    const [at] = Submission;
    if (at === undefined) throw new Error('postrider started without SMTP submission');
    // The process of the tests can end without `stop`.
    watcher.unref();
    for (const stream of [watcher.stdin, watcher.stdout, watcher.stderr])
      if (stream instanceof Socket) stream.unref();
    const smtp = { host: at.Host, port: at.Port };
    return { ...ready, smtp, client, wait: client.sandbox.wait, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

function commandOf({ command }: SandboxOptions): readonly [string, ...string[]] {
  const [program, ...args] = command ?? [];
  if (program !== undefined) return [program, ...args];
  try {
    const file = createRequire(join(process.cwd(), 'package.json')).resolve('postrider/package.json');
    return [process.execPath, join(dirname(file), 'bin', 'postrider')];
  } catch {
    // Not among the packages of this project.
  }
  for (const folder of (process.env.PATH ?? '').split(delimiter)) {
    const file = join(folder, 'postrider');
    try {
      accessSync(file, constants.X_OK);
      return [file];
    } catch {
      // Not in this folder.
    }
  }
  throw new Error(
    'postrider is neither among the packages of this project nor in PATH: install its package (docs/howto/install.md), or give startSandbox a command',
  );
}

/** The end of what it printed. */
function outputOf({ stdout, stderr }: ChildProcess): () => string {
  let text = '';
  for (const stream of [stdout, stderr])
    stream?.on('data', (part: { toString(): string }) => {
      text = (text + part.toString()).slice(-KEPT_OUTPUT);
    });
  return () => text.trim();
}

async function untilReady(
  folder: string,
  output: () => string,
  ended: Promise<void>,
  timeoutMs: number,
): Promise<{ url: string; token: string }> {
  let hasEnded = false;
  void ended.then(() => {
    hasEnded = true;
  });
  for (const deadline = Date.now() + timeoutMs; ; ) {
    if (hasEnded) throw new Error(`postrider ended before it answered: ${output() || 'it said nothing'}`);
    const found = await readyServer(folder);
    if (found !== null) return found;
    if (Date.now() > deadline)
      throw new Error(`postrider did not answer within ${timeoutMs} ms: ${output() || 'it said nothing'}`);
    await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS));
  }
}

/** null: not yet. */
async function readyServer(folder: string): Promise<{ url: string; token: string } | null> {
  try {
    const { url } = JSON.parse(await readFile(join(folder, 'server.json'), 'utf8')) as { url: string };
    const token = (await readFile(join(folder, 'admin-token'), 'utf8')).trim();
    const { ok } = await fetch(`${url}/readyz`);
    return ok ? { url, token } : null;
  } catch {
    return null;
  }
}
