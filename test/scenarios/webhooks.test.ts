/** Webhook calls to a real receiver: signed, repeated until taken, told truly in the list, and never into the house. */
import { Webhook } from 'standardwebhooks';
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { command } from './commands.ts';
import { addDomain, fileScope, type Instance, makeToken, startInstance, until } from './harness.ts';
import { startReceiver } from './webhook-receiver.ts';

const scope = fileScope();
const NEVER = '1899-11-30T00:00:00.000Z';
let server: Instance;
let guarded: Instance;
let dns: FakeDns;
let domains = 0;

beforeAll(async () => {
  dns = await createFakeDns({
    'inside.example': { A: ['127.0.0.1'] },
    'mixed.example': { A: ['93.184.216.34', '10.0.0.1'] },
    'hooks.example.org': { A: ['93.184.216.34'] },
    'inside6.example': { AAAA: ['::1'] },
  });
  scope.defer(() => dns.close());
  server = await startInstance(scope, {
    settings: { 'allow-networks': '127.0.0.0/8', 'webhook-retry': '200ms,200ms', dns: dns.text },
  });
  guarded = await startInstance(scope, { settings: { dns: dns.text } });
});

/** A domain with a webhook of its own, and a receiver behind it. */
async function subscribed(Event: string) {
  domains += 1;
  const domain = `w${domains}.example`;
  const receiver = await startReceiver(scope);
  const token = await addDomain(server, domain);
  const made = await server.call('POST', '/webhooks', { token, body: { Event, WebhookURL: receiver.url } });
  expect(made.status, made.text).toBe(200);
  const id: number = made.json.NewWebhookID;
  const record = async () =>
    (await server.call('GET', '/webhooks', { token })).json.Webhooks.find(
      ({ WebhookID }: { WebhookID: number }) => WebhookID === id,
    );
  const detail = async () => (await server.call('GET', `/webhooks/${id}`, { token })).json;
  const send = (to: string, more: object = {}) =>
    server.send({ From: { email: `a@${domain}` }, To: [{ email: to }], ...more }, { token });
  return { domain, receiver, token, id, secret: made.json.Secret as string, record, detail, send };
}

