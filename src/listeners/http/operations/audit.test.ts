/** Who changed what: which requests leave an entry, what it says, and what it does not. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { send } from '../test-support.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world.close());

interface Entry {
  By: string;
  WhoName: string;
  Operation: string;
  Resource: string;
  Changed: string[];
}

const list = async (query = '') =>
  (await world.call('GET', `/audit?Limit=100${query}`, { token: world.tokens.admin })).json() as unknown as {
    Items: Entry[];
    NextCursor: string | null;
  };

describe('who changed what', () => {
  it('is kept with the token and the thing that was made or named', async () => {
    const made = await world.call('POST', '/tokens', { body: { Name: 'n', Preset: 'Send' } });
    const { TokenID } = made.json();
    await world.call('DELETE', `/tokens/${TokenID}`);
    expect((await list()).Items.slice(0, 2)).toMatchObject([
      {
        By: 'Token',
        WhoName: 'test',
        Operation: 'revokeToken',
        Resource: `tokens/${TokenID}`,
        IP: '127.0.0.1',
      },
      { Operation: 'createToken', Resource: `tokens/${TokenID}` },
    ]);
  });

  it('is kept with the person behind a session', async () => {
    const { host } = new URL(world.at.url);
    const email = 'ada@example.com';
    const password = 'correct horse battery';
    await world.at.people.add({ email, password, role: 'operator' });
    const headers = {
      host,
      origin: `http://${host}`,
      'x-postrider-dashboard': '1',
      'content-type': 'application/json',
    };
    const ask = (method: string, path: string, cookie: string, body: object) =>
      send(`${world.at.url}/api/v1${path}`, method, {
        headers: { ...headers, cookie },
        body: JSON.stringify(body),
      });
    const signed = await ask('POST', '/session', '', { Email: email, Password: password });
    const cookie = String(signed.headers['set-cookie']).split(';')[0] ?? '';
    expect((await ask('PATCH', '/domains/example.com', cookie, { Subdomains: true })).status).toBe(200);
    expect((await list(`&Who=${email}`)).Items).toMatchObject([
      {
        ...{ By: 'Person', WhoName: email, Operation: 'updateDomain', Resource: 'domains/example.com' },
        Changed: ['Subdomains=true'],
      },
    ]);
  });

  it('names the settings that were changed, and no value that may hold a key', async () => {
    const change = (path: string, body: object) => world.call('PATCH', path, { body });
    await change('/domains/example.com', { retention: { EventDays: 30 }, TrackingHost: 'links.example.com' });
    const WebhookURL = 'http://127.0.0.1:9/?key=secret';
    const { NewWebhookID } = (
      await world.call('POST', '/webhooks', { body: { Domain: 'example.com', Event: 'bounce', WebhookURL } })
    ).json() as { NewWebhookID: number };
    await change(`/webhooks/${NewWebhookID}`, { WebhookURL: `${WebhookURL}s`, Status: 'Disabled' });
    expect((await list()).Items.slice(0, 3)).toMatchObject([
      { Operation: 'updateWebhook', Changed: ['WebhookURL', 'Status=Disabled'] },
      { Operation: 'createWebhook', Changed: [] },
      {
        Operation: 'updateDomain',
        Changed: ['Retention.ContentDays=null', 'Retention.EventDays=30', 'TrackingHost=links.example.com'],
      },
    ]);
  });

  it('holds no address of a recipient, nothing that was refused, and no mail', async () => {
    const { Items: before } = await list();
    const Domain = 'example.com';
    await world.call('POST', '/suppressions', { body: { Domain, Items: [{ Email: 'gone@example.net' }] } });
    await world.call('DELETE', `/suppressions/gone@example.net?Domain=${Domain}`);
    await world.call('DELETE', '/tokens/none');
    await world.sendMail();
    const { Items } = await list();
    expect(Items.slice(0, Items.length - before.length)).toMatchObject([
      { Operation: 'deleteSuppression', Resource: 'suppressions' },
      { Operation: 'addSuppressions', Resource: 'suppressions' },
    ]);
    expect(JSON.stringify(Items)).not.toContain('gone@');
  });

  it('is found by who and by operation, for operators alone', async () => {
    expect((await list('&Operation=createToken')).Items).toHaveLength(1);
    expect((await list('&Who=nobody')).Items).toEqual([]);
    expect((await list('&Who=test')).Items.length).toBeGreaterThan(1);
    expect(codesOf(await world.call('GET', '/audit'))).toEqual([34]);
  });
});
