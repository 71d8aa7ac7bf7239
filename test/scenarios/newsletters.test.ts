/** docs/howto/newsletters.md: its shell blocks, pasted one after another into one shell beside a server of `dev`. */
import { readdir } from 'node:fs/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { hasCurl } from './commands.ts';
import { fileScope, request, temporaryFolder, until } from './harness.ts';
import { besideServer, codeBlocks, howToPage, inShell, startDev } from './how-to-page.ts';

const scope = fileScope();

let api = '';
let token = '';
let outputs: string[] = [];

beforeAll(async () => {
  const server = await startDev(scope);
  ({ api, token } = server);
  const cwd = await temporaryFolder(scope);
  const env = { DATA: server.folder, api: api.replace(/\/$/, '') };
  const blocks = codeBlocks(await howToPage('newsletters'), 'sh').map(besideServer);
  const pasted = blocks.join("\nprintf '\\t\\t\\n'\n").replace(/^api=.*$/m, '');
  outputs = (await inShell(pasted, { cwd, env })).stdout.split('\t\t\n');
  expect(await readdir(cwd)).toEqual([]);
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