describe('a webhook call', () => {
  it('is signed so that the published verifier accepts the raw bytes, and nothing else', async () => {
    const { receiver, secret, send, domain, id } = await subscribed('bounce');
    const messageId = await send('bounced@simulator.test', { Tags: ['a', 'b'], Subject: 'Über' });
    const call = await receiver.next('the bounce is told', ({ json }) => json.data.MessageID === messageId);
    const headers = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [
        name,
        String(call.headers[name]),
      ]),
    );
    const verifier = new Webhook(secret);
    expect(verifier.verify(call.bytes, headers)).toEqual(call.json);
    const altered = Buffer.from(call.bytes.toString('utf8').replace('bounced', 'Bounced'));
    expect(() => verifier.verify(altered, headers)).toThrow();
    expect(() => verifier.verify(call.bytes, { ...headers, 'webhook-id': 'evt_1' })).toThrow();
    expect(call.method).toBe('POST');
    expect(call.headers['content-type']).toBe('application/json');
    expect(call.headers['user-agent']).toMatch(/^postrider-webhooks\/1/);
    expect(headers['webhook-id']).toMatch(/^evt_[0-9a-f]{32}$/);
    expect(call.json).toMatchObject({
      type: 'email.bounced',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:]{8}\.\d{3}Z$/),
      data: {
        EventID: expect.stringMatching(/^[0-9a-f-]{36}$/),
        WebhookID: id,
        Event: 'bounced',
        Domain: domain,
        MessageID: messageId,
        From: `a@${domain}`,
        To: 'bounced@simulator.test',
        Subject: 'Über',
        Tags: ['a', 'b'],
        Metadata: {},
        Sandbox: true,
        Attempt: 1,
        Bounce: {
          Type: 'Permanent',
          Class: 'RecipientInvalid',
          Scope: 'recipient',
          Phase: 'Session',
          SmtpCode: 550,
          EnhancedCode: '5.1.1',
          Diagnostic: expect.any(String),
          RemoteMta: expect.any(String),
        },
      },
    });
  });

  it('comes only for the event that was asked for', async () => {
    const { receiver, send } = await subscribed('delivery');
    await send('bounced@simulator.test');
    const delivered = await send('delivered@simulator.test');
    await receiver.next('the delivery is told', ({ json }) => json.data.MessageID === delivered);
    expect(receiver.calls.map(({ json }) => json.data.Event)).toEqual(['delivered']);
  });

  it('is repeated with the same id until it is taken, and the list tells the last try', async () => {
    const { receiver, send, record, secret } = await subscribed('delivery');
    expect(await record()).toMatchObject({
      LastResponseCode: 0,
      LastResponseAt: NEVER,
      LastResponseTryCounter: 0,
    });
    receiver.answer((_call, n) => (n === 1 ? { status: 500, body: 'broken' } : { status: 204 }));
    await send('delivered@simulator.test');
    const first = await until('the first try is told', async () => {
      const row = await record();
      return row.LastResponseTryCounter === 1 ? row : null;
    });
    expect(first).toMatchObject({
      LastResponseCode: 500,
      LastResponseBody: 'broken',
      Status: 'Enabled',
    });
    expect(Math.abs(Date.parse(first.LastResponseAt) - Date.now())).toBeLessThan(30_000);
    const second = await until('the second try is told', async () => {
      const row = await record();
      return row.LastResponseTryCounter === 2 ? row : null;
    });
    expect(second).toMatchObject({ LastResponseCode: 204, LastResponseBody: '' });
    expect(second.UpdatedAt).toBe(second.CreatedAt);
    const [one, two] = receiver.calls;
    expect(two?.headers['webhook-id']).toBe(one?.headers['webhook-id']);
    expect(two?.bytes.equals(one?.bytes ?? Buffer.alloc(0))).toBe(true);
    for (const call of receiver.calls) {
      expect(() =>
        new Webhook(secret).verify(call.bytes, call.headers as Record<string, string>),
      ).not.toThrow();
    }
    expect(receiver.calls).toHaveLength(2);
  });

  it('that is never answered leaves zero, nothing and the placeholder, with the number of the try', async () => {
    const { receiver, send, record, detail, id, token, domain } = await subscribed('delivery');
    receiver.answer('drop');
    const sent = await send('delivered@simulator.test');
    await until('three tries were made', async () => (await record()).LastResponseTryCounter === 3);
    expect(await record()).toMatchObject({
      LastResponseCode: 0,
      LastResponseBody: '',
      LastResponseAt: NEVER,
      LastResponseTryCounter: 3,
    });
    expect((await detail()).LastError).not.toBe('');
    const { Items } = (await server.call('GET', `/webhooks/${id}/deliveries`, { token })).json;
    const whose = { MessageID: sent, Recipient: 'delivered@simulator.test' };
    expect(Items).toMatchObject([{ Status: 'Failed', Tries: 3, ResponseCode: 0, ...whose }]);
    // Who may not read events is told nothing of the event.
    const closed = await makeToken(server, { Domains: [domain], Scopes: ['webhooks:read'] });
    const seen = await server.call('GET', `/webhooks/${id}/deliveries`, { token: closed });
    expect(seen.json.Items).toMatchObject([{ Tries: 3, MessageID: null, Recipient: null }]);
    receiver.answer({ status: 200 });
    const replayed = await server.call('POST', `/webhooks/${id}/replay`, {
      token,
      body: { Since: '2020-01-01T00:00:00Z', OnlyFailed: true },
    });
    expect(replayed.json).toEqual({ Queued: 1, NextCursor: null });
    await until('the replay arrived', async () => (await record()).LastResponseCode === 200);
  });

  it('keeps the first kilobyte of an answer, and replaces what is no UTF-8', async () => {
    const { receiver, send, record } = await subscribed('delivery');
    receiver.answer({ status: 200, body: Buffer.concat([Buffer.from([0xff]), Buffer.alloc(5_000, 'x')]) });
    await send('delivered@simulator.test');
    const row = await until('it is told', async () => {
      const found = await record();
      return found.LastResponseCode === 200 ? found : null;
    });
    expect(row.LastResponseBody).toMatch(/^\ufffdx{1000,1023}$/);
  });

  it('does not follow redirects', async () => {
    const { receiver, send, record } = await subscribed('delivery');
    receiver.answer({ status: 302, headers: { location: receiver.url.replace('/hook', '/other') } });
    await send('delivered@simulator.test');
    await until('it is told', async () => (await record()).LastResponseCode === 302);
    expect(receiver.calls.every(({ path }) => path === '/hook')).toBe(true);
  });

  it('answered with 410 switches the webhook off, and the other webhooks of the domain are told', async () => {
    const { receiver, send, record, detail, token, domain } = await subscribed('delivery');
    const other = await startReceiver(scope);
    await server.call('POST', '/webhooks', { token, body: { Event: 'all', WebhookURL: other.url } });
    receiver.answer({ status: 410 });
    await send('delivered@simulator.test');
    await until('it is off', async () => (await record()).Status === 'Disabled');
    expect((await detail()).DisabledReason).toBe('Gone');
    const told = await other.next('the other one is told', ({ json }) => json.type === 'webhook.disabled');
    expect(told.json.data.Domain).toBe(domain);
    const calls = receiver.calls.length;
    const later = await send('delivered@simulator.test');
    await other.next('the other one goes on', ({ json }) => json.data.MessageID === later);
    expect(receiver.calls).toHaveLength(calls);
    expect((await record()).UpdatedAt > (await record()).CreatedAt).toBe(true);
  });
});

