/** Idempotency-Key: one key, one message, whatever is repeated, raced or corrected. */
import { beforeAll, describe, expect, it } from 'vitest';
import { addDomain, email, fileScope, type Instance, makeToken, startInstance } from './harness.ts';

const scope = fileScope();
let server: Instance;
let token: string;

beforeAll(async () => {
  server = await startInstance(scope);
  token = await addDomain(server, 'example.com');
});

const send = (key: string, body: unknown = email(), own = token) =>
  server.call('POST', '/email', { token: own, body, headers: { 'idempotency-key': key } });
const stored = async () =>
  (await server.call('GET', '/email?Limit=100', { token })).json.Items.length as number;

describe('Idempotency-Key on POST /email', () => {
  it('makes one message of twenty requests at once', async () => {
    const before = await stored();
    const answers = await Promise.all(Array.from({ length: 20 }, () => send('twenty')));
    const accepted = answers.filter(({ status }) => status === 200);
    const others = answers.filter(({ status }) => status !== 200);
    expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
    for (const answer of others) {
      expect([answer.status, answer.json.Errors[0].Code]).toEqual([409, 1703]);
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    expect(await stored()).toBe(before + 1);
  });

  it('repeats the first answer byte for byte and says that it does', async () => {
    const first = await send('repeat');
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const again = await send('repeat');
    expect(again.status).toBe(200);
    expect(again.text).toBe(first.text);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    const quoted = await send('"repeat"');
    expect(quoted.text).toBe(first.text);
  });

  it('refuses another body under the same key, even one that means the same', async () => {
    await send('body', JSON.stringify(email()));
    const other = await send('body', `${JSON.stringify(email())} `);
    expect([other.status, other.json.Errors[0].Code]).toEqual([422, 1702]);
  });

  it('is free again after an error, so that the request can be corrected', async () => {
    expect((await send('corrected', email({ Subject: '' }))).status).toBe(422);
    expect((await send('corrected', email({ From: { email: 'a@other.example' } }))).status).toBe(403);
    const fixed = await send('corrected');
    expect(fixed.status).toBe(200);
    expect((await send('corrected')).text).toBe(fixed.text);
  });

  it('belongs to one token owner', async () => {
    const other = await makeToken(server, { Domains: ['example.com'] });
    const first = await send('owner');
    const second = await send('owner', email(), other);
    expect(second.status).toBe(200);
    expect(second.json.MessageID).not.toBe(first.json.MessageID);
  });

  it.each(['', 'a b', 'x'.repeat(256), 'ü', '""'])('refuses the key %j', async (key) => {
    const answer = await send(encodeURI(key) === key ? key : Buffer.from(key).toString('latin1'));
    expect([answer.status, answer.json.Errors[0].Code]).toEqual([400, 1701]);
  });

  it('holds for a body that is read in a worker', async () => {
    const before = await stored();
    const large = email({ HTMLContent: 'x'.repeat(600_000) });
    const answers = await Promise.all(Array.from({ length: 6 }, () => send('large', large)));
    const accepted = answers.filter(({ status }) => status === 200);
    expect(new Set(accepted.map(({ text }) => text)).size).toBe(1);
    expect((await send('large', large)).headers.get('idempotency-replayed')).toBe('true');
    expect(await stored()).toBe(before + 1);
  });

  it('survives a restart', async () => {
    const first = await startInstance(scope);
    const own = await addDomain(first, 'example.com');
    const given = { token: own, body: email(), headers: { 'idempotency-key': 'restart' } };
    const answer = await first.call('POST', '/email', given);
    await first.stop();
    const second = await startInstance(scope, { folder: first.folder });
    const again = await second.call('POST', '/email', given);
    expect(again.text).toBe(answer.text);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
  });
});

describe('Idempotency-Key on other operations that create', () => {
  it('makes one webhook, one token, one domain', async () => {
    const headers = { 'idempotency-key': 'create' };
    const hook = { token, headers, body: { Event: 'open', WebhookURL: 'https://hooks.example.org/' } };
    const first = await server.call('POST', '/webhooks', hook);
    const again = await server.call('POST', '/webhooks', hook);
    expect(again.json.NewWebhookID).toBe(first.json.NewWebhookID);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect((await server.call('GET', '/webhooks', { token })).json.Webhooks).toHaveLength(1);
    const domain = { headers, body: { Domain: 'once.example' } };
    expect((await server.call('POST', '/domains', domain)).status).toBe(201);
    const repeated = await server.call('POST', '/domains', domain);
    expect([repeated.status, repeated.headers.get('idempotency-replayed')]).toEqual([201, 'true']);
    const made = { headers, body: { Name: 'once', Domains: ['once.example'] } };
    const one = await server.call('POST', '/tokens', made);
    expect((await server.call('POST', '/tokens', made)).json.TokenID).toBe(one.json.TokenID);
  });
});
