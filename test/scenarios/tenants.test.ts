/** Two tenants on one server: every id of the other is as good as none, in every operation that takes or lists one. */
import { beforeAll, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';

const scope = fileScope();
let server: Instance;
let mine: string;
let theirs: string;
let ids: { message: string; capture: string; webhook: number; token: string; domain: string };

beforeAll(async () => {
  server = await startInstance(scope);
  mine = await addDomain(server, 'mine.example', { Preset: 'Full' });
  theirs = await addDomain(server, 'theirs.example', { Preset: 'Full' });
  const message = await server.send({ From: { email: 'a@theirs.example' } }, { token: theirs });
  await server.settled(message);
  const captures = await server.call('GET', '/sandbox/messages', { token: theirs });
  const webhook = await server.call('POST', '/webhooks', {
    token: theirs,
    body: { Event: 'all', WebhookURL: 'https://hooks.example.org/' },
  });
  const list = { Items: [{ Email: 'gone@theirs.example' }] };
  await server.call('POST', '/suppressions', { token: theirs, body: list });
  const token = await server.call('POST', '/tokens', { token: theirs, body: { Name: 'n' } });
  ids = {
    message,
    capture: captures.json.Items[0].ID,
    webhook: webhook.json.NewWebhookID,
    token: token.json.TokenID,
    domain: 'theirs.example',
  };
});

/** Every operation that takes the id of something: method, path, and what the owner is answered. */
const BY_ID = (): [string, string, object?][] => [
  ['GET', `/email/${ids.message}`],
  ['GET', `/email/${ids.message}/events`],
  ['GET', `/email/${ids.message}/raw`],
  ['GET', `/sandbox/messages/${ids.capture}`],
  ['GET', `/sandbox/messages/${ids.capture}/raw`],
  ['GET', `/webhooks/${ids.webhook}`],
  ['GET', `/webhooks/${ids.webhook}/deliveries`],
  ['POST', `/webhooks/${ids.webhook}/test`, {}],
  ['POST', `/webhooks/${ids.webhook}/replay`, { Since: '2020-01-01T00:00:00Z' }],
  ['GET', `/domains/${ids.domain}`],
  ['POST', `/domains/${ids.domain}/verify`],
  ['GET', `/tokens/${ids.token}`],
  ['GET', '/suppressions/gone@theirs.example'],
  ['DELETE', '/suppressions/gone@theirs.example'],
  ['DELETE', `/sandbox/messages/${ids.capture}`],
  ['DELETE', `/webhooks/${ids.webhook}`],
  ['DELETE', `/tokens/${ids.token}`],
  ['DELETE', `/domains/${ids.domain}`],
];
/** Lists, and where their items stand. */
const LISTS = ['/email', '/events', '/webhooks', '/sandbox/messages', '/domains', '/tokens', '/suppressions'];

describe('another tenant', () => {
  it('sees nothing of what is not theirs in any list', async () => {
    for (const path of LISTS) {
      const own = await server.call('GET', path, { token: theirs });
      expect(own.text, path).toMatch(/theirs\.example|hooks\.example/);
      const other = await server.call('GET', path, { token: mine });
      expect(other.status).toBe(200);
      expect(other.text, path).not.toMatch(/theirs|hooks\.example/);
      const asked = await server.call('GET', `${path}?Domain=theirs.example`, { token: mine });
      expect(asked.text, path).not.toMatch(/hooks\.example|a@theirs/);
    }
    expect(
      (await server.call('GET', `/events?MessageID=${ids.message}`, { token: mine })).json.TotalRecords,
    ).toBe(0);
    expect((await server.call('GET', '/me', { token: mine })).text).not.toContain('theirs');
  });

  it('gets the same 404 for an id of somebody else as for one that does not exist', async () => {
    for (const [method, path, body] of BY_ID()) {
      const answer = await server.call(method, path, {
        token: mine,
        ...(body === undefined ? {} : { body }),
      });
      expect([answer.status, answer.json.Errors[0].Code], `${method} ${path}`).toEqual([404, 404]);
    }
  });

  it('cannot cancel or repeat what the other sends', async () => {
    const later = { SendAt: Math.floor(Date.now() / 1000) + 600 };
    const move = (by: string) => server.call('PATCH', `/email/${ids.message}`, { token: by, body: later });
    expect([(await move(mine)).status, (await move(theirs)).status]).toEqual([404, 409]);
    for (const verb of ['cancel', 'retry']) {
      const path = `/email/${ids.message}/${verb}`;
      expect((await server.call('POST', path, { token: mine })).status).toBe(404);
      expect((await server.call('POST', path, { token: theirs })).status).toBe(409);
    }
  });

  it('deletes nothing of the other by deleting all', async () => {
    expect((await server.call('DELETE', '/sandbox/messages', { token: mine })).json.Deleted).toBe(0);
    expect((await server.call('GET', '/sandbox/messages', { token: theirs })).json.Items).toHaveLength(1);
  });

  it('cannot act for the other domain', async () => {
    const hook = { Event: 'all', WebhookURL: 'https://hooks.example.org/', Domain: 'theirs.example' };
    expect((await server.call('POST', '/webhooks', { token: mine, body: hook })).status).toBe(404);
    const from = email({ From: { email: 'a@theirs.example' } });
    expect((await server.call('POST', '/email', { token: mine, body: from })).status).toBe(403);
    const claim = { Domain: 'theirs.example' };
    expect((await server.call('POST', '/domains', { token: mine, body: claim })).status).toBe(403);
    const mint = { Name: 'n', Domains: ['mine.example', 'theirs.example'] };
    expect((await server.call('POST', '/tokens', { token: mine, body: mint })).status).toBe(403);
  });

  it('does not receive the events of the other', async () => {
    const made = await server.call('POST', '/webhooks', {
      token: mine,
      body: { Event: 'all', WebhookURL: 'https://hooks.example.org/mine' },
    });
    const message = await server.send({ From: { email: 'a@theirs.example' } }, { token: theirs });
    await server.settled(message);
    const calls = await server.call('GET', `/webhooks/${made.json.NewWebhookID}/deliveries`, { token: mine });
    expect(calls.json.Items).toEqual([]);
  });

  it('is told apart inside a token for both: filters work, creating needs the domain', async () => {
    const both = await makeToken(server, { Domains: ['mine.example', 'theirs.example'], Preset: 'Full' });
    expect((await server.call('GET', '/email?Domain=mine.example', { token: both })).json.Items).toEqual([]);
    expect(
      (await server.call('GET', '/email?Domain=theirs.example', { token: both })).json.Items,
    ).not.toEqual([]);
    const body = { Event: 'open', WebhookURL: 'https://hooks.example.org/' };
    const unclear = await server.call('POST', '/webhooks', { token: both, body });
    expect([unclear.status, unclear.json.Errors[0].Code]).toEqual([422, 2003]);
  });

  it('is the owner who can do all of it', async () => {
    for (const [method, path, body] of BY_ID()) {
      const answer = await server.call(method, path, {
        token: theirs,
        ...(body === undefined ? {} : { body }),
      });
      expect(answer.status, `${method} ${path} ${answer.text.slice(0, 300)}`).toBe(200);
    }
  });
});

describe('mail of two tenants for one destination', () => {
  it('waits there for a reason that does not name whom the other writes to', async () => {
    let release = () => {};
    const all = new Promise<void>((resolve) => {
      release = resolve;
    });
    const mx = await startScriptedMx({
      rcpt: {
        do: 'wait',
        until: all,
        next: '450 4.7.1 <secret.friend@example.net>: blocked using zen.spamhaus.org',
      },
    });
    scope.defer(() => mx.close());
    const shared = await startInstance(scope, {
      settings: { route: `smtp://127.0.0.1:${mx.port}`, retry: '1h', 'max-connections': '1' },
    });
    const first = await addDomain(shared, 'mine.example');
    const second = await addDomain(shared, 'theirs.example');
    const to = [{ email: 'secret.friend@example.net' }];
    for (let i = 0; i < 2; i++)
      await shared.send({ From: { email: 'a@mine.example' }, To: to }, { token: first });
    const id = await shared.send({ From: { email: 'a@theirs.example' } }, { token: second });
    release();
    const waits = await until('it waits with the rest', async () => {
      const { json } = await shared.call('GET', `/email/${id}`, { token: second });
      return json.Recipients[0].WaitReason.startsWith('path:') ? json.Recipients[0].WaitReason : undefined;
    });
    expect(waits).toContain('spamhaus');
    expect(waits).not.toContain('secret.friend');
  });
});
