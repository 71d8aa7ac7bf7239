/** docs/howto/templates.md, pasted into a shell beside a server of `dev`: what it promises arrives. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { command, hasCurl } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { besideServer, codeBlocks, howToPage, inShell, startDev } from './how-to-page.ts';

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const scope = fileScope();

let folder = '';
let api = '';
let token = '';
let output: { stdout: string; stderr: string };

beforeAll(async () => {
  folder = await temporaryFolder(scope);
  await writeFile(join(folder, 'postrider.json'), '{ "hostname": "box" }');
  ({ api, token } = await startDev(scope, folder));
  const [block = ''] = codeBlocks(await howToPage('templates'), 'sh');
  const cwd = await temporaryFolder(scope);
  output = await inShell(besideServer(block), { cwd, env: { DATA: folder } });
  expect(await readdir(cwd)).toEqual([]);
});

describe('the pasted commands', () => {
  it('show the filled-in template, and send it', () => {
    expect(output.stdout).toContain('Subject:\nWelcome, Ann\n');
    expect(output.stdout).toContain('<p>Hello Ann,</p>');
    expect(output.stdout).toContain('confirm?token=a%20b%26c');
    expect(output.stdout).toContain('<p>1. Tea: 4 €</p>');
    expect(output.stdout).not.toContain('basket');
    expect(output.stdout.trim().split('\n').at(-1)).toMatch(UUID);
    // In development any domain sends, so nothing warns that this one was not added.
    expect(output.stderr).toBe('');
  });

  it('add the domain without a warning that the server has no full name', async () => {
    const added = await command(['domain', 'add', 'example.com', '--data', folder]);
    expect([added.code, added.stderr]).toEqual([0, '']);
    expect(added.stdout).toContain(' a:box ');
  });

  it('lead to mail that the sandbox caught', async () => {
    const [mail] = await until('the mail is captured', async () => {
      const { Items } = (await request('GET', `${api}sandbox/messages`, { token })).json;
      return Items.length === 1 ? Items : null;
    });
    expect(mail).toMatchObject({ Subject: 'Welcome, Ann', EnvelopeTo: 'ann@example.net' });
    const detail = (await request('GET', `${api}sandbox/messages/${mail.ID}`, { token })).json;
    expect(detail.HTMLContent).toContain('<p>1. Tea: 4 €</p>');
    expect(detail.PlainContent).toContain('https://example.com/confirm?token=a%20b%26c');
    expect(detail.Links.join(' ')).toContain('token=a%20b%26c');
  });
});

describe.skipIf(!hasCurl('the commands of one-time-codes.md'))('docs/howto/one-time-codes.md', () => {
  it('sends a code at once, and finds it in the mail', async () => {
    const [block = ''] = codeBlocks(await howToPage('one-time-codes'), 'sh');
    const script = besideServer(block).replace(/^api=.*$/m, `api=${api.replace(/\/$/, '')}`);
    const { stdout } = await inShell(script, { env: { DATA: folder } });
    const end = stdout.indexOf('}') + 1;
    const { MessageID } = JSON.parse(stdout.slice(0, end));
    expect(JSON.parse(stdout.slice(end))).toMatchObject({
      MessageID,
      Subject: '482913 is your code',
      Codes: ['482913'],
    });
    const sent = await request('GET', `${api}email/${MessageID}`, { token });
    expect(sent.json).toMatchObject({ Priority: 'critical' });
    const codes = await request('GET', `${api}templates?Name=login-code`, { token });
    await request('DELETE', `${api}templates/${codes.json.Items[0].TemplateID}`, { token });
  });
});

describe('the template commands', () => {
  const template = (...args: string[]) => command(['template', ...args, '--data', folder]);

  it('list, show, change and remove', async () => {
    const list = await template('list', '--json');
    const [{ TemplateID: id }] = JSON.parse(list.stdout);
    expect((await template('list')).stdout).toMatch(/welcome$/m);
    expect((await template('show', id)).stdout).toContain('Variables  name token items price');
    expect((await template('update', id, '--subject', 'Two')).stdout).toBe('Version 2.\n');
    expect((await template('render', id)).stdout).toBe('Subject:\nTwo\n');
    const first = await template('render', id, '--at', '1');
    expect(first.stdout).toContain('Your basket is empty.');
    expect(first.stderr).toBe('Missing: token\n');
    const strict = await template('render', id, '--at', '1', '--strict');
    expect([strict.code, strict.stderr]).toEqual([1, expect.stringContaining('token')]);
    expect((await template('update', id, '--subject', 'x', '--if-version', '1')).stderr).toContain(
      '--if-version 1 is not the newest; read',
    );
    expect((await template('update', id, '--name', 'hello', '--if-version', '2')).stdout).toBe(
      'Version 2.\n',
    );
    expect((await template('list')).stdout).toMatch(/hello$/m);
    expect((await template('remove', id)).stdout).toBe(`Removed ${id}.\n`);
    expect((await template('show', id)).code).toBe(1);
  });

  it('say where a mistake is, and what is missing on the command line', async () => {
    const wrong = await template('create', 'x', '--domain', 'example.com', '--subject', 'Hi {{name');
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('line 1, column 4');
    expect((await template('create', 'x', '--domain', 'example.com')).code).toBe(2);
    expect((await template('render', 'x', '--variables', '/nonexistent/file')).stderr).toContain(
      'cannot be read',
    );
    const from = ['--from', 'a@example.com', '--to', 'b@example.net', '--data', folder];
    expect((await command(['send', ...from, '--html', '-'])).stderr).toContain('give a subject');
    expect((await command(['send', ...from, '--subject', 'x', '--variables', '-'])).code).toBe(2);
  });
});
