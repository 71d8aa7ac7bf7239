import { createServer, type ServerResponse } from 'node:http';
import { Registry } from 'prom-client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import { uuidv7 } from '../../lib/ids.ts';
import { SCOPES } from '../../model/token.ts';
import { createHealthRoutes } from '../health/health.ts';
import { type Reply, send } from './test-support.ts';
import { type CallOptions, codesOf as codes, openWorld, MAIL as TO_TWO, type World } from './test-world.ts';

const MAIL = { ...TO_TWO, CC: [], BCC: [{ email: 'hidden@example.net' }] };

let world: World;
let at: World['at'];
let tokens: { own: string; other: string; admin: string };

beforeAll(async () => {
  world = await openWorld({
    webhooks: { maxPerDomain: 3 },
    parts: {
      routes: createHealthRoutes({
        metricsFrom: [],
        ready: async () => [{ name: 'store', ok: world.store.writable().ok, detail: '' }],
        prove: (challenge) => `proof of ${challenge}`,
        metrics: new Registry(),
        access: { authenticate: (header, ip) => world.at.access.authenticate(header, ip) },
      }),
    },
  });
  at = world.at;
  await world.domains.add({ name: 'pending.example', operatorVerified: false });
  const scopes = SCOPES.filter((scope) => scope !== 'admin');
  tokens = { ...world.tokens, own: await at.token({ domains: ['example.com', 'pending.example'], scopes }) };
});
afterAll(() => world.close());

function call(method: string, path: string, given: CallOptions = {}): Promise<Reply> {
  return world.call(method, path, { token: tokens.own, ...given });
}

/** The answers that come first. */
function firstOf(replies: readonly Promise<Reply>[], count: number): Promise<Reply[]> {
  const come: Reply[] = [];
  return new Promise((resolve) => {
    for (const reply of replies)
      void reply.then((given) => {
        if (come.push(given) === count) resolve([...come]);
      });
  });
}

const sendMail = (mail: object = MAIL): Promise<string> => world.sendMail(mail, tokens.own);

/** Plays the sandbox's part for the recipients of one message. */
async function capture(messageId: string): Promise<void> {
  const { store, epoch, random } = world;
  const now = systemClock.now();
  for (const hint of await store.dueQueues({ dueBefore: now + 1000, limit: 100 })) {
    const rows = await store.claimDue({
      queueId: hint.queueId,
      epoch,
      now: now + 1000,
      limit: 100,
      maxBytes: 1e9,
      eventId: uuidv7(systemClock, random),
    });
    await store.settle({
      now,
      settlements: rows
        .filter((row) => row.messageId === messageId)
        .map((row) => ({
          deliveryId: row.id,
          epoch,
          state: 'delivered' as const,
          countAttempt: true,
          route: 'sandbox' as const,
          events: [
            {
              id: uuidv7(systemClock, random),
              kind: 'delivered' as const,
              at: now,
              detail: { conversation: 'S: 220' },
            },
          ],
          capture: {
            id: uuidv7(systemClock, random),
            at: now,
            envelopeFrom: 'b@bounce.example.org',
            inbox: 'example.com',
            prefix: Buffer.from('X-Trace: one\r\n'),
          },
        })),
    });
  }
}

