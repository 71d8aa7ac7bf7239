/**
 * docs/howto/receive-webhooks.md: every receiver of the page is started as it stands there and called by a real server,
 * its shell blocks are pasted, and each receiver refuses what is not signed.
 */
import { execFile, spawn, spawnSync } from 'node:child_process';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { freePort } from '../fakes/own-postfix.ts';
import { command } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { besideServer, howToPage, inShell, PROJECT, startDev } from './how-to-page.ts';

const run = promisify(execFile);
const scope = fileScope();

let data = '';
let api = '';
let token = '';
let page = '';
/** Folder of an application that has installed what the page imports. */
let app = '';

beforeAll(async () => {
  ({ folder: data, api, token } = await startDev(scope));
  app = await temporaryFolder(scope);
  page = await howToPage('receive-webhooks');
  const packaged = join(app, 'node_modules', 'postrider');
  await mkdir(packaged, { recursive: true });
  const tsc = join(PROJECT, 'node_modules', 'typescript', 'bin', 'tsc');
  const clientOnly = [
    tsc,
    '-p',
    join(PROJECT, 'tsconfig.client.json'),
    '--outDir',
    join(packaged, 'dist/client'),
  ];
  await run(process.execPath, clientOnly);
  const { exports } = JSON.parse(await readFile(join(PROJECT, 'package.json'), 'utf8'));
  const facts = { name: 'postrider', version: '0.0.0', type: 'module', exports };
  await writeFile(join(packaged, 'package.json'), JSON.stringify(facts));
  await symlink(join(PROJECT, 'node_modules/standardwebhooks'), join(app, 'node_modules/standardwebhooks'));
  await writeFile(join(app, 'receiver.mjs'), block('// receiver.mjs'));
  await writeFile(join(app, 'receiver.py'), block('# receiver.py'));
  await writeFile(join(app, 'receiver.php'), block('<?php\n// receiver.php'));
  await writeFile(join(app, 'call.sh'), block('# call.sh'));
});

/** The `n`th code block of the page that begins so. */
function block(first: string, n = 0): string {
  const blocks = [...page.matchAll(/```(?:js|python|php|sh)\n([\s\S]*?)```/g)].map(([, text = '']) => text);
  const found = blocks.filter((text) => text.startsWith(first))[n];
  if (found === undefined) throw new TypeError(`the page has no such block: ${first}`);
  return found;
}

const cli = (...args: string[]) => command([...args, '--data', data]);

const VERIFIERS = [
  ['nothing but Node', 'receiver.mjs', 0, 'plain.example'],
  ['standardwebhooks', 'receiver.mjs', 1, 'standard.example'],
  ['the client', 'receiver.mjs', 2, 'client.example'],
  ['Python', 'receiver.py', null, 'python.example'],
  ['PHP', 'receiver.php', null, 'php.example'],
] as const;

const isInstalled = (program: string) => spawnSync(program, ['--version']).status === 0;

/** How a receiver is started on a port. */
function startOf(file: string, port: number): [program: string, args: string[]] {
  if (file.endsWith('.py')) return ['python3', [file]];
  if (file.endsWith('.php')) return ['php', ['-S', `127.0.0.1:${port}`, file]];
  return [process.execPath, [file]];
}

