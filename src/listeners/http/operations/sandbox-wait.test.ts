import { request as httpRequest } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { codesOf, MAIL, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

const wait = (query: string, token = world.tokens.own) =>
  world.call('GET', `/sandbox/wait?${query}`, { token });
async function caught(more: object, inbox?: string): Promise<string> {
  const id = await world.sendMail({ ...MAIL, CC: [], Sandbox: true, ...more });
  await world.captureAll(inbox);
  return id;
}
const list = async (query: string) =>
  (await world.call('GET', `/sandbox/messages?${query}`)).json() as {
    Items: { ID: string; Subject: string }[];
    HasMore: boolean;
    NextCursor: string | null;
  };

describe('GET /sandbox/wait', () => {
  it('answers the newest match at once, with its links and codes', async () => {
    await caught({ Subject: 'At once' });
    const id = await caught({ Subject: 'At once' });
    const reply = await wait('Subject=at%20once&Timeout=60');
    expect([reply.status, reply.json()]).toMatchObject([
      200,
      { MessageID: id, Codes: ['482913'], Links: ['https://example.com/a?b=1&c=2'] },
    ]);
  });

  it('answers the first match that arrives, long before its time is over', async () => {
    const waiting = wait('To=later@example.net&Timeout=60');
    const other = wait('To=later@example.net&Inbox=elsewhere&Timeout=1');
    await caught({ Subject: 'Not this one' });
    const id = await caught({ To: [{ email: 'later@example.net' }] });
    expect((await waiting).json().MessageID).toBe(id);
    expect((await other).status).toBe(408);
  });

  it('finds by what stands inside', async () => {
    const waiting = wait('Text=XYZZY&HasAttachment=true&Timeout=60');
    await caught({ PlainContent: 'the word is xyzzy' });
    const file = { Content: 'YQ==', Filename: 'a.txt' };
    const id = await caught({ HTMLContent: '<p>Xyzzy</p>', Attachments: [file] });
    expect((await waiting).json().MessageID).toBe(id);
  });

  it('gives up after its time with 408', async () => {
    const reply = await wait('Subject=never&Timeout=0');
    expect([reply.status, codesOf(reply)]).toEqual([408, [408]]);
    for (const query of ['Timeout=61', 'Timeout=x', 'HasAttachment=x']) {
      expect(codesOf(await wait(query))).toEqual([422]);
    }
  });

  it('says what was nearest when it gives up', async () => {
    await caught({ Subject: 'Welcome to the shop' }, 'near-1');
    const errorOf = async (query: string) => {
      const reply = await wait(`${query}&Timeout=0`);
      expect(reply.status).toBe(408);
      return reply.json() as { Error: string; Nearest: { Subject: string; Inbox: string }[] };
    };
    const wrongSubject = await errorOf('Inbox=near-1&Subject=Reset');
    expect(wrongSubject.Error).toMatch(
      /^No captured message matched within 0 seconds\. 1 mail is captured in inbox near-1, none of them with "reset" in the subject: "Welcome to the shop" to bob@example\.net in inbox near-1 at 20/,
    );
    expect(wrongSubject.Nearest).toMatchObject([{ Subject: 'Welcome to the shop', Inbox: 'near-1' }]);
    const wrongInbox = await errorOf('Inbox=naer-1');
    expect(wrongInbox.Error).toContain(
      'Nothing is captured in inbox naer-1; elsewhere: "Welcome to the shop"',
    );
    expect(wrongInbox.Nearest[0]?.Inbox).toBe('near-1');
    const nobody = await wait('Timeout=0', world.tokens.other);
    expect(nobody.json()).toMatchObject({ Nearest: [] });
    expect(nobody.json().Error).toContain('Nothing is captured at all');
  });

  it('shows nothing of other domains', async () => {
    const waiting = wait('Subject=private&Timeout=1', world.tokens.other);
    await caught({ Subject: 'Private' });
    expect((await waiting).status).toBe(408);
    expect(codesOf(await wait('Timeout=0', world.tokens.narrow))).toEqual([34]);
  });

  it('keeps a hundred inboxes apart', async () => {
    const inboxes = Array.from({ length: 100 }, (_, i) => `inbox-${i}`);
    const waiting = inboxes.map((inbox) => wait(`Inbox=${inbox}&Timeout=60`));
    for (const inbox of [...inboxes].reverse()) await caught({ Subject: inbox }, inbox);
    const subjects = (await Promise.all(waiting)).map((reply) => reply.json().Subject);
    expect(subjects).toEqual(inboxes);
  });

  it('forgets a client that has gone, and ends with the listener', async () => {
    const own = await openWorld();
    const headers = { authorization: `Bearer ${own.tokens.own}` };
    const url = `${own.at.url}/api/v1/sandbox/wait?Timeout=60`;
    const gone = httpRequest(url, { headers, agent: false });
    gone.on('error', () => {});
    gone.end();
    await new Promise((resolve) => gone.once('socket', (socket) => socket.once('connect', resolve)));
    gone.destroy();
    const waiting = own.call('GET', '/sandbox/wait?Timeout=60');
    await own.call('GET', '/me');
    await own.close();
    expect((await waiting).status).toBe(503);
  });
});

describe('GET /sandbox/messages with filters on what stands inside', () => {
  it('finds text in the subject and in both contents, in any case', async () => {
    await caught({ Subject: 'Plugh' });
    await caught({ PlainContent: 'plugh' });
    await caught({ HTMLContent: '<b>PLUGH</b>', PlainContent: '' });
    expect((await list('Text=plugh')).Items).toHaveLength(3);
    expect((await list('Text=plugh&Subject=plugh')).Items).toHaveLength(1);
    expect((await list('Text=nothing%20of%20this')).Items).toEqual([]);
  });

  it('finds what a reader sees, however it was encoded, and refuses to search for nothing', async () => {
    await caught({
      Subject: 'Folded',
      HTMLContent: '<p>Grüße aus<br>Köln, <i>東京</i></p>',
      PlainContent: '',
    });
    for (const text of ['GRÜSSE', 'grüße  aus Köln', '東京']) {
      const found = (await list(`Subject=folded&Text=${encodeURIComponent(text)}`)).Items.length;
      expect([text, found]).toEqual([text, text === 'GRÜSSE' ? 0 : 1]);
    }
    expect(codesOf(await world.call('GET', '/sandbox/messages?Text=%20'))).toEqual([422]);
    expect(codesOf(await world.call('GET', '/sandbox/messages?After=x'))).toEqual([422]);
  });

  it('goes on behind its cursor when what it named is gone', async () => {
    for (let n = 0; n < 4; n += 1) await caught({ Subject: `Row ${n}` }, 'paging');
    const first = await list('Inbox=paging&Limit=2');
    const [, last] = first.Items;
    await world.call('DELETE', `/sandbox/messages/${last?.ID}`);
    await caught({ Subject: 'Row 4' }, 'paging');
    const second = await list(`Inbox=paging&Limit=2&After=${first.NextCursor}`);
    expect(second.Items.map(({ Subject }) => Subject)).toEqual(['Row 1', 'Row 0']);
    expect(second.HasMore).toBe(false);
  });

  it('tells mail with files from mail without, and pages', async () => {
    const file = { Content: 'YQ==', Filename: 'a.txt' };
    const picture = { ...file, Disposition: 'inline', ContentId: 'p', Type: 'image/png' };
    for (const Attachments of [[file], [picture], [], [file, picture]]) {
      await caught({ Subject: 'Files', Tags: ['files'], Attachments });
    }
    expect((await list('Tag=files&HasAttachment=true')).Items).toHaveLength(2);
    expect((await list('Tag=files&HasAttachment=false')).Items).toHaveLength(2);
    const first = await list('Tag=files&HasAttachment=true&Limit=1');
    expect([first.Items.length, first.HasMore]).toEqual([1, true]);
    const second = await list(`Tag=files&HasAttachment=true&Limit=1&After=${first.NextCursor}`);
    expect([second.Items.length, second.Items[0]?.ID === first.Items[0]?.ID]).toEqual([1, false]);
  });
});