describe('mail, from the request to what is stored', () => {
  it('stores a message and shows its summary, recipients, timeline and bytes to its own token only', async () => {
    const id = await sendMail();
    const detail = (await call('GET', `/email/${id}`)).json();
    expect(detail).toMatchObject({ MessageID: id, Status: 'Queued', Subject: 'Your code', Tags: ['login'] });
    expect(detail.Recipients).toMatchObject([
      { Email: 'bob@example.net', Type: 'To', Status: 'Queued' },
      { Email: 'hidden@example.net', Type: 'BCC' },
    ]);
    const timeline = (await call('GET', `/email/${id}/events`)).json();
    expect(timeline.Items).toMatchObject([{ Event: 'accepted' }, { Event: 'accepted' }]);
    const raw = await call('GET', `/email/${id}/raw`);
    expect(raw.headers['content-type']).toBe('message/rfc822');
    expect(raw.text).toContain('Subject: Your code');
    expect(raw.text).not.toContain('hidden@example.net');
    for (const path of [`/email/${id}`, `/email/${id}/events`, `/email/${id}/raw`]) {
      expect((await call('GET', path, { token: tokens.other })).status).toBe(404);
      expect((await call('GET', path, { token: tokens.admin })).status).toBe(200);
    }
    expect((await call('GET', '/email/nonsense')).status).toBe(404);
  });

  it('pages and filters the list', async () => {
    const ids = [
      await sendMail({ ...MAIL, Subject: 'Page one' }),
      await sendMail({ ...MAIL, Subject: 'page two' }),
    ];
    const first = (await call('GET', '/email?limit=1&subject=page')).json();
    expect(first).toMatchObject({ Items: [{ MessageID: ids[1] }], HasMore: true });
    const second = (await call('GET', `/email?Limit=1&Subject=PAGE&After=${first.NextCursor}`)).json();
    expect(second).toMatchObject({ Items: [{ MessageID: ids[0] }], HasMore: false, NextCursor: null });
    expect((await call('GET', '/email?Subject=page&Status=Queued')).json().Items).toHaveLength(2);
    expect((await call('GET', '/email?Subject=page&Status=Delivered')).json().Items).toHaveLength(0);
    expect((await call('GET', '/email', { token: tokens.other })).json().Items).toEqual([]);
    expect(codes(await call('GET', '/email?Limit=101'))).toEqual([422]);
    expect(codes(await call('GET', '/email?Status=x'))).toEqual([422]);
  });

  it('tells a foreign domain from one that is not verified', async () => {
    const from = (email: string) => ({ ...MAIL, From: { email } });
    for (const email of [
      'a@other.example',
      'a@evil-example.com',
      'a@example.com.evil.net',
      'a@sub.example.com',
    ]) {
      expect(codes(await call('POST', '/email', { body: from(email) }))).toEqual([33]);
    }
    expect(codes(await call('POST', '/email', { body: from('a@pending.example') }))).toEqual([32]);
  });

  it('makes one message of twenty requests with one key', async () => {
    const headers = { 'idempotency-key': 'twenty' };
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => call('POST', '/email', { body: MAIL, headers })),
    );
    const ids = new Set(replies.filter((r) => r.status === 200).map((r) => r.json().MessageID));
    expect(ids.size).toBe(1);
    expect(replies.every((r) => r.status === 200 || r.status === 409)).toBe(true);
    const replay = await call('POST', '/email', { body: MAIL, headers });
    expect([replay.json().MessageID, replay.headers['idempotency-replayed']]).toEqual([[...ids][0], 'true']);
    expect(codes(await call('POST', '/email', { body: { ...MAIL, Tags: [] }, headers }))).toEqual([1702]);
    expect(
      codes(await call('POST', '/email', { body: MAIL, headers: { 'idempotency-key': 'a b' } })),
    ).toEqual([1701]);
  });

  it('takes a large body through the worker with the same result', async () => {
    const file = { Content: Buffer.alloc(600_000, 1).toString('base64'), Filename: 'a.bin' };
    const id = await sendMail({ ...MAIL, Attachments: [file] });
    expect((await call('GET', `/email/${id}`)).json().Size).toBeGreaterThan(800_000);
    expect((await call('GET', `/email/${id}/raw`)).text).toContain('filename="a.bin"');
  });
});

