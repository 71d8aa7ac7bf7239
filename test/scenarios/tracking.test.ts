/** Opens, clicks and one-click unsubscribing, from the request to the event, the webhook and the suppression list. */
import { request as httpRequest } from 'node:http';
import PostalMime from 'postal-mime';
import { beforeAll, describe, expect, it } from 'vitest';
import { type SmtpSink, startSmtpSink } from '../fakes/smtp-sink.ts';
import { addDomain, email, fileScope, type Instance, startInstance, until } from './harness.ts';
import { dkimVerdict, readMail } from './signed-mail.ts';
import { type Receiver, startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
const READER = 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0';
let server: Instance;
let sink: SmtpSink;
let hook: Receiver;
let token: string;

beforeAll(async () => {
  sink = await startSmtpSink();
  scope.defer(() => sink.close());
  hook = await startReceiver(scope);
  server = await startInstance(scope, {
    settings: {
      route: `smtp://127.0.0.1:${sink.port}`,
      'public-url': 'https://mail.postrider.test',
      'allow-networks': '127.0.0.0/8',
      submission: '127.0.0.1:0',
    },
  });
  token = await addDomain(server, 'example.com', { Preset: 'Full' });
  await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: hook.url } });
});

interface Visit {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: string;
}

/** One request with any Host, as a browser on the other side of a proxy makes it. */
function visit(
  url: string,
  given: { method?: string; host?: string; agent?: string; body?: string } = {},
): Promise<Visit> {
  const { port } = new URL(server.server.localUrl);
  const { pathname, host } = new URL(url);
  return new Promise((resolve, reject) => {
    const headers: Record<string, string> = { host: given.host ?? host };
    if (given.agent !== '') headers['user-agent'] = given.agent ?? READER;
    if (given.body !== undefined) headers['content-type'] = 'application/x-www-form-urlencoded';
    const outgoing = httpRequest(
      { host: '127.0.0.1', port, path: pathname, method: given.method ?? 'GET', headers },
      (answer) => {
        let body = '';
        answer.setEncoding('latin1');
        answer.on('data', (chunk: string) => {
          body += chunk;
        });
        answer.on('end', () => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body }));
      },
    );
    outgoing.on('error', reject);
    outgoing.end(given.body);
  });
}

/** What the sink got for a message, by recipient. */
async function copies(messageId: string): Promise<Map<string, Buffer>> {
  await server.settled(messageId);
  const own = sink.messages.filter(({ data }) => data.toString('latin1').includes(`<${messageId}@`));
  return new Map(own.map(({ rcpts, data }) => [rcpts[0] ?? '', Buffer.from(data)]));
}

async function htmlOf(data: Uint8Array): Promise<string> {
  return (await PostalMime.parse(new Uint8Array(data))).html ?? '';
}

