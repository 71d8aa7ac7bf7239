/** docs/howto/newsletters.md: its shell blocks, pasted one after another beside a server of `dev`. */
import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasCurl, startCommand } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';

const run = promisify(execFile);
const PROJECT = fileURLToPath(new URL('../..', import.meta.url));
const scope = fileScope();

let api = '';
let token = '';
const outputs: string[] = [];

beforeAll(async () => {
  const folder = await temporaryFolder(scope);
  const work = await temporaryFolder(scope);
  const dev = startCommand(scope, ['dev', '--http', '127.0.0.1:0', '--data', folder]);
  const banner = await until('the banner is complete', () =>
    dev.stdout().includes('Ctrl-C stops') ? dev.stdout() : null,
  );
  api = /API\s+(http\S+)/.exec(banner)?.[1] ?? '';
  token = /Token\s+(\S+)/.exec(banner)?.[1] ?? '';
  const page = await readFile(join(PROJECT, 'docs/howto/newsletters.md'), 'utf8');
  for (const [, block = ''] of page.matchAll(/```sh\n([\s\S]*?)```/g)) {
    const script = block
      .replace(/^ {3}/gm, '')
      .replaceAll('./bin/postrider', `${PROJECT}bin/postrider --data "$DATA"`)
      .replaceAll('postrider-data/', '"$DATA"/')
      .replace(/^api=.*$/m, '');
    const { stdout } = await run('bash', ['--norc', '-ec', script], {
      cwd: work,
      env: { PATH: process.env.PATH ?? '', DATA: folder, NO_COLOR: '1', api: api.replace(/\/$/, '') },
    });
    outputs.push(stdout);
  }
}, 60_000);

describe.skipIf(!hasCurl('the commands of newsletters.md'))('the pasted commands', () => {
  it('bring along whom another service had suppressed', () => {
    expect(outputs[0]).toBe('Added 2 addresses.\n');
  });

  it('show the text, and send it to who is still on the list', async () => {
    expect(outputs[1]).toContain('<p>Hello Ann,</p>');
    const batch = JSON.parse(outputs[2] ?? '');
    expect(batch).toMatchObject({ Accepted: 1, Rejected: 1 });
    expect(batch.Results[1].Errors[0]).toMatchObject({ Code: 14, Name: 'all-recipients-suppressed' });
    expect(outputs[3]).toMatch(/left@example\.net\s+Unsubscribe/);
    const [copy] = await until('the mail is captured', async () => {
      const { Items } = (await request('GET', `${api}sandbox/messages?To=ann@example.net`, { token })).json;
      return Items.length === 1 ? Items : null;
    });
    const { Headers } = (await request('GET', `${api}sandbox/messages/${copy.ID}`, { token })).json;
    const headers = new Map(
      Headers.map(({ Name, Value }: { Name: string; Value: string }) => [Name.toLowerCase(), Value]),
    );
    expect(headers.get('list-unsubscribe')).toMatch(/^<https?:\/\/\S+\/u\/\S+>/);
    expect(headers.get('list-unsubscribe-post')).toBe('List-Unsubscribe=One-Click');
    expect(headers.get('feedback-id')).toBe('issue-7:news:example');
  });

  it('watch it go, hold it and let it go', () => {
    expect(outputs[4]).toContain('Issue 7');
    expect(outputs[4]).toContain('"Group":"issue-7"');
    expect(outputs[5]).toMatch(/wrong price/);
    expect(outputs).toHaveLength(6);
  });
});