describe('GET /events', () => {
  it('answers the frozen shape with pairs, in any case of its query names', async () => {
    const id = await sendMail();
    const list = (await call('GET', `/events?MessageId=${id}`)).json() as unknown as {
      TotalRecords: number;
      Events: Record<string, unknown>[];
    };
    expect(Object.keys(list)).toEqual(['TotalRecords', 'Events']);
    expect(list.TotalRecords).toBe(2);
    expect(list.Events[0]).toEqual({
      Event: 'accepted',
      LoggedAt: expect.any(Number),
      LogLevel: 'Info',
      Message: {
        Headers: {
          MessageId: id,
          From: [['Ann', 'ann@example.com']],
          ReplyTo: [],
          To: [['Bob', 'bob@example.net']],
          Cc: [],
          Bcc: [['', 'hidden@example.net']],
          Subject: 'Your code',
        },
        Size: expect.any(Number),
        Transport: 'smtp',
      },
      Recipient: expect.any(String),
      Reason: '',
      Ip: '',
      Geolocation: { City: '', Region: '', Country: '' },
    });
    const total = async (query: string) =>
      (await call('GET', `/events?messageid=${id}&${query}`)).json().TotalRecords;
    expect(await total('event=accepted')).toBe(2);
    expect(await total('Event=failed')).toBe(0);
    expect(await total('Recipient=bob@example.net')).toBe(1);
    expect(await total('StartDate=1&EndDate=2')).toBe(0);
    expect(await total('Tag=login&RetrieveCount=1')).toBe(2);
  });

  it('refuses what is no number and no event, and hides other domains', async () => {
    for (const query of ['StartFrom=-1', 'RetrieveCount=0', 'StartDate=x', 'Event=nothing']) {
      expect(codes(await call('GET', `/events?${query}`))).toEqual([422]);
    }
    expect((await call('GET', '/events', { token: tokens.other })).json()).toEqual({
      TotalRecords: 0,
      Events: [],
    });
    expect((await call('GET', '/events?Domain=other.example')).status).toBe(404);
  });
});

describe('a parameter that is not known', () => {
  const strict = { headers: { prefer: 'handling=strict' } };

  it.each([
    ['/email?Statuss=Bounced', '/statuss', 'did you mean Status?'],
    ['/email?Limit=1&Recipient=bob@example.net', '/recipient', 'known: From, To, '],
    ['/events?RetrieveCount=1&Metadata.order=1', '/metadata.order', 'known: StartDate, '],
    ['/events/stream?Evnt=bounced', '/evnt', 'did you mean Event?'],
    ['/webhooks?Domian=example.com', '/domian', 'did you mean Domain?'],
    ['/sandbox/wait?Timeout=1&Inbx=shop', '/inbx', 'did you mean Inbox?'],
  ])('is named where the caller wants strict handling: %s', async (path, field, hint) => {
    const reply = await call('GET', path, strict);
    expect(codes(reply)).toEqual([422]);
    expect(reply.json().Errors).toMatchObject([{ Field: field, Message: expect.stringContaining(hint) }]);
  });

  it('is named together with every value that is wrong', async () => {
    expect((await call('GET', '/email?Limit=0&Tagg=a', strict)).json().Errors).toMatchObject([
      { Field: '/tagg' },
      { Field: '/Limit' },
    ]);
  });

  it('is passed over by other calls, and where an operation takes none; the keys of Metadata are known', async () => {
    expect((await call('GET', '/email?Statuss=Bounced')).status).toBe(200);
    expect((await call('GET', '/openapi.json?v=1', strict)).status).toBe(200);
    expect((await call('GET', '/email?metadata.Order=1', strict)).status).toBe(200);
  });

  it('is offered by the document for every operation with parameters, also without a body', async () => {
    const paths = (await call('GET', '/openapi.json')).json().paths as Record<string, { get: object }>;
    const offered = (path: string) => JSON.stringify(paths[path]?.get).includes('parameters/Prefer');
    expect(['/email', '/events', '/openapi.json'].map(offered)).toEqual([true, true, false]);
  });
});

