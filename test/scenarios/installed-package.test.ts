/**
 * The program as others have it. As a container: built by the lines of the Dockerfile, started as compose.yaml does. As a package: packed, installed into an empty folder without a network, and used there:
 * commands, the development server with its threads, the dashboard and the client.
 */
import { execFile, spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { buildImage, type ContainerImage, imageUser } from './dockerfile.ts';
import { fileScope, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();

let app = '';
let program = '';
let image: ContainerImage;
let facts: { filename: string; unpackedSize: number };

beforeAll(async () => {
  app = await temporaryFolder(scope);
  const folder = await temporaryFolder(scope);
  await chmod(folder, 0o711);
  image = await buildImage(folder);
  const made = join(folder, 'build/postrider/dist/package');
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

describe('the image', () => {
  it('has two layers of ours, a volume, and a user that is not root', () => {
    expect(image.layers).toHaveLength(2);
    expect([image.volumes, image.user]).toEqual([['/data'], 'node']);
  });

  it('starts, is healthy, and stops in order', async () => {
    expect(await healthCheck()).toBe(1);
    const { port, server, ended } = await startContainer(image.command);
    expect((await fetch(`http://127.0.0.1:${port}/readyz`)).status).toBe(200);
    expect(await healthCheck()).toBe(0);
    server.kill('SIGTERM');
    expect(await ended).toBe(0);
    expect(await healthCheck()).toBe(1);
  });

  it('takes the mail of the application that compose.yaml puts beside it', async () => {
    const compose = await readFile(join(PROJECT, 'compose.yaml'), 'utf8');
    const [, command = '[]'] = /^ {4}command: (\[.+\])$/m.exec(compose) ?? [];
    const { port } = await startContainer(JSON.parse(command.replaceAll("'", '"')));
    const script = /^ {6}- \|\n((?: {8}.*\n)+)/m.exec(compose)?.[1] ?? '';
    const [api, tokenFile] = ['MAIL_API', 'MAIL_TOKEN_FILE'].map(
      (name) => new RegExp(`^ {6}${name}: (.+)$`, 'm').exec(compose)?.[1] ?? '',
    );
    const { stdout } = await run(process.execPath, ['--eval', script], {
      ...imageUser(),
      env: {
        MAIL_API: api?.replace('mail:8025', `127.0.0.1:${port}`),
        MAIL_TOKEN_FILE: tokenFile?.replace('/mail', join(image.root, 'data')),
      },
    });
    expect(JSON.parse(stdout)).toHaveProperty('MessageID');
  });

  const inImage = () => ({
    ...environment(),
    ...image.environment,
    PATH: `${image.environment.PATH?.replace(':$PATH', '')}:${dirname(process.execPath)}:${process.env.PATH}`,
  });

  function healthCheck(): Promise<number> {
    const [command = '', ...args] = image.healthCheck;
    return run(command, args, { env: inImage() }).then(
      () => 0,
      ({ code }: { code: number }) => code,
    );
  }

  /** Ports are of this machine here, so others are taken. */
  async function startContainer(command: readonly string[]) {
    const port = await freePort();
    const [entry = '', ...first] = image.entry;
    const args = [...first, ...command].map((word) =>
      word.replace(':8025', `:${port}`).replace(':1025', ':0'),
    );
    const server = spawn(entry, args, {
      ...{ cwd: image.root, stdio: ['ignore', 'pipe', 'pipe'] },
      ...imageUser(),
      env: { ...inImage(), POSTRIDER_HTTP: `0.0.0.0:${port}` },
    });
    let output = '';
    for (const stream of [server.stdout, server.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => {
        output += text;
      });
    const ended = new Promise<number | null>((resolve) => server.once('close', resolve));
    scope.defer(async () => {
      server.kill();
      await ended;
    });
    await until('the container is healthy', async () => {
      if (server.exitCode !== null) throw new Error(output);
      return (await healthCheck()) === 0;
    });
    return { port, server, ended };
  }
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

/** The text of a block of YAML that begins after the first line that fits. */
function blockOf(text: string, begin: RegExp): string {
  const lines = text.split('\n');
  const from = lines.findIndex((line) => begin.test(line)) + 1;
  const indent = /^ +/.exec(lines[from] ?? '')?.[0] ?? '';
  const end = lines.findIndex((line, at) => at >= from && line !== '' && !line.startsWith(indent));
  const body = lines.slice(from, end < 0 ? undefined : end);
  return body.map((line) => line.slice(indent.length)).join('\n');
}

describe('in CI', () => {
  /** The server that a script left running, by the folder of its data. */
  async function endServer(data: string): Promise<void> {
    const { pid } = JSON.parse(await readFile(join(data, 'server.json'), 'utf8')) as { pid: number };
    process.kill(pid, 'SIGTERM');
    await until('it has ended', () => {
      try {
        return !process.kill(pid, 0);
      } catch {
        return true;
      }
    });
  }
  const environmentOf = (pairs: string) =>
    Object.fromEntries(
      pairs
        .trim()
        .split('\n')
        .map((line) => line.split(/=(.*)/s).slice(0, 2)),
    );

  it('the step of GitHub starts it, waits for it, and exports its address and token', async () => {
    const text = await readFile(join(PROJECT, 'action.yml'), 'utf8');
    expect(text).toContain('using: composite');
    expect(text).toContain('default: node_modules/.bin/postrider\n');
    const inputs = [...text.matchAll(/^ {8}([A-Z]+): \$\{\{ inputs\.(\w+) \}\}$/gm)].map(
      ([, name, input]) => [name, input],
    );
    expect(inputs).toEqual(
      [
        ['COMMAND', 'command'],
        ['HTTP', 'http'],
        ['SMTP', 'smtp'],
      ].map(([a, b]) => [a, b]),
    );
    const folder = await temporaryFolder(scope);
    const files = {
      GITHUB_OUTPUT: join(folder, 'output'),
      GITHUB_ENV: join(folder, 'env'),
      RUNNER_TEMP: join(folder, 't'),
    };
    await mkdir(files.RUNNER_TEMP);
    const step = (command: string) =>
      run('bash', ['--noprofile', '--norc', '-eo', 'pipefail', '-c', blockOf(text, /^ +run: \|$/)], {
        cwd: folder,
        env: { ...environment(), ...files, COMMAND: command, HTTP: '127.0.0.1:0', SMTP: '127.0.0.1:0' },
      });
    await expect(step('/missing/postrider')).rejects.toThrow('/missing/postrider');
    const { stdout } = await step(program);
    scope.defer(() => endServer(join(files.RUNNER_TEMP, 'postrider')));
    const { url, token } = environmentOf(await readFile(files.GITHUB_OUTPUT, 'utf8'));
    expect(environmentOf(await readFile(files.GITHUB_ENV, 'utf8'))).toEqual({
      POSTRIDER_URL: url,
      POSTRIDER_TOKEN: token,
    });
    expect(stdout).toContain(`::add-mask::${token}`);
    const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(me.status).toBe(200);
  });

  it('the job of GitLab starts it, waits for it, and exports its address and token', async () => {
    const text = await readFile(join(PROJECT, 'contrib/gitlab/postrider.yml'), 'utf8');
    const folder = await temporaryFolder(scope);
    expect(text).toContain('SERVER_COMMAND: node_modules/.bin/postrider\n');
    const script = `${blockOf(text, /^ +- \|$/)}\nprintf 'url=%s\ntoken=%s\ndata=%s\n' "$POSTRIDER_URL" "$POSTRIDER_TOKEN" "$data"`;
    const job = (command: string) =>
      run('bash', ['-eo', 'pipefail', '-c', script], {
        cwd: folder,
        env: { ...environment(), TMPDIR: folder, SERVER_COMMAND: command },
      });
    await expect(job('/missing/postrider')).rejects.toThrow('/missing/postrider');
    const { url, token, data = '' } = environmentOf((await job(program)).stdout);
    scope.defer(() => endServer(data));
    const me = await fetch(`${url}/api/v1/me`, { headers: { authorization: `Bearer ${token}` } });
    expect(me.status).toBe(200);
  });
});
