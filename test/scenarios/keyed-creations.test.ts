/** Idempotency-Key on everything that creates beside mail: one thing per key, also after a restart, and no secret kept. */
import { describe, expect, it } from 'vitest';
import { addDomain, fileScope, startInstance } from './harness.ts';

const scope = fileScope();
const server = await startInstance(scope);
await addDomain(server, 'example.com');
const again: { server: typeof server | null } = { server: null };
const restarted = async () => {
  await server.stop();
  again.server ??= await startInstance(scope, { folder: server.folder });
  return again.server;
};

interface Case {
  path: string;
  body: object;
  /** Lists what was made. */
  list: string;
  /** A member that stays in a late replay, and one that does not. */
  kept: string;
  secret?: string;
}
const CASES: Case[] = [
  {
    path: '/webhooks',
    body: { Event: 'bounce', WebhookURL: 'https://hooks.example.org/', Domain: 'example.com' },
    list: '/webhooks',
    kept: 'NewWebhookID',
    secret: 'Secret',
  },
  {
    path: '/domains',
    body: { Domain: 'new.example', Quota: { PerDay: 5 } },
    list: '/domains',
    kept: 'DnsRecords',
  },
  {
    path: '/tokens',
    body: { Name: 'n', Domains: ['example.com'] },
    list: '/tokens',
    kept: 'TokenID',
    secret: 'Token',
  },
  {
    path: '/suppressions',
    body: { Domain: 'example.com', Items: [{ Email: 'a@example.net' }, { Email: 'b@example.net' }] },
    list: '/suppressions',
    kept: 'Added',
  },
  {
    path: '/smtp-credentials',
    body: { Domain: 'example.com' },
    list: '/smtp-credentials',
    kept: 'Username',
    secret: 'Password',
  },
  {
    path: '/templates',
    body: { Domain: 'example.com', Name: 't', Subject: 'Hi {{name}}', PlainContent: 'x' },
    list: '/templates',
    kept: 'Versions',
  },
  {
    path: '/people',
    body: { Email: 'ada@example.org', Password: 'correct horse battery', Role: 'operator' },
    list: '/people',
    kept: 'PersonID',
  },
];
const headers = { 'idempotency-key': 'one' };
const firsts = new Map<string, { status: number; text: string }>();

describe('a key', () => {
  it.each(CASES)('makes one thing at POST $path', async ({ path, body, list, secret }) => {
    const first = await server.call('POST', path, { body, headers });
    expect([200, 201], first.text).toContain(first.status);
    firsts.set(path, first);
    const before = (await server.call('GET', list)).text;
    const second = await server.call('POST', path, { body, headers });
    expect([second.status, second.text]).toEqual([first.status, first.text]);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    if (secret !== undefined) expect(second.json[secret].length).toBeGreaterThan(10);
    expect((await server.call('GET', list)).text).toBe(before);
    const other = await server.call('POST', path, { body: { ...body, Extra: 1 }, headers });
    expect([other.status, other.json.Errors[0].Code]).toEqual([422, 1702]);
  });

  it('is free again where nothing was made', async () => {
    const taken = { headers: { 'idempotency-key': 'free' }, body: { Domain: 'example.com' } };
    expect((await server.call('POST', '/domains', taken)).status).toBe(409);
    const good = { ...taken, body: { Domain: 'another.example' } };
    expect((await server.call('POST', '/domains', good)).status).toBe(201);
  });

  it('covers rotations, and parallel requests', async () => {
    const { TokenID } = (
      await server.call('POST', '/tokens', { body: { Name: 'r', Domains: ['example.com'] } })
    ).json;
    const path = `/tokens/${TokenID}/rotate`;
    const first = await server.call('POST', path, { body: {}, headers });
    expect((await server.call('POST', path, { body: {}, headers })).text).toBe(first.text);
    const body = { Event: 'open', WebhookURL: 'https://hooks.example.org/', Domain: 'example.com' };
    const many = await Promise.all(
      Array.from({ length: 10 }, () =>
        server.call('POST', '/webhooks', { body, headers: { 'idempotency-key': 'parallel' } }),
      ),
    );
    const made = many.filter(({ status }) => status === 200).map(({ json }) => json.NewWebhookID);
    expect(new Set(made).size).toBe(1);
    for (const { status } of many) expect([200, 409]).toContain(status);
  });
});

describe('after a restart', () => {
  it.each(CASES)(
    'POST $path is answered as before, without its secret',
    async ({ path, body, kept, secret }) => {
      const later = await restarted();
      const first = JSON.parse(firsts.get(path)?.text ?? '{}');
      const answer = await later.call('POST', path, { body, headers });
      expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([
        firsts.get(path)?.status,
        'true',
      ]);
      expect(answer.json[kept]).toEqual(first[kept]);
      if (secret === undefined) expect(answer.json).toEqual(first);
      else expect(answer.json[secret]).toBeUndefined();
    },
  );
});
