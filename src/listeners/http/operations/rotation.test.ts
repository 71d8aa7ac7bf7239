import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook as Verifier } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createManualClock } from '../../../store/sqlite/test-support.ts';
import { codesOf, openWorld, type World } from '../test-world.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const clock = createManualClock();
let world: World;
beforeAll(async () => {
  world = await openWorld({ clock });
});
afterAll(() => world.close());

describe('POST /webhooks/{id}/secret', () => {
  it('signs with both secrets for a day, then with the new one alone', async () => {
    const calls: { headers: IncomingMessage['headers']; body: string }[] = [];
    const server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => {
        body += chunk.toString();
      });
      request.on('end', () => {
        calls.push({ headers: request.headers, body });
        response.end();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
    const made = (await world.call('POST', '/webhooks', { body: { Event: 'all', WebhookURL: url } })).json();
    const path = `/webhooks/${made.NewWebhookID}`;
    const rotated = await world.call('POST', `${path}/secret`);
    const { Secret, PreviousValidUntil } = rotated.json() as Record<string, string>;
    expect(rotated.status).toBe(200);
    expect(Secret).not.toBe(made.Secret);
    expect(Date.parse(PreviousValidUntil ?? '')).toBe(clock.now() + DAY);
    expect((await world.call('GET', path)).json().SecretHint).toBe(Secret?.slice(-4));
    const verifies = async (secret: unknown): Promise<boolean> => {
      await world.call('POST', `${path}/test`);
      const call = calls.at(-1);
      const headers = call?.headers as Record<string, string>;
      // The verifier looks at its own clock; the signature is what is held here.
      const stamp = Math.floor(clock.now() / 1000);
      const expected = new Verifier(String(secret)).sign(
        headers['webhook-id'] ?? '',
        new Date(stamp * 1000),
        call?.body ?? '',
      );
      return headers['webhook-signature']?.split(' ').includes(expected) === true;
    };
    expect([await verifies(made.Secret), await verifies(Secret)]).toEqual([true, true]);
    clock.advance(DAY - 1);
    expect([await verifies(made.Secret), await verifies(Secret)]).toEqual([true, true]);
    clock.advance(1);
    expect([await verifies(made.Secret), await verifies(Secret)]).toEqual([false, true]);
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is for the own token with its scope only', async () => {
    const body = { Event: 'all', WebhookURL: 'http://127.0.0.1:9/' };
    const made = (await world.call('POST', '/webhooks', { body })).json();
    const path = `/webhooks/${made.NewWebhookID}/secret`;
    expect((await world.call('POST', path, { token: world.tokens.other })).status).toBe(404);
    expect(codesOf(await world.call('POST', path, { token: world.tokens.narrow }))).toEqual([34]);
    const detail = (await world.call('GET', `/webhooks/${made.NewWebhookID}`)).json();
    expect(detail.SecretHint).toBe(String(made.Secret).slice(-4));
  });
});

describe('PATCH /domains/{name}', () => {
  const patch = (body: object, token = world.tokens.own) =>
    world.call('PATCH', '/domains/example.com', { body, token });

  it('lets sub-domains send, or not', async () => {
    const mail = { From: { email: 'a@news.example.com' } };
    const send = () => world.call('POST', '/email/', { body: { ...mail, ...REST } });
    expect(codesOf(await send())).toEqual([33]);
    expect((await patch({ Subdomains: true })).json()).toMatchObject({
      Domain: 'example.com',
      Subdomains: true,
    });
    expect((await send()).status).toBe(200);
    expect((await patch({ subdomains: false })).json()).toMatchObject({ Subdomains: false });
    expect(codesOf(await send())).toEqual([33]);
  });

  it('keeps the settings that a change does not name', async () => {
    const before = (await patch({ Retention: { ContentDays: 0 }, AtMostOnce: true })).json();
    expect(before).toMatchObject({
      Subdomains: false,
      Retention: { ContentDays: 0, EventDays: null },
      RequireTls: false,
      AtMostOnce: true,
      ReturnPathHost: '',
    });
    await patch({ Retention: { EventDays: 30 }, RequireTls: true, ReturnPathHost: 'Bounces.example.com' });
    expect((await patch({ Retention: { ContentDays: null } })).json()).toMatchObject({
      Retention: { ContentDays: null, EventDays: 30 },
      RequireTls: true,
      AtMostOnce: true,
      ReturnPathHost: 'bounces.example.com',
    });
    expect((await patch({ ReturnPathHost: '' })).json()).toMatchObject({ ReturnPathHost: '' });
  });

  it('refuses what this version does not have, and other people’s domains', async () => {
    expect(codesOf(await patch({ DkimSelector: 'x' }))).toEqual([1606]);
    expect(codesOf(await patch({ Subdomains: 'yes' }))).toEqual([422]);
    expect(codesOf(await patch({}))).toEqual([422]);
    expect(codesOf(await patch({ Retention: { ContentDays: -1 } }))).toEqual([422]);
    expect(codesOf(await patch({ Retention: { EventDays: 0 } }))).toEqual([422]);
    expect(codesOf(await patch({ Retention: { Days: 3 } }))).toEqual([422]);
    expect(codesOf(await patch({ ReturnPathHost: 'bounces.example.net' }))).toEqual([422]);
    expect(codesOf(await patch({ ReturnPathHost: 'no host' }))).toEqual([422]);
    expect((await patch({ Subdomains: true }, world.tokens.other)).status).toBe(404);
    expect(codesOf(await patch({ Subdomains: true }, world.tokens.narrow))).toEqual([34]);
  });
});

const REST = {
  To: [{ email: 'b@example.net' }],
  Subject: 'S',
  ContentType: 'Text',
  PlainContent: 'x',
};

describe('POST /domains/{name}/dkim/rotate', () => {
  const path = '/domains/example.com/dkim/rotate';
  const rotate = (token = world.tokens.own) => {
    clock.advance(11_000);
    return world.call('POST', path, { token });
  };
  const selector = async () => {
    const signers = await world.domains.signersFor('example.com');
    const domain = await world.store.getDomain({ name: 'example.com' });
    expect(signers.kind).toBe('signers');
    return domain?.keys.find((key) => key.role === 'active')?.selector;
  };

  it('refuses with a sentence while the DNS does not show the standby key', async () => {
    const reply = await rotate();
    expect([reply.status, codesOf(reply)]).toEqual([409, [2004]]);
    expect(reply.json().Error).toContain('s2._domainkey.example.com');
    expect(await selector()).toBe('s1');
    const again = await world.call('POST', path);
    expect([again.status, again.headers['retry-after']]).toEqual([429, '10']);
  });

  it('refuses a key that is not ours', async () => {
    world.txt.set('s2._domainkey.example.com', ['v=DKIM1; k=rsa; p=AAAA']);
    clock.advance(2 * HOUR);
    expect(codesOf(await rotate())).toEqual([2004]);
    expect(await selector()).toBe('s1');
  });

  it('signs with the standby key once it is published, also just after a check, and keeps the old record for a week', async () => {
    const before = (await world.call('GET', '/domains/example.com')).json() as {
      DnsRecords: { Host: string; Value: string; Purpose: string }[];
    };
    for (const record of before.DnsRecords) world.txt.set(record.Host, [record.Value]);
    clock.advance(2 * HOUR);
    expect((await world.call('POST', '/domains/example.com/verify')).status).toBe(200);
    const reply = await world.call('POST', path);
    expect(reply.status).toBe(200);
    expect(await selector()).toBe('s2');
    const dkim = (reply.json() as typeof before).DnsRecords.filter((one) => one.Purpose === 'DKIM');
    expect(dkim.map((one) => one.Host)).toEqual(['s1._domainkey.example.com', 's2._domainkey.example.com']);
    const again = await rotate();
    expect([codesOf(again), again.json().Error]).toEqual([
      [2004],
      expect.stringContaining('next standby key'),
    ]);
  });

  it('does not believe a look-up that is more than an hour old', async () => {
    await world.domains.verify('other.example');
    const { other } = world.tokens;
    const domain = await world.store.getDomain({ name: 'other.example' });
    if (domain === null) throw new Error('gone');
    for (const record of world.domains.records(domain)) world.txt.set(record.Host, [record.Value]);
    await world.domains.verify('other.example');
    for (const record of world.domains.records(domain)) world.txt.delete(record.Host);
    clock.advance(HOUR + 1);
    const reply = await world.call('POST', '/domains/other.example/dkim/rotate', { token: other });
    expect(codesOf(reply)).toEqual([2004]);
  });

  it('is for the own token with its scope only', async () => {
    expect((await rotate(world.tokens.other)).status).toBe(404);
    expect(codesOf(await rotate(world.tokens.narrow))).toEqual([34]);
  });
});