describe('webhooks', () => {
  const create = (token: string, body: object, headers = {}) =>
    call('POST', '/webhooks', { token, body, headers });
  const hook = { Event: 'delivered', WebhookURL: 'http://127.0.0.1:9/x', Domain: 'example.com' };

  it('creates, lists, shows and deletes in the exact shapes', async () => {
    const made = (await create(tokens.own, hook)).json();
    expect(Object.keys(made)).toEqual(['NewWebhookID', 'Secret']);
    expect(made.Secret).toMatch(/^whsec_/);
    const listed = (
      await call('GET', '/webhooks', { headers: { 'content-type': 'application/json' } })
    ).json();
    expect(listed).toEqual({
      Webhooks: [
        {
          WebhookID: made.NewWebhookID,
          CreatedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
          UpdatedAt: expect.any(String),
          Status: 'Enabled',
          WebhookURL: 'http://127.0.0.1:9/x',
          Event: 'delivery',
          LastResponseCode: 0,
          LastResponseBody: '',
          LastResponseAt: '1899-11-30T00:00:00.000Z',
          LastResponseTryCounter: 0,
        },
      ],
    });
    const path = `/webhooks/${made.NewWebhookID}`;
    expect((await call('GET', path)).json()).toMatchObject({ Domain: 'example.com', DisabledReason: null });
    for (const [method, suffix] of [
      ['GET', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['GET', '/deliveries/1'],
    ] as const) {
      expect((await call(method, path + suffix, { token: tokens.other })).status).toBe(404);
    }
    expect((await call('GET', `${path}/deliveries`)).json()).toEqual({
      Items: [],
      HasMore: false,
      NextCursor: null,
    });
    expect((await call('PUT', path, { body: {} })).status).toBe(405);
    const gone = await call('DELETE', path, { headers: { 'content-type': 'application/json' } });
    expect([gone.status, gone.text]).toEqual([200, '{}']);
    expect((await call('DELETE', path)).status).toBe(404);
    expect((await call('DELETE', '/webhooks/abc')).status).toBe(404);
  });

  it('names what is wrong with a new one', async () => {
    expect(codes(await create(tokens.own, {}))).toEqual([1902, 1901]);
    expect(codes(await create(tokens.own, { ...hook, WebhookURL: 'example.com/x' }))).toEqual([1901]);
    expect(codes(await create(tokens.own, { ...hook, WebhookURL: 'http://10.0.0.1/' }))).toEqual([1901]);
    expect(codes(await create(tokens.own, { ...hook, Domain: undefined }))).toEqual([2003]);
    expect((await create(tokens.own, { ...hook, Domain: 'other.example' })).status).toBe(404);
  });

  it('repeats the first answer of a key, the secret included, and stops at the limit', async () => {
    const headers = { 'idempotency-key': 'hook' };
    const body = { ...hook, Domain: 'other.example', Event: '*' };
    const first = await create(tokens.other, body, headers);
    const second = await create(tokens.other, body, headers);
    expect(second.text).toBe(first.text);
    expect(second.headers['idempotency-replayed']).toBe('true');
    await create(tokens.other, body);
    await create(tokens.other, body);
    expect(codes(await create(tokens.other, body))).toEqual([1903]);
  });

  it('sends a signed sample on request', async () => {
    const seen = Promise.withResolvers<string | undefined>();
    const server = createServer((request, response) => {
      seen.resolve(request.headers['webhook-signature'] as string | undefined);
      response.end('thanks');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const made = (await create(tokens.own, { ...hook, WebhookURL: `http://127.0.0.1:${port}/h` })).json();
    const result = (await call('POST', `/webhooks/${made.NewWebhookID}/test`)).json();
    expect(result).toMatchObject({ StatusCode: 200, Body: 'thanks', Error: '' });
    expect(await seen.promise).toMatch(/^v1,/);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    const replay = await call('POST', `/webhooks/${made.NewWebhookID}/replay`, { body: { Since: 0 } });
    expect(replay.json()).toEqual({ Queued: expect.any(Number), NextCursor: null });
    expect(codes(await call('POST', `/webhooks/${made.NewWebhookID}/replay`, { body: {} }))).toEqual([422]);
    const byId = { Since: 0, DeliveryIDs: [1] };
    expect((await call('POST', `/webhooks/${made.NewWebhookID}/replay`, { body: byId })).status).toBe(422);
  });

  it('sends few samples at once, however long their receiver takes', async () => {
    const waiting: ServerResponse[] = [];
    const server = createServer((_, response) => void waiting.push(response));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const made = (await create(tokens.own, { ...hook, WebhookURL: `http://127.0.0.1:${port}/h` })).json();
    const test = () => call('POST', `/webhooks/${made.NewWebhookID}/test`);
    const many = Array.from({ length: 12 }, test);
    const refused = await firstOf(many, 7);
    for (const reply of refused)
      expect([reply.status, codes(reply), reply.headers['retry-after']]).toEqual([429, [429], '5']);
    await expect.poll(() => waiting.length).toBe(5);
    for (const response of waiting) response.end();
    const statuses = (await Promise.all(many)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(7).fill(429)]);
    const last = test();
    await expect.poll(() => waiting.length).toBe(6);
    waiting.at(-1)?.end();
    expect((await last).status).toBe(200);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await call('DELETE', `/webhooks/${made.NewWebhookID}`);
  });
});

describe('domains', () => {
  it('are made in turns, of which one tenant has few: their keys take the threads that sign mail', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `many-${i}.example`);
    const token = await at.token({ domains: names, scopes: ['domains:write'] });
    const gate = Promise.withResolvers<void>();
    const { add } = world.domains;
    world.domains.add = (given) => gate.promise.then(() => add(given));
    const create = (Domain: string, by: string) => call('POST', '/domains', { token: by, body: { Domain } });
    const many = names.map((name) => create(name, token));
    for (const { status } of await firstOf(many, 4)) expect(status).toBe(503);
    const operators = Array.from({ length: 9 }, (_, i) => create(`operator-${i}.example`, tokens.admin));
    gate.resolve();
    const statuses = (await Promise.all(many)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(8).fill(201), ...Array(4).fill(503)]);
    for (const reply of await Promise.all(operators)) expect(reply.status, reply.text).toBe(201);
    world.domains.add = add;
    for (const name of names) await call('DELETE', `/domains/${name}`, { token: tokens.admin });
    for (let i = 0; i < 9; i++)
      await call('DELETE', `/domains/operator-${i}.example`, { token: tokens.admin });
  });

  it('are checked few at once for one tenant, however long their name servers take', async () => {
    const names = Array.from({ length: 8 }, (_, i) => `slow-${i}.example`);
    for (const name of names) await world.domains.add({ name, operatorVerified: false });
    const gate = Promise.withResolvers<void>();
    const { verify } = world.domains;
    world.domains.verify = (name) => gate.promise.then(() => verify(name));
    const check = (name: string, token: string) => call('POST', `/domains/${name}/verify`, { token });
    const token = await at.token({ domains: names, scopes: ['domains:write'] });
    const many = names.map((name) => check(name, token));
    for (const reply of await firstOf(many, 3)) expect(codes(reply)).toEqual([429]);
    const operators = check('example.com', tokens.admin);
    gate.resolve();
    const statuses = (await Promise.all(many)).map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array(5).fill(200), ...Array(3).fill(429)]);
    expect((await operators).status).toBe(200);
    world.domains.verify = verify;
    for (const name of names) await call('DELETE', `/domains/${name}`, { token: tokens.admin });
  });

  it('lists, adds, checks and removes', async () => {
    expect((await call('GET', '/domains')).json()).toMatchObject({
      Items: [{ Domain: 'example.com', Status: 'Verified' }, { Domain: 'pending.example' }],
    });
    const add = (token: string, body: object) => call('POST', '/domains', { token, body });
    expect(codes(await add(tokens.own, { Domain: 'new.example' }))).toEqual([33]);
    expect(codes(await add(tokens.admin, { Domain: 'nonsense' }))).toEqual([2002]);
    expect(codes(await add(tokens.admin, {}))).toEqual([422]);
    expect(codes(await add(tokens.admin, { Domain: 'new.example', DkimSelector: '-x' }))).toEqual([422]);
    const added = await add(tokens.admin, { domain: 'NEW.example', Subdomains: true, DkimSelector: 'News' });
    expect([added.status, added.json()]).toMatchObject([201, { Domain: 'new.example', Status: 'Pending' }]);
    expect(added.json().DkimKeys).toMatchObject([{ Selector: 'news1' }, { Selector: 'news2' }]);
    expect(added.json().DnsRecords).toMatchObject([{ Type: 'TXT', Status: 'Unknown' }, {}, {}, {}, {}]);
    expect(codes(await add(tokens.admin, { Domain: 'new.example' }))).toEqual([2001]);
    const checked = await call('POST', '/domains/new.example/verify', { token: tokens.admin });
    expect(checked.json()).toMatchObject({ Domain: 'new.example', Checks: expect.any(Array) });
    const again = await call('POST', '/domains/new.example/verify', { token: tokens.admin });
    expect([again.status, Number(again.headers['retry-after']) > 0]).toEqual([429, true]);
    expect((await call('GET', '/domains/new.example')).status).toBe(404);
    expect((await call('DELETE', '/domains/new.example', { token: tokens.admin })).text).toBe('{}');
    expect((await call('GET', '/domains/new.example', { token: tokens.admin })).status).toBe(404);
  });
});