describe('the test operation', () => {
  it('sends a signed sample now and leaves the list as it was', async () => {
    const { receiver, id, record, secret, token } = await subscribed('bounce');
    receiver.answer({ status: 202, body: 'thanks' });
    const result = await server.call('POST', `/webhooks/${id}/test`, { token });
    expect(result.json).toEqual({
      StatusCode: 202,
      LatencyMs: expect.any(Number),
      Body: 'thanks',
      Error: '',
    });
    const [call] = receiver.calls;
    expect(() =>
      new Webhook(secret).verify(call?.bytes ?? '', (call?.headers ?? {}) as Record<string, string>),
    ).not.toThrow();
    expect(call?.json.type).toBe('email.bounced');
    expect(await record()).toMatchObject({ LastResponseCode: 0, LastResponseTryCounter: 0 });
    receiver.answer({ status: 500 });
    const cli = await command(['webhook', 'test', String(id), '--data', server.folder]);
    expect(cli.code).toBe(1);
    expect(cli.stdout).toContain('500');
    receiver.answer({ status: 302 });
    const moved = await command(['webhook', 'test', String(id), '--data', server.folder]);
    expect([moved.code, moved.stdout]).toEqual([
      1,
      expect.stringContaining('a redirect, which is not followed'),
    ]);
  });
});

describe('postrider webhook', () => {
  it('makes, lists and removes beside the running server', async () => {
    const domain = 'cli-hooks.example';
    await addDomain(server, domain);
    const receiver = await startReceiver(scope);
    const made = await command([
      ...['webhook', 'create', receiver.url, '--domain', domain],
      ...['--event', 'bounced', '--data', server.folder, '--json'],
    ]);
    expect(made.code, made.stderr).toBe(0);
    const { NewWebhookID, Secret } = JSON.parse(made.stdout);
    expect(Secret).toMatch(/^whsec_/);
    const list = await command(['webhook', 'list', '--data', server.folder]);
    expect(list.stdout).toContain(receiver.url);
    expect(list.stdout).not.toContain(Secret);
    const removed = await command(['webhook', 'remove', String(NewWebhookID), '--data', server.folder]);
    expect(removed.code).toBe(0);
  });
});

it('shows all about each webhook in one request, a page at a time, where that is asked for', async () => {
  const token = await addDomain(server, 'many-hooks.example');
  const receiver = await startReceiver(scope);
  for (const Event of ['bounce', 'open', 'click'])
    await server.call('POST', '/webhooks', { token, body: { Event, WebhookURL: receiver.url } });
  const page = async (query: string) =>
    (await server.call('GET', `/webhooks?Details=true&Limit=2${query}`, { token })).json;
  const first = await page('');
  expect(first.Webhooks).toHaveLength(2);
  const [one] = first.Webhooks;
  expect(one).toEqual((await server.call('GET', `/webhooks/${one.WebhookID}`, { token })).json);
  const last = await page(`&After=${first.NextCursor}`);
  expect([last.Webhooks.map(({ Event }: { Event: string }) => Event), last.NextCursor]).toEqual([
    ['click'],
    null,
  ]);
  const plain = (await server.call('GET', '/webhooks', { token })).json;
  expect([plain.Webhooks.length, Object.keys(plain)]).toEqual([3, ['Webhooks']]);
});

it('tells one webhook of several events, and makes a call again by the number that the list of calls shows', async () => {
  const domain = 'several-events.example';
  const token = await addDomain(server, domain);
  const receiver = await startReceiver(scope);
  const data = ['--data', server.folder];
  const made = await command([
    ...['webhook', 'create', '--domain', domain, '--event', 'bounce', '--event', 'delivery'],
    ...[receiver.url, '--json', ...data],
  ]);
  const id = String(JSON.parse(made.stdout).NewWebhookID);
  for (const to of ['bounced@simulator.test', 'delivered@simulator.test', 'deferred@simulator.test']) {
    await server.send({ From: { email: `a@${domain}` }, To: [{ email: to }] }, { token });
  }
  const kinds = () => receiver.calls.map(({ json }) => json.data.Event).sort();
  await until(
    'both kinds were told',
    async () => kinds().includes('bounced') && kinds().includes('delivered'),
  );
  expect(new Set(kinds())).toEqual(new Set(['bounced', 'delivered']));
  // The receiver has a call before its result is stored.
  const number = await until('the list shows the call as done', async () => {
    const listed = await command(['webhook', 'calls', id, ...data]);
    return /^(\d+) +bounced +Succeeded/m.exec(listed.stdout)?.[1] ?? null;
  });
  const replayed = await command(['webhook', 'replay', id, '--delivery', number, ...data]);
  expect(replayed.stdout, replayed.stderr).toBe('1 call queued.\n');
  await until('it came again', async () => kinds().filter((kind) => kind === 'bounced').length === 2);
});

