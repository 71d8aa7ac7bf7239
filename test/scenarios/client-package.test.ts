/** The client as a package of its own: packed, installed into an empty folder without a network, and used there. */
import { execFile } from 'node:child_process';
import { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, fileScope, startInstance, temporaryFolder } from './harness.ts';

const run = promisify(execFile);
const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();
let packed = '';
let app = '';

beforeAll(async () => {
  packed = await temporaryFolder(scope);
  app = await temporaryFolder(scope);
  await run('npm', ['pack', join(ROOT, 'packages', 'client'), '--pack-destination', packed], { cwd: ROOT });
  await writeFile(join(app, 'package.json'), '{"type":"module","private":true}');
  const [tarball = ''] = await readdir(packed);
  const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--no-package-lock'];
  await run('npm', ['install', ...flags, join(packed, tarball)], { cwd: app });
});

describe('postrider-client', () => {
  it('is small, has no dependencies and the version of the server', async () => {
    const [tarball = ''] = await readdir(packed);
    expect((await stat(join(packed, tarball))).size).toBeLessThan(100_000);
    const installed = (await readdir(join(app, 'node_modules'))).filter((name) => !name.startsWith('.'));
    expect(installed).toEqual(['postrider-client']);
    const read = async (folder: string) => JSON.parse(await readFile(join(folder, 'package.json'), 'utf8'));
    const own = await read(join(app, 'node_modules', 'postrider-client'));
    expect(own.dependencies).toBeUndefined();
    expect(own.version).toBe((await read(ROOT)).version);
  });

  it('sends, and brings the check of webhooks and the transport for Nodemailer', async () => {
    const server = await startInstance(scope);
    const token = await addDomain(server, 'example.com');
    await writeFile(
      join(app, 'app.js'),
      `import { createPostrider, verifyWebhook } from 'postrider-client';
import { postriderTransport } from 'postrider-client/nodemailer';
const postrider = createPostrider({ baseUrl: process.argv[2], token: process.argv[3] });
const { MessageID } = await postrider.send({
  From: { email: 'shop@example.com' }, To: [{ email: 'delivered@simulator.test' }], Subject: 's', PlainContent: 't',
});
console.log(MessageID.length, typeof verifyWebhook, typeof postriderTransport(postrider).send);
`,
    );
    const { stdout } = await run(process.execPath, [join(app, 'app.js'), server.server.localUrl, token], {
      cwd: app,
    });
    expect(stdout).toBe('36 function function\n');
  });
});