describe('tokens', () => {
  it('mints within what it holds, shows no text again, and revokes', async () => {
    const make = (body: object) => call('POST', '/tokens', { body });
    const made = await make({ Name: 'app', Domains: ['example.com'], ExpiresIn: 600 });
    expect(made.status).toBe(201);
    const { TokenID, Token } = made.json() as { TokenID: string; Token: string };
    const me = (await call('GET', '/me', { token: Token })).json();
    expect(me).toMatchObject({
      TokenID,
      Domains: [{ Domain: 'example.com', Status: 'Verified' }],
      AllDomains: false,
    });
    expect((await call('GET', `/tokens/${TokenID}`)).text).not.toContain(Token);
    expect((await call('GET', `/tokens/${TokenID}`, { token: tokens.other })).status).toBe(404);
    expect((await call('GET', '/tokens?Limit=1')).json()).toMatchObject({ HasMore: true });
    expect(codes(await make({ Name: 'x', Scopes: ['admin'] }))).toEqual([34]);
    expect(codes(await make({ Name: 'x', Domains: ['other.example'] }))).toEqual([33]);
    expect(codes(await make({ Preset: 'Nothing' }))).toEqual([422]);
    expect(codes(await make({ Name: 'x', Preset: 'Nothing' }))).toEqual([422]);
    expect((await call('DELETE', `/tokens/${TokenID}`)).text).toBe('{}');
    expect((await call('DELETE', `/tokens/${TokenID}`)).status).toBe(200);
    expect(codes(await call('GET', '/me', { token: Token }))).toEqual([13]);
  });

  it('publishes its keys', async () => {
    const keys = await send(`${at.url}/.well-known/jwks.json`, 'GET');
    expect(keys.json()).toMatchObject({ keys: [{ kty: 'OKP' }] });
    expect(keys.text).not.toContain('"d"');
  });
});

