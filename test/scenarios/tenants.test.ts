/**
 * Two tenants on one server: neither acts for the other, hears of it, or learns from what their mail has in common. That every
 * operation keeps them apart is in `tenant-operations.test.ts`.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { startScriptedMx } from '../fakes/scripted-mx.ts';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';

const scope = fileScope();
let server: Instance;
let mine: string;
let theirs: string;
let ids: { message: string };

beforeAll(async () => {
  server = await startInstance(scope);
  mine = await addDomain(server, 'mine.example', { Preset: 'Full' });
  theirs = await addDomain(server, 'theirs.example', { Preset: 'Full' });
  const message = await server.send({ From: { email: 'a@theirs.example' } }, { token: theirs });
  await server.settled(message);
  ids = { message };
});

describe('another tenant', () => {
  it('sees no events of a message by its id, and no domain of the other in what it is', async () => {
    const path = `/events?MessageID=${ids.message}`;
    expect((await server.call('GET', path, { token: theirs })).json.TotalRecords).toBeGreaterThan(0);
    expect((await server.call('GET', path, { token: mine })).json.TotalRecords).toBe(0);
    expect((await server.call('GET', '/me', { token: mine })).text).not.toContain('theirs');
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