it('says what the receiver of a call that failed said, and when it is tried again, while the webhook is enabled', async () => {
  const settings = { 'allow-networks': '127.0.0.0/8', 'webhook-retry': '1h' };
  const slow = await startInstance(scope, { settings });
  const token = await addDomain(slow, 'slow-retry.example');
  const receiver = await startReceiver(scope);
  receiver.answer({ status: 400, body: 'no signature\n matches' });
  const body = { Event: 'delivery', WebhookURL: receiver.url };
  const id: number = (await slow.call('POST', '/webhooks', { token, body })).json.NewWebhookID;
  await slow.send(
    { From: { email: 'a@slow-retry.example' }, To: [{ email: 'delivered@simulator.test' }] },
    { token },
  );
  const calls = async () => (await slow.call('GET', `/webhooks/${id}/deliveries`, { token })).json.Items;
  const call = await until('a try failed', async () => {
    const [one] = await calls();
    return one?.Tries === 1 ? one : null;
  });
  expect(Date.parse(call.NextTryAt) - Date.parse(call.UpdatedAt)).toBeGreaterThan(1_800_000);
  const shown = async (...words: string[]) =>
    (await command(['webhook', ...words, '--data', slow.folder])).stdout;
  expect(await shown('calls', `${id}`)).toMatch(
    new RegExp(`Pending +1 .*${call.NextTryAt} +400 no signature matches$`, 'm'),
  );
  expect(await shown('list')).toMatch(/Enabled +1 +400 no signature matches \(try 1\) /);
  expect(await shown('calls', `${id}`, '--delivery', `${call.DeliveryID}`)).toContain(
    'The answer began with:\nno signature· matches\n',
  );
  expect(await shown('replay', `${id}`, '--delivery', '4711')).toMatch(
    /^0 calls queued\. The calls and their numbers: \S*postrider webhook calls/,
  );
  await slow.call('PATCH', `/webhooks/${id}`, { token, body: { Status: 'Disabled' } });
  expect((await calls())[0].NextTryAt).toBeNull();
});

describe('a target inside the house', () => {
  it.each([
    'http://127.0.0.1/',
    'https://127.0.0.1/',
    'https://localhost/',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://0x7f.1/',
    'https://2130706433/',
    'https://169.254.169.254/latest/meta-data/',
    'https://10.0.0.1:8443/',
    'https://100.64.0.1/',
    'https://[fe80::1]/',
    'https://[64:ff9b::a00:1]/',
    'https://inside.example/',
    'https://inside6.example/',
    'https://user:pass@hooks.example.org/',
    'ftp://hooks.example.org/',
    'http://hooks.example.org/',
    'https://hooks.example.org/a b',
    'hooks.example.org',
    '',
  ])('is refused when it is given: %s', async (WebhookURL) => {
    const body = { Event: 'all', WebhookURL, Domain: 'example.com' };
    const answer = await guarded.call('POST', '/webhooks', { body });
    expect([answer.status, answer.json.Errors[0].Code], answer.text).toEqual([422, 1901]);
    expect(answer.json.Errors[0].Message).not.toContain('pass@');
  });

  it('is not called when a name comes to lead there later', async () => {
    const receiver = await startReceiver(scope);
    dns.set('moves.example', { A: ['93.184.216.34'], ttl: 0 });
    const token = await addDomain(guarded, 'example.com');
    const made = await guarded.call('POST', '/webhooks', {
      token,
      body: { Event: 'all', WebhookURL: `https://moves.example:${receiver.port}/` },
    });
    expect(made.status, made.text).toBe(200);
    dns.set('moves.example', { A: ['127.0.0.1'], ttl: 0 });
    const restarted = guarded.folder;
    await guarded.stop();
    guarded = await startInstance(scope, { folder: restarted, settings: { dns: dns.text } });
    const result = await guarded.call('POST', `/webhooks/${made.json.NewWebhookID}/test`);
    expect(result.json).toMatchObject({ StatusCode: 0, Body: '' });
    expect(result.json.Error).not.toBe('');
    expect(receiver.calls).toEqual([]);
  });
});