describe('the sandbox inbox', () => {
  it('shows captured copies to their own token only', async () => {
    const id = await sendMail({ ...MAIL, Sandbox: true satisfies boolean, Subject: 'Caught' });
    await capture(id);
    const list = (await call('GET', '/sandbox/messages?Subject=caught')).json() as {
      Items?: { ID: string; EnvelopeTo: string }[];
    };
    expect(list.Items).toHaveLength(2);
    const copy = list.Items?.find((item) => item.EnvelopeTo === 'bob@example.net');
    const path = `/sandbox/messages/${copy?.ID}`;
    expect((await call('GET', path)).json()).toMatchObject({
      MessageID: id,
      Subject: 'Caught',
      Codes: ['482913'],
      Links: ['https://example.com/a?b=1&c=2'],
      HTMLContent: expect.stringContaining('482913'),
    });
    expect((await call('GET', `${path}/raw`)).text).toMatch(/^X-Trace: one\r\n/);
    for (const method of ['GET', 'DELETE']) {
      expect((await call(method, path, { token: tokens.other })).status).toBe(404);
    }
    expect((await call('GET', '/sandbox/messages?HasAttachment=perhaps')).status).toBe(422);
    const timeline = async (token: string) => (await call('GET', `/email/${id}/events`, { token })).text;
    expect(await timeline(tokens.own)).toContain('S: 220');
    const eventsOnly = await at.token({ domains: ['example.com'], scopes: ['events:read'] });
    expect(await timeline(eventsOnly)).not.toContain('S: 220');
    expect((await call('DELETE', path)).text).toBe('{}');
    expect((await call('DELETE', '/sandbox/messages', { token: tokens.other })).json()).toEqual({
      Deleted: 0,
    });
    expect((await call('DELETE', '/sandbox/messages')).json()).toEqual({ Deleted: 1 });
  });
});

