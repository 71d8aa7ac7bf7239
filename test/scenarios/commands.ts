/**
 * The command line as a person runs it: `./bin/postrider` as a child process of its own, with nothing of this
 * process's POSTRIDER_ environment, stopped with the scope it was started in.
 */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
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
  const inherited = Object.entries(process.env).filter(
    ([name]) => !name.startsWith('POSTRIDER_') && name !== 'NODE_ENV' && name !== 'NODE_OPTIONS',
  );
  const child = spawn('./bin/postrider', args, {
    cwd: PROJECT,
    env: {
      ...Object.fromEntries(inherited),
      NO_COLOR: '1',
      // The usual port of development belongs to whoever sits at this machine.
      ...(args[0] === 'dev' ? { POSTRIDER_SUBMISSION: '127.0.0.1:0' } : {}),
      ...environment,
    },
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

/** For one that hangs; on a busy machine others may take long. */
const COMMAND_DEADLINE_MS = 90_000;

/** Runs `./bin/postrider` to its end; one that does not end by itself is stopped, and its code is null or 0 then. */
export async function command(
  scope: Scope,
  args: readonly string[],
  environment: Record<string, string> = {},
): Promise<CommandResult> {
  const started = startCommand(scope, args, environment);
  const timer = setTimeout(() => started.child.kill('SIGTERM'), COMMAND_DEADLINE_MS);
  try {
    return await started.ended;
  } finally {
    clearTimeout(timer);
  }
}
