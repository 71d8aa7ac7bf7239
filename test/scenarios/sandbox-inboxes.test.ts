/** Many test runs on one server: each inbox sees its own mail and nothing else, while all of them wait at once. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

const INBOXES = 100;
const MAILS = 100;
const scope = fileScope();
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope, { settings: { 'log-level': 'warn' } });
  token = await addDomain(server, 'example.com');
});

interface Found {
  Items: { Inbox: string; Count: number; Subject: string; EnvelopeTo: string }[];
  NextCursor: string | null;
}

async function all(path: string): Promise<Found['Items']> {
  const items: Found['Items'] = [];
  for (let after = ''; ; ) {
    const page: Found = (await server.call('GET', `${path}&Limit=100${after}`, { token })).json;
    items.push(...page.Items);
    if (page.NextCursor === null) return items;
    after = `&After=${page.NextCursor}`;
  }
}

describe('a hundred inboxes', () => {
  it('show no cross-talk while mail for all of them comes in at once', { timeout: 240_000 }, async () => {
    const inboxes = Array.from({ length: INBOXES }, (_, i) => `run-${i}`);
    const mails = inboxes.flatMap((inbox) =>
      Array.from({ length: MAILS }, (_, n) =>
        email({
          Sandbox: true,
          To: [{ email: `user+${inbox}@example.net` }],
          Subject: `${inbox} mail ${n};`,
        }),
      ),
    );
    // Every inbox gets its mail spread over the whole time: neighbours in a batch are for different inboxes.
    mails.sort((a, b) => spread(String(a.Subject)) - spread(String(b.Subject)));
    /** One test run: waits for its mails one after the other, as they come. */
    const run = async (inbox: string): Promise<string[]> => {
      const seen: string[] = [];
      for (const n of [MAILS - 1, 0, Math.floor(MAILS / 2)]) {
        const wanted = encodeURIComponent(`mail ${n};`);
        const path = `/sandbox/wait?Inbox=${inbox}&Subject=${wanted}&Timeout=60`;
        for (let tries = 0; tries < 4; tries++) {
          const answer = await server.call('GET', path, { token });
          if (answer.status === 408) continue;
          seen.push(answer.json.Subject);
          break;
        }
      }
      return seen;
    };
    const runs = inboxes.map(run);
    for (let i = 0; i < mails.length; i += 100) {
      const body = { Messages: mails.slice(i, i + 100) };
      expect((await server.call('POST', '/email/batch', { token, body })).status).toBe(200);
    }
    const seen = await Promise.all(runs);
    inboxes.forEach((inbox, i) => {
      const wanted = [MAILS - 1, 0, Math.floor(MAILS / 2)].map((n) => `${inbox} mail ${n};`);
      expect(seen[i]).toEqual(wanted);
    });
    const counted = await all('/sandbox/inboxes?Domain=example.com');
    expect(counted.map(({ Inbox, Count }) => [Inbox, Count]).sort()).toEqual(
      inboxes.map((inbox) => [inbox, MAILS]).sort(),
    );
    for (const inbox of inboxes.slice(0, 5)) {
      const found = await all(`/sandbox/messages?Inbox=${inbox}`);
      expect(new Set(found.map(({ EnvelopeTo }) => EnvelopeTo))).toEqual(
        new Set([`user+${inbox}@example.net`]),
      );
      expect(new Set(found.map(({ Subject }) => Subject)).size).toBe(MAILS);
    }
  });

  it('are emptied one by one', async () => {
    const gone = await server.call('DELETE', '/sandbox/messages?Inbox=RUN-7', { token });
    expect(gone.json).toEqual({ Deleted: MAILS });
    expect(await all('/sandbox/messages?Inbox=run-7')).toEqual([]);
    expect(await all('/sandbox/messages?Inbox=run-8')).toHaveLength(MAILS);
    const typo = await server.call('DELETE', '/sandbox/messages?Inbx=run-8', { token });
    expect([typo.status, typo.json.Errors[0].Code]).toEqual([422, 422]);
    const cursor = await server.call('GET', '/sandbox/inboxes?After=nonsense', { token });
    expect([cursor.status, cursor.json.Errors[0].Code]).toEqual([422, 422]);
  });
});

describe('an inbox without a label', () => {
  it('is named after the token, and seen only by who may see the domain', async () => {
    const other = await addDomain(server, 'other.example', { Name: 'Branch Login', Sandbox: true });
    const from = { From: { email: 'a@other.example' }, To: [{ email: 'somebody@example.net' }] };
    const id = await server.send(from, { token: other });
    const { MessageID, Inbox } = (
      await server.call('GET', '/sandbox/wait?Inbox=branch%20login&Timeout=20', { token: other })
    ).json;
    expect([MessageID, Inbox]).toEqual([id, 'branch login']);
    const inboxes = async (asker: string) =>
      (await server.call('GET', '/sandbox/inboxes?Limit=100', { token: asker })).json.Items.map(
        (item: { Inbox: string }) => item.Inbox,
      );
    expect(await inboxes(other)).toEqual(['branch login']);
    expect(await inboxes(token)).not.toContain('branch login');
    const strange = await server.call('DELETE', '/sandbox/messages?Inbox=branch%20login', { token });
    expect(strange.json).toEqual({ Deleted: 0 });
    const narrow = await makeToken(server, { Domains: ['example.com'], Scopes: ['email:send'] });
    expect((await server.call('GET', '/sandbox/inboxes', { token: narrow })).status).toBe(403);
  });
});

/** A stable order that has nothing to do with the text's own. */
function spread(text: string): number {
  let hash = 7;
  for (const char of text) hash = (hash * 31 + char.charCodeAt(0)) % 1_000_003;
  return hash;
}
