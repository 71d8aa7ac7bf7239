/** docs/howto/move-from-another-provider.md: its commands are pasted, and every request of it is one the API takes. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { startCommand } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();

let api = '';
let token = '';
let page = '';
let trial = '';

beforeAll(async () => {
  const folder = await temporaryFolder(scope);
  const work = await temporaryFolder(scope);
  const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
  const banner = await until('the banner is complete', () =>
    dev.stdout().includes('Ctrl-C stops') ? dev.stdout() : null,
  );
  api = /API\s+(http\S+)/.exec(banner)?.[1] ?? '';
  token = /Token\s+(\S+)/.exec(banner)?.[1] ?? '';
  page = await readFile(join(PROJECT, 'docs/howto/move-from-another-provider.md'), 'utf8');
  for (const [, block = ''] of page.matchAll(/```sh\n([\s\S]*?)```/g)) {
    const script = block
      .replace(/^ {3}/gm, '')
      .replaceAll('./bin/postrider', `${PROJECT}bin/postrider --data "$DATA"`);
    const { stdout } = await run('bash', ['--norc', '-ec', script], {
      cwd: work,
      env: { PATH: process.env.PATH ?? '', DATA: folder, NO_COLOR: '1' },
    });
    trial = stdout.trim();
  }
}, 60_000);

describe('the pasted commands', () => {
  it('bring suppressions with their reasons, and make a token whose mail stays here', async () => {
    const { Items } = (await request('GET', `${api}suppressions?Domain=example.com`, { token })).json;
    const reasons = Items.map(({ Email, Reason }: { Email: string; Reason: string }) => `${Email} ${Reason}`);
    expect(reasons.sort()).toEqual([
      'angry@example.net Complaint',
      'gone@example.net Bounce',
      'left@example.net Unsubscribe',
    ]);
    const me = await request('GET', `${api}me`, { token: trial });
    expect(me.json).toMatchObject({ Sandbox: true });
  });
});

describe('each request of the page', () => {
  it('is taken as it stands, with every name known', async () => {
    const bodies = [...page.matchAll(/```json\n([\s\S]*?)```/g)].map(([, text = '']) => text);
    expect(bodies).toHaveLength(6);
    for (const body of bodies) {
      const checked = await request('POST', `${api}email/validate`, {
        token,
        body: JSON.parse(body),
        headers: { prefer: 'handling=strict' },
      });
      expect([body, checked.status, checked.json.Warnings]).toEqual([body, 200, []]);
      const sent = await request('POST', `${api}email`, { token: trial, body: JSON.parse(body) });
      expect(sent.status).toBe(200);
    }
  });
});