const hrefs = (html: string): string[] => [...html.matchAll(/href="([^"]*)"/g)].map(([, url]) => url ?? '');
const pixelOf = (html: string): string => /<img src="([^"]*\/o\/[^"]*)"/.exec(html)?.[1] ?? '';
const oneClick = (data: Uint8Array): string =>
  /<(https?:[^>]*)>/.exec(readMail(data).header('list-unsubscribe')[0] ?? '')?.[1] ?? '';

async function eventsOf(messageId: string, kind: string): Promise<Record<string, unknown>[]> {
  const { json } = await server.call('GET', `/email/${messageId}/events?Limit=100`, { token });
  return json.Items.filter(({ Event }: { Event: string }) => Event === kind);
}

/** Nearer to its delivery a click is taken for a scanner's. */
async function aSecondAfter(messageId: string): Promise<void> {
  // Of every recipient's: they are not delivered at the same instant.
  const at = Math.max(...(await eventsOf(messageId, 'delivered')).map(({ At }) => Date.parse(String(At))));
  await until('a second has passed since the delivery', () => Date.now() > at + 1_000);
}

const TWO = [{ email: 'ann@example.net' }, { email: 'ben@example.net' }];
const HTML =
  '<html><body><p>Héllo 👩‍🚀</p><a href="https://shop.example/a?x=1&amp;y=%20z#f">A</a>' +
  '<a href=\'https://shop.example/b\'>B</a><a href="mailto:me@example.com">M</a>' +
  '<a href="https://shop.example/c" data-no-track>C</a></body></html>';

describe('a message with tracking', () => {
  let id: string;
  let mails: Map<string, Buffer>;

  beforeAll(async () => {
    id = await server.send(
      {
        To: TWO,
        BCC: [{ email: 'hidden@example.net' }],
        HTMLContent: HTML,
        Tracking: { Opens: true, Clicks: true },
      },
      { token },
    );
    mails = await copies(id);
  });

  it('reaches each recipient with own tokens, signed, and nothing of a BCC', async () => {
    expect([...mails.keys()].sort()).toEqual(['ann@example.net', 'ben@example.net', 'hidden@example.net']);
    const seen = new Set<string>();
    for (const data of mails.values()) {
      expect(await dkimVerdict(server, 'example.com', data)).toBe('pass');
      expect(data.toString('latin1').includes('hidden@')).toBe(false);
      const html = await htmlOf(data);
      const [a = '', b = '', mail, untracked] = hrefs(html.replaceAll("'", '"'));
      expect([mail, untracked]).toEqual(['mailto:me@example.com', 'https://shop.example/c']);
      for (const link of [a, b, pixelOf(html)]) {
        expect(link.startsWith('https://mail.postrider.test/')).toBe(true);
        seen.add(link);
      }
      for (const line of data.toString('latin1').split('\r\n')) expect(line.length).toBeLessThanOrEqual(998);
    }
    expect(seen.size).toBe(9);
  });

  it('redirects to the very target, and tells of it once it is sure who came', async () => {
    const html = await htmlOf(mails.get('ann@example.net') ?? Buffer.alloc(0));
    const [link = ''] = hrefs(html);
    await aSecondAfter(id);
    const answer = await visit(link);
    expect([answer.status, answer.headers.location]).toEqual([302, 'https://shop.example/a?x=1&y=%20z#f']);
    expect(answer.headers['set-cookie']).toBeUndefined();
    expect(answer.headers['cache-control']).toBe('no-store');
    const call = await hook.next('the click is told', ({ json }) => json.data.Event === 'clicked');
    expect(call.json.type).toBe('email.clicked');
    expect(call.json.data).toMatchObject({
      MessageID: id,
      To: 'ann@example.net',
      IPAddress: '127.0.0.1',
      UserAgent: READER,
      URL: 'https://shop.example/a?x=1&y=%20z#f',
      Bot: false,
    });
  });

  it('counts a picture that is fetched, marks a proxy, and does not count HEAD', async () => {
    const pixel = pixelOf(await htmlOf(mails.get('ben@example.net') ?? Buffer.alloc(0)));
    expect((await visit(pixel, { method: 'HEAD' })).status).toBe(200);
    const answer = await visit(pixel);
    expect([answer.status, answer.headers['content-type']]).toEqual([200, 'image/gif']);
    expect(answer.body.startsWith('GIF89a')).toBe(true);
    await visit(pixel, { agent: 'Mozilla/5.0' });
    await visit(pixel, {
      agent: 'Mozilla/5.0 (Windows NT 5.1) Firefox/11.0 (via ggpht.com GoogleImageProxy)',
    });
    const calls = await until('all opens are called', () => {
      const found = hook.calls.filter(({ json: { data } }) => data.Event === 'opened');
      return found.length >= 3 ? found : null;
    });
    expect(calls.map(({ json }) => [json.data.To, json.data.Bot]).sort()).toEqual([
      ['ben@example.net', false],
      ['ben@example.net', true],
      ['ben@example.net', true],
    ]);
    expect(await eventsOf(id, 'opened')).toHaveLength(3);
  });

  it('answers 404 to anything altered, moved to another host, or made up', async () => {
    const html = await htmlOf(mails.get('ann@example.net') ?? Buffer.alloc(0));
    const [link = '', other = ''] = hrefs(html.replaceAll("'", '"'));
    const at = link.indexOf('/c/') + 3;
    const altered = `${link.slice(0, at + 5)}${link[at + 5] === '0' ? '1' : '0'}${link.slice(at + 6)}`;
    const evil = Buffer.from('https://evil.example/').toString('base64url');
    const swapped = `${link.slice(0, at + 32)}${other.slice(at + 32)}`;
    for (const url of [altered, `${link.slice(0, at + 33)}${evil}`, swapped, `${link}x`, link.slice(0, -1)]) {
      const answer = await visit(url);
      expect([url, answer.status, answer.headers.location]).toEqual([url, 404, undefined]);
    }
    expect((await visit(link, { host: 'track.other.example' })).status).toBe(404);
    expect((await visit(link.replace('/c/', '/o/'))).status).toBe(404);
  });
});

describe('a scanner that follows everything in a second', () => {
  it('is marked, and unsubscribes nobody', async () => {
    const id = await server.send(
      {
        To: [{ email: 'scanned@example.net' }],
        Priority: 'bulk',
        HTMLContent: '<a href="https://a.example/">1</a><a href="https://b.example/">2</a>',
        Tracking: { Clicks: true },
      },
      { token },
    );
    const data = (await copies(id)).get('scanned@example.net') ?? Buffer.alloc(0);
    await aSecondAfter(id);
    const links = hrefs(await htmlOf(data));
    for (const url of [...links, oneClick(data)]) await visit(url);
    const clicks = await until('both clicks are stored', async () => {
      const found = hook.calls.filter(
        ({ json }) => json.data.MessageID === id && json.data.Event === 'clicked',
      );
      return found.length === 2 ? found : null;
    });
    expect(clicks.map(({ json }) => json.data.Bot)).toEqual([true, true]);
    expect(await eventsOf(id, 'unsubscribed')).toEqual([]);
    const list = await server.call('GET', '/suppressions?Email=scanned@example.net', { token });
    expect(list.json.Items).toEqual([]);
  });
});

describe('unsubscribing', () => {
  const send = (overrides: Record<string, unknown>) => server.send(overrides, { token });

  it('takes one POST, with or without a body, and tells of it once', async () => {
    const id = await send({ To: [{ email: 'leaves@example.net' }], ListUnsubscribe: true });
    const data = (await copies(id)).get('leaves@example.net') ?? Buffer.alloc(0);
    expect(readMail(data).header('list-unsubscribe-post')).toEqual(['List-Unsubscribe=One-Click']);
    const signature = readMail(data).header('dkim-signature')[0] ?? '';
    expect(signature.replace(/\s/g, '')).toMatch(/h=[^;]*:List-Unsubscribe:List-Unsubscribe-Post/);
    expect(await dkimVerdict(server, 'example.com', data)).toBe('pass');
    const url = oneClick(data);

    const page = await visit(url);
    expect([page.status, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.headers['content-security-policy']).toContain("default-src 'none'");
    expect(page.body).toContain('<form method="post">');
    expect(await eventsOf(id, 'unsubscribed')).toEqual([]);

    for (const body of ['List-Unsubscribe=One-Click', undefined, 'List-Unsubscribe=One-Click']) {
      const answer = await visit(url, { method: 'POST', ...(body === undefined ? {} : { body }) });
      expect([answer.status, answer.headers.location, answer.headers['set-cookie']]).toEqual([
        200,
        undefined,
        undefined,
      ]);
    }
    expect(await eventsOf(id, 'unsubscribed')).toHaveLength(1);
    const { Items } = (await server.call('GET', '/suppressions?Email=leaves@example.net', { token })).json;
    expect(Items).toMatchObject([{ Reason: 'Unsubscribe' }]);
    await hook.next('the opt-out is told', ({ json }) => json.type === 'email.unsubscribed');
  });

  it('stops bulk and what can be unsubscribed from, and nothing else', async () => {
    const to = { To: [{ email: 'leaves@example.net' }] };
    const refused = { status: 422, json: { Errors: [{ Code: 14 }] } };
    expect(
      await server.call('POST', '/email', { token, body: email({ ...to, Priority: 'bulk' }) }),
    ).toMatchObject(refused);
    expect(
      await server.call('POST', '/email', { token, body: email({ ...to, ListUnsubscribe: true }) }),
    ).toMatchObject(refused);
    const receipt = await send(to);
    expect((await server.settled(receipt)).Status).toBe('Delivered');
    const code = await send({ ...to, Priority: 'critical', ListUnsubscribe: true });
    expect((await server.settled(code)).Status).toBe('Delivered');
    const [data = Buffer.alloc(0)] = (await copies(code)).values();
    expect(readMail(data).header('list-unsubscribe')).toEqual([]);
  });

  it('is offered by bulk always, by others when asked, and never beside the sender’s own', async () => {
    const header = async (overrides: Record<string, unknown>) => {
      const id = await send({ To: [{ email: 'offered@example.net' }], ...overrides });
      const [data = Buffer.alloc(0)] = (await copies(id)).values();
      return readMail(data).header('list-unsubscribe');
    };
    expect(await header({})).toEqual([]);
    expect(await header({ Priority: 'bulk', ListUnsubscribe: false })).toHaveLength(1);
    expect((await header({ ListUnsubscribe: true }))[0]).toMatch(
      /^<https:\/\/mail\.postrider\.test\/u\/[0-9a-z]{32}>$/,
    );
    const own = '<https://own.example/leave>';
    expect(await header({ Priority: 'bulk', Headers: { 'List-Unsubscribe': own } })).toEqual([own]);
  });

  it('plays in the sandbox without a suppression, with the very bytes of the copy', async () => {
    const id = await send({ To: [{ email: 'simulated@example.net' }], Sandbox: true, ListUnsubscribe: true });
    await server.settled(id);
    const { Items } = (await server.call('GET', '/sandbox/messages?To=simulated@example.net', { token }))
      .json;
    const raw = await server.call('GET', `/sandbox/messages/${Items[0].ID}/raw`, { token });
    expect(await dkimVerdict(server, 'example.com', raw.bytes)).toBe('pass');
    expect((await visit(oneClick(raw.bytes), { method: 'POST' })).status).toBe(200);
    expect((await visit(oneClick(raw.bytes), { method: 'POST' })).status).toBe(200);
    expect(await eventsOf(id, 'unsubscribed')).toHaveLength(1);
    expect(
      (await server.call('GET', '/suppressions?Email=simulated@example.net', { token })).json.Items,
    ).toEqual([]);
  });
});

describe('a domain’s settings', () => {
  it('hold for mail that says nothing, on a host of its own', async () => {
    const domain = 'tracked.example';
    const own = await addDomain(server, domain, { Preset: 'Full' });
    const bad = await server.call('PATCH', `/domains/${domain}`, {
      body: { TrackingHost: 'track.example.com' },
    });
    expect(bad.status).toBe(422);
    const set = await server.call('PATCH', `/domains/${domain}`, {
      body: { Tracking: { Clicks: true }, TrackingHost: `track.${domain}`, ListUnsubscribe: true },
    });
    expect(set.json).toMatchObject({ Tracking: { Opens: false, Clicks: true }, ListUnsubscribe: true });
    expect(set.json.DnsRecords).toContainEqual(
      expect.objectContaining({ Type: 'CNAME', Host: `track.${domain}`, Value: 'mail.postrider.test' }),
    );
    const id = await server.send(
      {
        From: { email: `a@${domain}` },
        To: [{ email: 'far@example.net' }],
        HTMLContent: '<a href="https://x.example/">x</a>',
      },
      { token: own },
    );
    const [data = Buffer.alloc(0)] = (await copies(id)).values();
    const [link = ''] = hrefs(await htmlOf(data));
    expect(link.startsWith(`https://track.${domain}/c/`)).toBe(true);
    expect((await visit(link)).headers.location).toBe('https://x.example/');
    // Not on any other host, the server's own included.
    expect((await visit(link, { host: '127.0.0.1' })).status).toBe(404);
    expect(oneClick(data).startsWith(`https://track.${domain}/u/`)).toBe(true);
    const without = await server.send(
      {
        From: { email: `a@${domain}` },
        To: [{ email: 'far@example.net' }],
        HTMLContent: '<a href="https://x.example/">x</a>',
        Tracking: { Clicks: false },
        ListUnsubscribe: false,
      },
      { token: own },
    );
    const [plain = Buffer.alloc(0)] = (await copies(without)).values();
    expect(hrefs(await htmlOf(plain))).toEqual(['https://x.example/']);
  });
});

describe('a large message', () => {
  it('is tracked like a small one, though a worker composes it', async () => {
    const filler = `<p>${'words and more words '.repeat(20_000)}</p>`;
    const id = await server.send(
      {
        To: [{ email: 'large@example.net' }],
        HTMLContent: `${filler}<a href="https://end.example/">end</a>`,
        Tracking: { Clicks: true },
      },
      { token },
    );
    const [data = Buffer.alloc(0)] = (await copies(id)).values();
    const [link = ''] = hrefs(await htmlOf(data));
    expect((await visit(link)).headers.location).toBe('https://end.example/');
    expect(await dkimVerdict(server, 'example.com', data)).toBe('pass');
  });
});

describe('a server without a public address', () => {
  const withSettings = async (settings: Record<string, string>) => {
    const own = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${sink.port}`, 'allow-networks': '127.0.0.0/8', ...settings },
    });
    await own.call('POST', '/domains', { body: { Domain: 'example.com', Verified: true } });
    const wish = { Priority: 'bulk', HTMLContent: HTML, Tracking: { Opens: true, Clicks: true } };
    const id = await own.send(wish);
    await own.settled(id);
    const sent = sink.messages.find(({ data }) => data.toString('latin1').includes(`<${id}@`));
    const data = Buffer.from(sent?.data ?? '');
    const field = (name: string) => readMail(data).header(name);
    const links = [...field('list-unsubscribe'), ...field('list-unsubscribe-post')];
    return { own, data, links, text: data.toString('latin1') };
  };

  it('sends no link that only this machine can open, and says so in status and doctor', async () => {
    const { own, data, links, text } = await withSettings({});
    expect(links).toEqual([]);
    expect(text).not.toContain('127.0.0.1:');
    expect(hrefs(await htmlOf(data))).toContain('https://shop.example/a?x=1&amp;y=%20z#f');
    const { Instance: checks } = (await own.call('GET', '/doctor')).json;
    const check = checks.find(({ Name }: { Name: string }) => Name === 'links');
    expect([check.Status, check.Message]).toEqual(['Warning', expect.stringContaining('http://127.0.0.1')]);
    const { Items } = (await own.call('GET', '/attention')).json;
    expect(Items).toContainEqual(expect.objectContaining({ Subject: 'links', Severity: 'Warning' }));
    const checked = await own.call('POST', '/email/validate', { body: email({ ListUnsubscribe: true }) });
    expect(checked.json.Warnings).toMatchObject([{ Name: 'unsubscribe-missing' }]);
  });

  it('does not write to those who have opted out, where the header was asked for', async () => {
    const { own } = await withSettings({});
    const Items = [{ Email: 'left@example.net', Reason: 'Unsubscribe' }];
    await own.call('POST', '/suppressions', { body: { Items, Domain: 'example.com' } });
    const To = [{ email: 'left@example.net' }];
    const answer = await own.call('POST', '/email', { body: email({ To, ListUnsubscribe: true }) });
    expect(answer).toMatchObject({ status: 422, json: { Errors: [{ Code: 14 }] } });
    expect((await own.call('POST', '/email', { body: email({ To }) })).status).toBe(200);
  });

  it('has an address instead, where returned mail is read', async () => {
    const { links } = await withSettings({ returns: '127.0.0.1:0', 'bounce-domain': 'b.example.com' });
    expect(links).toEqual([
      expect.stringMatching(/^<mailto:u-[0-9a-z]+-?[0-9a-z]*@b\.example\.com\?subject=unsubscribe>$/),
    ]);
  });

  it('promises no one-click without https', async () => {
    const { links } = await withSettings({ 'public-url': 'http://links.example.com' });
    expect(links).toEqual([expect.stringMatching(/^<http:\/\/links\.example\.com\/u\/[0-9a-z]{32}>$/)]);
  });
});
