/** docs/howto/move-from-another-provider.md: its commands are pasted, and every request of it is one the API takes. */
import { beforeAll, describe, expect, it } from 'vitest';
import { fileScope, request, temporaryFolder } from './harness.ts';
import { besideServer, codeBlocks, howToPage, inShell, startDev } from './how-to-page.ts';

const scope = fileScope();

let api = '';
let token = '';
let page = '';
let trial = '';

beforeAll(async () => {
  const server = await startDev(scope);
  ({ api, token } = server);
  const cwd = await temporaryFolder(scope);
  page = await howToPage('move-from-another-provider');
  for (const block of codeBlocks(page, 'sh')) {
    const { stdout } = await inShell(besideServer(block), { cwd, env: { DATA: server.folder } });
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
    const bodies = codeBlocks(page, 'json');
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
