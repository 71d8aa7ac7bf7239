/**
 * The program as another project has it: built, packed, installed into an empty folder without a network, and used there:
 * commands, the development server with its threads, the dashboard and the client.
 */
import { execFile, spawn } from 'node:child_process';
import { readdir, readFile, writeFile } from 'node:fs/promises';
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
let facts: { filename: string; unpackedSize: number };

beforeAll(async () => {
  app = await temporaryFolder(scope);
  const made = await temporaryFolder(scope);
  await run(process.execPath, [join(PROJECT, 'packages/server/build.mjs'), made]);
  const packed = await run('npm', ['pack', made, '--json'], { cwd: app });
  facts = JSON.parse(packed.stdout)[0];
  await writeFile(join(app, 'package.json'), '{"type":"module","private":true}');
  // The optional dependency is a Node for machines that have an old one.
  const flags = ['--offline', '--omit=optional', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', ['install', ...flags, join(app, facts.filename)], { cwd: app });
  program = join(app, 'node_modules', '.bin', 'postrider');
});

const environment = () => {
  const kept = Object.entries(process.env).filter(
    ([name]) => !/^(POSTRIDER_|NODE_OPTIONS$|NODE_COMPILE_CACHE$)/.test(name),
  );
  return { ...Object.fromEntries(kept), NO_COLOR: '1' };
};

const tokenOf = async (data: string) => (await readFile(join(data, 'admin-token'), 'utf8')).trim();

/** Runs the installed program to its end; rejects where its exit code is not 0. */
async function installedCommand(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [program, ...args], { cwd: app, env: environment() });
  return stdout;
}

it('needs no other package and is small', async () => {
  const modules = await readdir(join(app, 'node_modules'));
  expect(modules.filter((name) => !name.startsWith('.'))).toEqual(['postrider']);
  expect(facts.unpackedSize).toBeLessThan(15_000_000);
});

it('is what the Dockerfile copies and starts', async () => {
  const lines = (await readFile(join(PROJECT, 'Dockerfile'), 'utf8')).split('\n');
  expect(lines).toContain('RUN npm ci && npm run build:package');
  const { scripts } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
  expect(scripts['build:package']).toBe('node packages/server/build.mjs');
  expect(lines).toContain('COPY --from=build /postrider/dist/package /opt/postrider');
  expect(lines).toContain(
    'ENV PATH=/opt/postrider/bin:$PATH POSTRIDER_DATA=/data POSTRIDER_HTTP=0.0.0.0:8025',
  );
  const bin = join(app, 'node_modules/postrider/bin');
  const entry = /ENTRYPOINT \["(.+)"\]/.exec(lines.join('\n'))?.[1] ?? '';
  const { stdout } = await run(entry, ['--version'], {
    env: { ...environment(), PATH: `${bin}:${process.env.PATH}` },
  });
  expect(stdout).toMatch(/^[0-9.]+\n$/);
});

it('brings the client', async () => {
  await writeFile(
    join(app, 'app.mjs'),
    `import { createPostrider } from 'postrider/client';
import { postriderTransport } from 'postrider/nodemailer';
const postrider = createPostrider({ baseUrl: 'http://127.0.0.1:1', token: 'x' });
process.stdout.write(typeof postriderTransport(postrider).send);
`,
  );
  expect((await run(process.execPath, [join(app, 'app.mjs')])).stdout).toBe('function');
});

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
  const [url = ''] = /http:\/\/127\.0\.0\.1:[0-9]+\//.exec(output) ?? [];
  const page = await fetch(url, { headers: { accept: 'text/html' } });
  expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script type="module"')]);
  expect((await fetch(`${url}api/v1/docs`)).status).toBe(200);
  // Parsed by a worker: it is larger than what is read on the event loop.
  const large = { From: { email: 'a@example.com' }, To: [{ email: 'b@example.net' }], Subject: 'Large' };
  const answer = await fetch(`${url}api/v1/email`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${await tokenOf(data)}` },
    body: JSON.stringify({ ...large, ContentType: 'TEXT', PlainContent: 'x '.repeat(200_000) }),
  });
  expect(answer.status).toBe(200);
  await installedCommand('backup', join(app, 'copy'), '--data', data);
  expect(await readdir(app)).toContain('copy');
});
