/**
 * The command line as a person runs it, with nothing of this process's POSTRIDER_ environment: `startCommand` runs
 * `./bin/postrider` as a child process, stopped with the scope it was started in; `command` runs the same program in this
 * process, which takes a twentieth of the CPU time.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { PassThrough, Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { calledAs } from '../../src/cli/called-as.ts';
import { createProgram } from '../../src/cli/program.ts';
import { databaseOf } from './database-of-folder.ts';
import type { Scope } from './harness.ts';

const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

/** Whether commands of the documentation that call curl can be pasted here; says so where they cannot. */
export function hasCurl(what: string): boolean {
  if (spawnSync('curl', ['--version']).status === 0) return true;
  process.stderr.write(`SKIPPED: ${what}: there is no curl\n`);
  return false;
}

export interface CommandResult {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface StartedCommand {
  readonly child: ChildProcess;
  readonly stdout: () => string;
  readonly stderr: () => string;
  readonly ended: Promise<CommandResult>;
}

/** Starts `./bin/postrider`, with nothing of this process's POSTRIDER_ environment. */
export function startCommand(
  scope: Scope,
  args: readonly string[],
  environment: Record<string, string> = {},
): StartedCommand {
  const child = spawn('./bin/postrider', args, {
    cwd: PROJECT,
    env: environmentOf(args, environment),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<CommandResult>((resolve) => {
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
  scope.defer(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  });
  return { child, stdout: () => stdout, stderr: () => stderr, ended };
}

/** Runs a command to its end in this process. Not for servers: those run until a signal ends them. */
export async function command(
  args: readonly string[],
  environment: Record<string, string> = {},
  input = '',
): Promise<CommandResult> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const written = Promise.all([text(stdout), text(stderr)]);
  const given = environmentOf(args, environment);
  const program = createProgram({
    calledAs: () => calledAs({ path: given.PATH, cwd: PROJECT, launcher: `${PROJECT}bin/postrider` }),
    environment: given,
    stdout: stdout as unknown as NodeJS.WriteStream,
    stderr: stderr as unknown as NodeJS.WriteStream,
    stdin: Readable.from([Buffer.from(input)], { objectMode: false }) as unknown as NodeJS.ReadStream,
  });
  const code = await program.run(args);
  stdout.end();
  stderr.end();
  const [out, errors] = await written;
  return { code, stdout: out, stderr: errors };
}

function environmentOf(
  args: readonly string[],
  environment: Record<string, string>,
): Record<string, string | undefined> {
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('POSTRIDER_') && name !== 'NODE_ENV' && name !== 'NODE_OPTIONS',
  );
  const folder = args[args.indexOf('--data') + 1];
  const database = args.includes('--data') && folder !== undefined ? databaseOf(folder) : undefined;
  return {
    ...Object.fromEntries(inherited),
    NO_COLOR: '1',
    ...(database === undefined ? {} : { POSTRIDER_DATABASE: database }),
    // The usual port of development belongs to whoever sits at this machine.
    ...(args[0] === 'dev' ? { POSTRIDER_SUBMISSION: '127.0.0.1:0' } : {}),
    ...environment,
  };
}
