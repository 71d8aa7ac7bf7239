/**
 * A page of docs/howto as a reader follows it: a server of `dev` in a process of its own, the blocks of code of the page, and
 * a shell to paste them into. Everything ends with the scope it was started in.
 */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type StartedCommand, startCommand } from './commands.ts';
import { type Scope, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);

/** The repository, with a slash at its end. */
export const PROJECT = fileURLToPath(new URL('../..', import.meta.url));

export interface DevServer {
  readonly dev: StartedCommand;
  /** Its data folder. */
  readonly folder: string;
  /** All that it printed at its start. */
  readonly banner: string;
  /** Address of the API, with a slash at its end. */
  readonly api: string;
  /** The administrator's. */
  readonly token: string;
}

/** Starts `postrider dev` on a free port; without `folder` in a new one. Throws what it said where it ends instead. */
export async function startDev(scope: Scope, folder?: string): Promise<DevServer> {
  const data = folder ?? (await temporaryFolder(scope));
  const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', data]);
  const banner = await until('the banner is complete', () => {
    if (dev.child.exitCode !== null) throw new Error(`dev ended: ${dev.stderr()}`);
    return dev.stdout().includes('Ctrl-C stops') ? dev.stdout() : null;
  });
  const api = /API\s+(http\S+)/.exec(banner)?.[1] ?? '';
  const token = /Token\s+(\S+)/.exec(banner)?.[1] ?? '';
  return { dev, folder: data, banner, api, token };
}

/** The text of `docs/howto/<name>.md`. */
export function howToPage(name: string): Promise<string> {
  return readFile(`${PROJECT}docs/howto/${name}.md`, 'utf8');
}

/** Blocks of code in that language (`sh`, `js` …), in the order of the page; those of list items without their indent. */
export function codeBlocks(page: string, language: string): string[] {
  const blocks = page.matchAll(new RegExp(`^( *)\`\`\`${language}\\n([\\s\\S]*?)^ *\`\`\``, 'gm'));
  return [...blocks].map(([, indent = '', text = '']) => text.replace(new RegExp(`^${indent}`, 'gm'), ''));
}

/** Commands of a page, for a server whose data folder is `$DATA` and wherever the shell stands. */
export function besideServer(block: string): string {
  return block
    .replaceAll('./bin/postrider', `${PROJECT}bin/postrider --data "$DATA"`)
    .replaceAll('postrider-data/', '"$DATA"/');
}

/** What a shell that stops at the first failure prints; rejects where a command fails. */
export function inShell(
  script: string,
  options: { cwd?: string; env: Record<string, string> },
): Promise<{ stdout: string; stderr: string }> {
  const env = { PATH: process.env.PATH ?? '', NO_COLOR: '1', ...options.env };
  return run('bash', ['--norc', '-ec', script], { ...options, env });
}
