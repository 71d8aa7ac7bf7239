/**
 * What a far end says about one sender domain keeps that domain's mail back and nobody else's; what it says about one
 * recipient, or about encryption, slows nothing at all.
 */
import { beforeAll, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../fakes/fake-dns.ts';
import { createTestCa } from '../fakes/test-certificates.ts';
import { directKit } from './direct-kit.ts';
import { addDomain, fileScope, type Instance, until } from './harness.ts';

const scope = fileScope();
let dns: FakeDns;
const kit = directKit(scope, () => dns, '127.32');

beforeAll(async () => {
  dns = await createFakeDns();
  scope.defer(() => dns.close());
});

const send = (server: Instance, token: string, to: string, more: object = {}) =>
  server.send({ To: [{ email: to }], ...more }, { token });
const recipientOf = async (server: Instance, id: string) =>
  (await server.call('GET', `/email/${id}`)).json.Recipients[0];

describe('mail that fails authentication again and again', () => {
  it('pauses for its sender domain at that site, says so, and goes on when the pause is taken back', async () => {
    const refusal = '550 5.7.26 This mail is unauthenticated: DMARC policy of the domain';
    const mx = await kit.farEnd({ rcpt: [refusal, refusal, refusal, '250 ok'] });
    const elsewhere = await kit.farEnd({});
    dns.set('strict.test', { MX: ['mx.strict.test'] });
    dns.set('mx.strict.test', { A: [mx.address] });
    dns.set('easy.test', { MX: ['mx.easy.test'] });
    dns.set('mx.easy.test', { A: [elsewhere.address] });
    const { server, token } = await kit.start();
    const other = await addDomain(server, 'shop.example');
    for (let n = 0; n < 3; n++) {
      const id = await send(server, token, `r${n}@strict.test`);
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
    }
    const waiting = await send(server, token, 'r3@strict.test');
    const reason = /^mail from example\.com to mx\.strict\.test is paused until .*5\.7\.26/;
    expect((await recipientOf(server, waiting)).WaitReason).toMatch(reason);
    const [queue] = (await server.call('GET', '/queue')).json.Queues;
    expect(queue.Reasons[0].Reason).toMatch(reason);
    // Others to the same site, and the same sender to others, do not wait.
    const receipt = await send(server, other, 'me@strict.test', { From: { email: 'a@shop.example' } });
    expect((await server.settled(receipt)).Status).toBe('Delivered');
    expect((await server.settled(await send(server, token, 'me@easy.test'))).Status).toBe('Delivered');
    expect((await recipientOf(server, waiting)).Status).toBe('Queued');
    const [override] = (await server.call('GET', '/overrides')).json.Items;
    expect(override).toMatchObject({
      Scope: 'tenant@site',
      Key: 'example.com@mx.strict.test',
      Param: 'suspended',
      Rule: 'auth_failed',
    });
    expect((await server.call('DELETE', `/overrides/${override.OverrideID}`)).status).toBe(200);
    expect((await server.settled(waiting)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
  });
});

describe('links on a blocklist', () => {
  it('hold the bulk mail of their sender domain when three receivers say so', async () => {
    const refusal = '554 5.7.1 Blocked: domain example.com is listed at dbl.spamhaus.org';
    const sites = ['one.test', 'two.test', 'three.test'];
    for (const site of sites) {
      const mx = await kit.farEnd({ dot: site === 'one.test' ? [refusal, refusal, '250 ok'] : refusal });
      dns.set(site, { MX: [`mx.${site}`] });
      dns.set(`mx.${site}`, { A: [mx.address] });
    }
    const { server, token } = await kit.start();
    for (const [n, site] of ['one.test', ...sites].entries()) {
      expect((await server.call('GET', '/queue/holds')).json.Items).toEqual([]);
      const id = await send(server, token, `r${n}@${site}`, { Priority: 'bulk' });
      expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Bounced' });
    }
    const [hold] = await until('there is a hold', async () => {
      const { Items } = (await server.call('GET', '/queue/holds')).json;
      return Items.length === 0 ? null : Items;
    });
    expect(hold).toMatchObject({ SenderDomain: 'example.com', Priority: 'bulk' });
    expect(hold.Reason).toContain('dbl.spamhaus.org');
    const bulk = await send(server, token, 'r4@one.test', { Priority: 'bulk' });
    const normal = await send(server, token, 'r5@one.test');
    expect((await server.settled(normal)).Status).toBe('Delivered');
    expect(await recipientOf(server, bulk)).toMatchObject({ Status: 'Held' });
  });
});

describe('a site', () => {
  it('that wants encryption gets the message at once under TLS, and later ones never in the clear', async () => {
    const pair = createTestCa().issue({ names: ['mx.shy.test'] });
    const mx = await kit.farEnd([
      { mail: '530 5.7.0 Must issue a STARTTLS command first' },
      { capabilities: ['PIPELINING', 'STARTTLS'], starttls: { do: 'tls', pair } },
    ]);
    dns.set('shy.test', { MX: ['mx.shy.test'] });
    dns.set('mx.shy.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await send(server, token, 'r@shy.test');
    expect((await server.settled(id)).Recipients[0]).toMatchObject({ Status: 'Delivered', Attempts: 1 });
    expect(mx.connections.map(({ usedTls }) => usedTls)).toEqual([false, true]);
    const [override] = (await server.call('GET', '/overrides')).json.Items;
    expect(override).toMatchObject({ Scope: 'path', Param: 'tls', Value: 'required', Rule: 'tls_required' });
    expect(Date.parse(override.Until) - Date.now()).toBeGreaterThan(6 * 24 * 3_600_000);
  });

  it('is not slowed by one recipient’s own limit', async () => {
    const mx = await kit.farEnd({
      rcpt: ['450 4.2.1 The user you are trying to contact is receiving mail too quickly', '250 ok'],
    });
    dns.set('calm.test', { MX: ['mx.google.com'] });
    dns.set('mx.google.com', { A: [mx.address] });
    const { server, token } = await kit.start({
      shaping: [{ id: 'google', limits: { tls: 'opportunistic' } }],
    });
    const first = await send(server, token, 'busy@calm.test');
    await until('it is deferred', async () => (await server.statusOf(first)) === 'Deferred');
    expect((await server.settled(await send(server, token, 'idle@calm.test'))).Status).toBe('Delivered');
    expect((await server.call('GET', '/overrides')).json.Items).toEqual([]);
    const [path] = (await server.call('GET', '/queue/paths')).json.Items;
    expect(path).toMatchObject({ State: 'closed', Reason: null });
  });

  it('that names a blocklist alerts the operator once, with its words, and recommends no page that they name', async () => {
    const listed =
      '554 5.7.1 Service unavailable; Client host [192.0.2.9] blocked using zen.spamhaus.org; see https://check.spamhaus.org/query/ip/192.0.2.9.';
    const mx = await kit.farEnd({ rcpt: listed });
    dns.set('guarded.test', { MX: ['mx.guarded.test'] });
    dns.set('mx.guarded.test', { A: [mx.address] });
    const { server, token } = await kit.start();
    const id = await send(server, token, 'r@guarded.test');
    await until('it waits', async () => (await recipientOf(server, id)).LastResponse !== '' || null);
    const alerts = server.logs.filter(({ msg }) => msg === 'operator_alert');
    expect(alerts).toMatchObject([
      {
        level: 'error',
        alert: 'ip_blocklisted',
        site: 'mx.guarded.test',
        reply: expect.stringContaining('https://check.spamhaus.org/query/ip/192.0.2.9'),
      },
    ]);
    expect(alerts[0]).not.toHaveProperty('delistUrl');
  });
});
