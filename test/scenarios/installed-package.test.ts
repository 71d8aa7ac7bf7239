/**
 * The program as another project has it: its files below a folder named node_modules, where Node strips no types by
 * itself. What the package ships (`files` of package.json, without the client that is built) is put there; commands
 * and the development server run from it, threads included.
 */
import { execFile, spawn } from 'node:child_process';
import { cp, mkdir, readdir, readFile, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, expect, it } from 'vitest';
import { fileScope, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();

let app = '';
let program = '';

beforeAll(async () => {
  app = await temporaryFolder(scope);
  const modules = join(app, 'node_modules');
  const installed = join(modules, 'postrider');
  await mkdir(installed, { recursive: true });
  for (const part of ['bin', 'src', 'package.json'])
    await cp(join(PROJECT, part), join(installed, part), {
      recursive: true,
      filter: (source) => !source.endsWith('.test.ts'),
    });
  const { dependencies } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
  for (const name of Object.keys(dependencies))
    await symlink(join(PROJECT, 'node_modules', name), join(modules, name));
  program = join(installed, 'bin', 'postrider');
});

const environment = () => {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(POSTRIDER_|NODE_OPTIONS$|NODE_COMPILE_CACHE$)/.test(name),
  );
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
};

/** Runs the installed program to its end; rejects where its exit code is not 0. */
async function installedCommand(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [program, ...args], { cwd: app, env: environment() });
  return stdout;
}

it('serves, sends, and copies its data from below node_modules', async () => {
  const data = join(app, 'data');
  const args = ['dev', '--http', '127.0.0.1:0', '--submission', '127.0.0.1:0', '--data', data];
  const server = spawn(process.execPath, [program, ...args], {
    cwd: app,
    env: environment(),
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [server.stdout, server.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text;
    });
  const ended = new Promise((resolve) => server.once('close', resolve));
  scope.defer(async () => {
    server.kill();
    await ended;
  });
  await until('the server has started', () => {
    if (server.exitCode !== null) throw new Error(output);
    return output.includes('Ctrl-C stops') || null;
  });
  expect(output).not.toContain('ExperimentalWarning');
  const sent = await installedCommand(
    ...['send', '--data', data, '--from', 'shop@example.com', '--to', 'ada@example.net'],
    ...['--subject', 'Installed', '--text', join(app, 'node_modules/postrider/package.json')],
  );
  const shown = await until('it is captured', async () => {
    const text = await installedCommand('message', sent.trim(), '--data', data);
    return text.includes('Captured') ? text : null;
  });
  expect(shown).toContain('Installed');
  await installedCommand('backup', join(app, 'copy'), '--data', data);
  expect(await readdir(app)).toContain('copy');
});
