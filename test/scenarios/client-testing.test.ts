/** `postrider/testing`: a server of its own for a test, from the client as it is built; what ends it, and what it says where it cannot start. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, readdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { startSandbox } from '../../src/client/testing.ts';
import { fileScope, temporaryFolder, until } from './harness.ts';
import { PROJECT } from './how-to-page.ts';

const run = promisify(execFile);
const scope = fileScope();
const command = [process.execPath, join(PROJECT, 'bin/postrider')];
let built = '';

beforeAll(async () => {
  built = await temporaryFolder(scope);
  const args = ['-p', join(PROJECT, 'tsconfig.client.json'), '--outDir', built];
  await run(join(PROJECT, 'node_modules/.bin/tsc'), args, { cwd: PROJECT });
  await writeFile(join(built, 'package.json'), '{"type":"module"}');
});

/** Whether something listens there. */
function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}

/** An application in a process of its own, with its temporary folders in `temporary`. */
async function application(
  script: string,
  temporary: string,
): Promise<{ child: ChildProcess; said: () => string }> {
  const file = join(temporary, 'app.mjs');
  const from = JSON.stringify(join(built, 'testing.js'));
  await writeFile(
    file,
    `import { startSandbox } from ${from};\nconst command = ${JSON.stringify(command)};\n${script}`,
  );
  const child = spawn(process.execPath, [file], {
    env: { ...process.env, TMPDIR: temporary },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  scope.defer(() => void child.kill('SIGKILL'));
  let text = '';
  child.stdout?.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  return { child, said: () => text };
}
const foldersIn = async (temporary: string) =>
  (await readdir(temporary)).filter((name) => name.startsWith('postrider-sandbox-'));

describe('startSandbox', () => {
  it('starts a server that takes mail by HTTP and SMTP, and ends it', async () => {
    vi.stubEnv('POSTRIDER_ROUTE', 'smtp://127.0.0.1:9');
    scope.defer(() => void vi.unstubAllEnvs());
    const sandbox = await startSandbox({ command, settings: { 'simulator-domain': 'sim.test' } });
    scope.defer(sandbox.stop);
    await sandbox.client.send({
      ...{ From: { email: 'a@example.com' }, To: [{ email: 'ada+one@example.net' }] },
      ...{ Subject: 'Your code', PlainContent: 'Your code is 482913' },
    });
    const mail = await sandbox.wait({ Inbox: 'one', Subject: 'code', Timeout: 20 });
    expect(mail.Codes[0]).toBe('482913');
    const answer = await fetch(`${sandbox.url}/metrics`, {
      headers: { authorization: `Bearer ${sandbox.token}` },
    });
    expect(answer.status).toBe(200);
    const port = Number(new URL(sandbox.url).port);
    expect([await answers(port), await answers(sandbox.smtp.port), port !== 8025]).toEqual([
      true,
      true,
      true,
    ]);
    await sandbox.stop();
    expect([await answers(port), await answers(sandbox.smtp.port)]).toEqual([false, false]);
  });

  it('leaves nothing behind where the process that started it is killed', async () => {
    const temporary = await temporaryFolder(scope);
    const script =
      'const { url } = await startSandbox({ command }); console.log(url); setInterval(() => {}, 1000);';
    const { child, said } = await application(script, temporary);
    const url = await until('it has started', () => (said().endsWith('\n') ? said().trim() : null));
    expect(await foldersIn(temporary)).toHaveLength(1);
    child.kill('SIGKILL');
    await until('the server has ended', async () => !(await answers(Number(new URL(url).port))));
    await until('its folder is gone', async () => (await foldersIn(temporary)).length === 0);
  });

  it('lets a process end that forgot to stop it', async () => {
    const temporary = await temporaryFolder(scope);
    const { child } = await application('await startSandbox({ command });', temporary);
    expect(await new Promise((resolve) => child.once('exit', resolve))).toBe(0);
    await until('its folder is gone', async () => (await foldersIn(temporary)).length === 0);
  });

  it('says in one sentence what is missing, and what the server said where it ended', async () => {
    const temporary = await temporaryFolder(scope);
    const script = `process.chdir(${JSON.stringify(temporary)}); process.env.PATH = '';
await startSandbox().catch((error) => console.log(error.message));
await startSandbox({ command: ['/missing/postrider'] }).catch((error) => console.log(error.message));
await startSandbox({ command, settings: { nonsense: '1' } }).catch((error) => console.log(error.message));`;
    const { child, said } = await application(script, temporary);
    await new Promise((resolve) => child.once('close', resolve));
    const [missing, wrong, ...rest] = said().split('\n');
    expect(missing).toBe(
      'postrider is neither among the packages of this project nor in PATH: install its package (docs/howto/install.md), or give startSandbox a command',
    );
    expect(wrong).toMatch(/^postrider ended before it answered: .*ENOENT/);
    expect(rest.join('\n')).toMatch(/^postrider ended before it answered: .*nonsense/);
    expect(await foldersIn(temporary)).toEqual([]);
  });

  it('finds postrider among the packages of the project and in PATH', async () => {
    const temporary = await temporaryFolder(scope);
    const folder = join(temporary, 'node_modules/postrider/bin');
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, '../package.json'), '{"name":"postrider"}');
    await writeFile(join(folder, 'postrider'), `process.stderr.write('of the project'); process.exit(1);`);
    const inPath = join(temporary, 'postrider');
    await writeFile(inPath, '#!/bin/sh\necho of PATH\nexit 1\n');
    await chmod(inPath, 0o755);
    expect(existsSync(inPath)).toBe(true);
    const script = `process.env.PATH = ${JSON.stringify(temporary)} + ':' + process.env.PATH;
const say = (error) => console.log(error.message);
process.chdir(${JSON.stringify(temporary)});
await startSandbox().catch(say);
process.chdir('/');
await startSandbox().catch(say);`;
    const { child, said } = await application(script, temporary);
    await new Promise((resolve) => child.once('close', resolve));
    expect(said()).toBe(
      'postrider ended before it answered: of the project\npostrider ended before it answered: of PATH\n',
    );
  });
});
