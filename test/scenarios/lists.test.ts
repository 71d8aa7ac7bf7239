/**
 * Every list of the API as a program reads it: page by page to the end, each thing once, and a cursor or a limit that is
 * none is refused instead of taken for some place in the list.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, fileScope, type Instance, startInstance, until } from './harness.ts';

const scope = fileScope();
let server: Instance;
let token = '';

const MAIL = {
  From: { email: 'a@example.com' },
  To: [{ email: 'b@example.net' }],
  Subject: 'x',
  ContentType: 'Text',
  PlainContent: 'x',
};
const COUNT = 5;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
  const make = async (path: string, body: object) => {
    const made = await server.call('POST', path, { token, body });
    expect([path, made.status < 300]).toEqual([path, true]);
  };
  for (let n = 0; n < COUNT; n++) {
    await make('/email', MAIL);
    await make('/templates', { Name: `t${n}`, PlainContent: 'x' });
    await make('/smtp-credentials', { Name: `c${n}` });
    await make('/tokens', { Name: `k${n}`, Scopes: ['email:send'] });
    await make('/suppressions', { Items: [{ Email: `s${n}@example.org` }] });
    await server.call('POST', '/domains', { body: { Domain: `d${n}.example`, Verified: true } });
  }
  await until('the mail is captured', async () => {
    const list = await server.call('GET', '/sandbox/messages', { token });
    return list.json.Items.length === COUNT || null;
  });
});

// A list, and whether the administrator's token has to read it to see more than one.
const LISTS = [
  ['/email', false],
  ['/templates', false],
  ['/smtp-credentials', false],
  ['/tokens', false],
  ['/suppressions', false],
  ['/sandbox/messages', false],
  ['/domains', true],
] as const;

describe.each(LISTS)('GET %s', (path, asAdmin) => {
  const get = (query: string) => server.call('GET', `${path}?${query}`, asAdmin ? {} : { token });

  it('is read to its end, two at a time, each once', async () => {
    const seen: string[] = [];
    let query = 'Limit=2';
    for (let pages = 0; pages < 20; pages++) {
      const { status, json } = await get(query);
      expect(status).toBe(200);
      expect(Object.keys(json).sort()).toEqual(['HasMore', 'Items', 'NextCursor']);
      seen.push(...json.Items.map((item: object) => JSON.stringify(Object.values(item).slice(0, 2))));
      if (!json.HasMore) {
        expect(json.NextCursor).toBeNull();
        break;
      }
      expect(json.Items).toHaveLength(2);
      query = `limit=2&AFTER=${encodeURIComponent(json.NextCursor)}`;
    }
    expect(seen.length).toBeGreaterThanOrEqual(COUNT);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('refuses a limit and a cursor that are none, and overlooks names it does not know', async () => {
    for (const query of ['Limit=0', 'Limit=101', 'Limit=x', 'After=zzz', 'After=%00', 'After=-1']) {
      const { status, json } = await get(query);
      expect([query, status, json.Errors?.[0]]).toMatchObject([
        query,
        422,
        { Name: 'invalid-parameter', Field: query.startsWith('L') ? '/Limit' : '/After' },
      ]);
    }
    expect((await get('Colour=red&After=')).json).toEqual((await get('')).json);
  });
});