describe('scopes', () => {
  it('refuses every operation to a token that holds only another scope', async () => {
    const narrow = await at.token({ scopes: ['smtp:write'] });
    const operations = [
      'POST /email',
      'GET /webhooks',
      'POST /webhooks',
      'DELETE /webhooks/1',
      'GET /webhooks/1',
      'POST /webhooks/1/test',
      'POST /webhooks/1/replay',
      'GET /webhooks/1/deliveries',
      'GET /webhooks/1/deliveries/1',
      'GET /events',
      'GET /email',
      'GET /email/1',
      'GET /email/1/events',
      'GET /email/1/raw',
      'GET /domains',
      'POST /domains',
      'GET /domains/a',
      'DELETE /domains/a',
      'POST /domains/a/verify',
      'GET /tokens',
      'POST /tokens',
      'GET /tokens/1',
      'DELETE /tokens/1',
      'GET /sandbox/messages',
      'DELETE /sandbox/messages',
      'GET /sandbox/messages/1',
      'DELETE /sandbox/messages/1',
      'GET /sandbox/messages/1/raw',
    ];
    for (const operation of operations) {
      const [method = '', path = ''] = operation.split(' ');
      const reply = await call(method, path, { token: narrow });
      expect([operation, reply.status, codes(reply)]).toEqual([operation, 403, [34]]);
      const anonymous = await send(`${at.url}/api/v1${path}`, method);
      expect([operation, anonymous.status]).toEqual([operation, 401]);
    }
  });
});

describe('health', () => {
  it('answers without a token, but figures to outsiders only with an admin token', async () => {
    expect((await send(`${at.url}/healthz`, 'GET')).json()).toMatchObject({ Status: 'ok' });
    expect((await send(`${at.url}/readyz`, 'GET')).json()).toMatchObject({
      Checks: [{ Name: 'store', Ok: true }],
    });
    expect((await send(`${at.url}/metrics`, 'GET')).status).toBe(401);
    const as = (token: string) => ({ headers: { authorization: `Bearer ${token}` } });
    expect((await send(`${at.url}/metrics`, 'GET', as(tokens.own))).status).toBe(403);
    expect((await send(`${at.url}/metrics`, 'GET', as(tokens.admin))).status).toBe(200);
  });
});