describe.each(VERIFIERS)('a receiver with %s', (_, file, verifier, domain) => {
  it.skipIf(!isInstalled(startOf(file, 0)[0]))(
    'believes signed calls once each, and nothing else',
    async () => {
      if (verifier !== null) await writeFile(join(app, 'verify.mjs'), block('// verify.mjs', verifier));
      const port = await freePort();
      const url = `http://127.0.0.1:${port}/hook`;
      const created = await cli('webhook', 'create', '--domain', domain, '--event', 'bounce', '--json', url);
      const { NewWebhookID, Secret } = JSON.parse(created.stdout);
      const [program, args] = startOf(file, port);
      const child = spawn(program, args, {
        cwd: app,
        env: { PATH: process.env.PATH ?? '', WEBHOOK_SECRET: Secret, PORT: String(port) },
        stdio: ['ignore', 'pipe', 'ignore'],
      });
      const ended = new Promise((resolve) => child.once('close', resolve));
      scope.defer(async () => {
        child.kill();
        await ended;
      });
      let received = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        received += text;
      });
      const unsigned = () =>
        fetch(url, { method: 'POST', body: '{"type":"email.bounced","data":{"To":"x"}}' });
      const refused = await until('the receiver listens', () => unsigned().catch(() => null));
      expect(refused.status).toBe(400);

      const tested = await cli('webhook', 'test', String(NewWebhookID), '--json');
      expect(JSON.parse(tested.stdout)).toMatchObject({ StatusCode: 200 });
      const sent = await request('POST', `${api}email`, {
        token,
        body: {
          From: { email: `a@${domain}` },
          To: [{ email: 'bounced@simulator.test' }],
          Subject: 'x',
          ContentType: 'Text',
          PlainContent: 'hi',
        },
      });
      expect(sent.status).toBe(200);
      await until('the bounce is reported', () => received.includes('bounced@simulator.test') || null);
      const lines = () => received.split('\n').filter((line) => line.includes('bounced@simulator.test'));
      const before = lines().length;

      // What it has had is answered 200 and not done again; a rotated secret's calls carry the old signature too.
      const last = async () => (await request('GET', `${api}webhooks/${NewWebhookID}`, { token })).json;
      const answered = await until('the call is on record', async () => {
        const hook = await last();
        return hook.LastResponseTryCounter === 1 ? hook : null;
      });
      expect((await request('POST', `${api}webhooks/${NewWebhookID}/secret`, { token })).status).toBe(200);
      const replayed = await cli('webhook', 'replay', String(NewWebhookID), '--since', '1h');
      expect(replayed.stdout).toBe('1 call queued.\n');
      const again = await until('the replay was answered', async () => {
        const hook = await last();
        return hook.LastResponseAt === answered.LastResponseAt ? null : hook;
      });
      expect(again.LastResponseCode).toBe(200);
      expect(lines()).toHaveLength(before);
      expect(lines()[0]).toBe('email.bounced bounced@simulator.test');
      expect((await unsigned()).status).toBe(400);
      const byHand = (secret: string) =>
        run('sh', [join(app, 'call.sh'), url], {
          env: { PATH: process.env.PATH ?? '', WEBHOOK_SECRET: secret },
        });
      expect((await byHand(Secret)).stdout).toMatch(/^HTTP\/1\.[01] 200/);
      expect((await byHand('whsec_AAAA')).stdout).toMatch(/^HTTP\/1\.[01] 400/);
    },
  );
});

describe('the shell blocks', () => {
  it('show the sample and what became of the message', async () => {
    await writeFile(join(app, 'verify.mjs'), block('// verify.mjs'));
    const port = await freePort();
    const script = besideServer(block('./bin/postrider webhook create')).replaceAll(
      '127.0.0.1:9000',
      `127.0.0.1:${port}`,
    );
    const { stdout } = await inShell(script, { cwd: app, env: { DATA: data, PORT: String(port) } });
    expect(stdout).toMatch(/^200 in \d+ ms$/m);
    expect(stdout).toContain('email.accepted bounced@simulator.test\n');
    expect(stdout).toContain('email.bounced bounced@simulator.test\n');
    const id: number = JSON.parse(await readFile(join(app, 'webhook.json'), 'utf8')).NewWebhookID;

    for (const first of [
      './bin/postrider webhook list',
      './bin/postrider webhook enable',
      './bin/postrider webhook rotate',
    ]) {
      await inShell(besideServer(block(first).replace(/\b1\b/g, String(id))), { env: { DATA: data } });
    }
  });
});
