import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../../test/fakes/fake-dns.ts';
import { createSystemRandom } from '../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../lib/virtual-clock.ts';
import { createDnsClient } from './dns-client.ts';
import { type CachingResolver, createResolver, type ResolverOptions } from './resolver.ts';

let dns: FakeDns;
let clock: VirtualClock;
let resolver: CachingResolver;
/** What it learned of top-level domains is forgotten then, and a failure too. */
const DENIAL_MS = 1_000;
const random = createSystemRandom();

function newResolver(options: ResolverOptions = {}, trustedAd = false): CachingResolver {
  resolver?.close();
  resolver = createResolver({ clock, random, servers: () => [dns.server], trustedAd }, options);
  return resolver;
}

beforeEach(async () => {
  dns = await createFakeDns();
  clock = createVirtualClock();
  newResolver();
});
afterEach(async () => {
  resolver.close();
  await dns.close();
  expect(clock.pendingTimers()).toBe(0);
});

/** Answers while no server does: moves the clock past every try. */
async function withSilence<T>(lookup: Promise<T>): Promise<T> {
  let isDone = false;
  const settled = lookup.finally(() => {
    isDone = true;
  });
  while (!isDone) await clock.advance(500);
  return settled;
}

describe('the trouble of a resolver', () => {
  it('is told when several domains got no answer, and the root none either, until one does', async () => {
    dns.set('example.com', { A: ['192.0.2.1'] });
    for (const name of ['a.test', 'mx1.a.test', 'mx2.a.test', 'b.test', 'c.test', 'd.test', 'e.test'])
      dns.fault(name, { kind: 'drop' });
    // Names that DNS cannot hold say nothing about it.
    for (let i = 0; i < 5; i += 1) await resolver.a(`${'x'.repeat(64)}.${i}.test`);
    for (const name of ['a.test', 'mx1.a.test', 'mx2.a.test', 'b.test', 'c.test', 'd.test'])
      await withSilence(resolver.a(name));
    expect(resolver.trouble()).toBeNull();
    await withSilence(resolver.a('e.test'));
    // The root answers.
    for (const name of ['a.test', 'b.test', 'c.test', 'd.test']) await withSilence(resolver.mx(name));
    expect(resolver.trouble()).toBeNull();
    dns.fault('', { kind: 'drop' });
    await withSilence(resolver.mx('e.test'));
    await withSilence(expect.poll(() => resolver.trouble()).not.toBeNull());
    expect(resolver.trouble()).toMatch(
      /^the DNS gives no usable answer for any domain \(127\.0\.0\.1 port \d+: no answer/,
    );
    await resolver.a('example.com');
    expect(resolver.trouble()).toBeNull();
  });
});

describe('a resolver that denies every domain', () => {
  it('is not believed, as soon as it denies com, and is believed again when it no longer does', async () => {
    dns.set('example.com', { MX: ['mx.example.com'] });
    expect(await resolver.mx('nowhere.example')).toMatchObject({ kind: 'no-name' });
    await clock.advance(DENIAL_MS);
    dns.fault('*', { kind: 'nxdomain' });
    for (const name of ['example.com', 'example.net', 'com'])
      expect(await resolver.mx(name)).toMatchObject({
        kind: 'failure',
        reason: 'denied',
        detail: expect.stringMatching(/^the resolver 127\.0\.0\.1 port \d+ says that .* not even com does/),
      });
    expect(resolver.trouble()).toMatch(/denies every domain, even com/);
    dns.fault('*', undefined);
    await clock.advance(DENIAL_MS);
    expect(await resolver.mx('example.com')).toMatchObject({ kind: 'found' });
    expect(await resolver.mx('gone.example.com')).toMatchObject({ kind: 'no-name' });
    expect(resolver.trouble()).toBeNull();
  });

  it('is believed of the domains of a network that knows no com', async () => {
    dns.fault('com', { kind: 'nxdomain' });
    expect(await resolver.mx('gone.corp')).toMatchObject({ kind: 'no-name' });
    expect(resolver.trouble()).toBeNull();
  });

  it('is asked after one that knows the internet', async () => {
    const other = await createFakeDns({ 'example.com': { MX: ['mx.example.com'] } });
    dns.fault('*', { kind: 'nxdomain' });
    resolver.close();
    resolver = createResolver({ clock, random, servers: () => [dns.server, other.server] });
    expect(await resolver.mx('example.com')).toMatchObject({ kind: 'found' });
    const asked = dns.queries.length;
    expect(await resolver.mx('gone.example.com')).toMatchObject({ kind: 'no-name' });
    expect(dns.queries.length).toBe(asked);
    await other.close();
  });

  it('is not believed because another one knows com', async () => {
    const liar = await createFakeDns();
    liar.fault('*', { kind: 'nxdomain' });
    dns.fault('MX broken.example.com', { kind: 'servfail' });
    resolver.close();
    resolver = createResolver({ clock, random, servers: () => [dns.server, liar.server] });
    expect(await resolver.mx('broken.example.com')).toMatchObject({ kind: 'failure' });
    await liar.close();
  });

  it('does not keep one from being asked that gave no answer lately', async () => {
    const other = await createFakeDns({ 'example.com': { MX: ['mx.example.com'] } });
    dns.fault('*', { kind: 'nxdomain' });
    resolver.close();
    const client = createDnsClient({ clock, random, servers: () => [dns.server, other.server] });
    client.askLast(other.server);
    resolver = createResolver({ clock, random, servers: () => [], client });
    expect(await resolver.mx('example.com')).toMatchObject({ kind: 'found' });
    await other.close();
  });
});

describe('what each type gives', () => {
  it('reads MX, TXT, A, AAAA, CNAME, PTR, NS and TLSA records', async () => {
    dns.set('example.com', {
      MX: [[20, 'mx2.Example.com'], 'mx1.example.com'],
      TXT: ['v=spf1 -all', ['a', 'b', 'c'], 'x'.repeat(600)],
      A: ['192.0.2.1', '192.0.2.2'],
      AAAA: ['2001:db8::1', '::ffff:192.0.2.7'],
      NS: ['ns1.example.com'],
    });
    dns.set('alias.example.com', { CNAME: 'example.com' });
    dns.set('1.2.0.192.in-addr.arpa', { PTR: ['mail.example.com'] });
    dns.set('1.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa', {
      PTR: ['six.example.com'],
    });
    dns.set('_25._tcp.mx1.example.com', { TLSA: [[3, 1, 1, 'abcd']] });
    expect(await resolver.mx('Example.COM.')).toEqual({
      kind: 'found',
      records: [
        { preference: 20, exchange: 'mx2.example.com' },
        { preference: 10, exchange: 'mx1.example.com' },
      ],
      ttlSeconds: 300,
      resolverTtlSeconds: 300,
      secure: false,
    });
    expect(await resolver.txt('example.com')).toMatchObject({
      records: ['v=spf1 -all', 'abc', 'x'.repeat(600)],
    });
    expect(await resolver.a('example.com')).toMatchObject({ records: ['192.0.2.1', '192.0.2.2'] });
    expect(await resolver.aaaa('example.com')).toMatchObject({ records: ['2001:db8::1', '::ffff:c000:207'] });
    expect(await resolver.cname('alias.example.com')).toMatchObject({ records: ['example.com'] });
    expect(await resolver.ns('example.com')).toMatchObject({ records: ['ns1.example.com'] });
    expect(await resolver.ptr('192.0.2.1')).toMatchObject({ records: ['mail.example.com'] });
    expect(await resolver.ptr('2001:db8::1')).toMatchObject({ records: ['six.example.com'] });
    expect(await resolver.ptr('not an address')).toMatchObject({ kind: 'failure', reason: 'malformed' });
    expect(await resolver.tlsa('_25._tcp.mx1.example.com')).toMatchObject({
      records: [{ usage: 3, selector: 1, matching: 1, data: Uint8Array.of(0xab, 0xcd) }],
    });
  });

  it('keeps NODATA, NXDOMAIN and failure apart', async () => {
    dns.set('example.com', { A: ['192.0.2.1'] });
    dns.fault('broken.example.com', { kind: 'servfail' });
    dns.fault('refusing.example.com', { kind: 'refused' });
    expect(await resolver.mx('example.com')).toEqual({
      kind: 'no-data',
      ttlSeconds: 60,
      resolverTtlSeconds: 60,
      secure: false,
    });
    expect(await resolver.mx('nothing.example.com')).toMatchObject({ kind: 'no-name' });
    expect(await resolver.mx('com')).toMatchObject({ kind: 'no-data' });
    expect(await resolver.mx('broken.example.com')).toMatchObject({ kind: 'failure', reason: 'servfail' });
    expect(await resolver.mx('refusing.example.com')).toMatchObject({ kind: 'failure', reason: 'refused' });
  });

  it('answers localhost itself and asks nobody', async () => {
    expect(await resolver.a('localhost')).toMatchObject({ kind: 'found', records: ['127.0.0.1'] });
    expect(await resolver.aaaa('app.localhost.')).toMatchObject({ kind: 'found', records: ['::1'] });
    expect(await resolver.mx('localhost')).toMatchObject({ kind: 'no-data' });
    expect(dns.count()).toBe(0);
  });

  it('fails for a name that DNS cannot hold, without asking', async () => {
    for (const name of [
      'a..b',
      '.a',
      `${'x'.repeat(64)}.com`,
      'bücher.example',
      'a b',
      'a\\.b',
      'x.'.repeat(200),
    ]) {
      expect(await resolver.a(name)).toMatchObject({ kind: 'failure', reason: 'malformed' });
    }
    expect(dns.count()).toBe(0);
  });
});

describe('the cache', () => {
  it('answers from memory until the TTL is over, with the time that is left', async () => {
    dns.set('example.com', { A: ['192.0.2.1'], ttl: 120 });
    expect(await resolver.a('example.com')).toMatchObject({ ttlSeconds: 120 });
    await clock.advance(50_000);
    expect(await resolver.a('EXAMPLE.com')).toMatchObject({ ttlSeconds: 70 });
    expect(dns.count()).toBe(1);
    dns.set('example.com', { A: ['192.0.2.9'] });
    await clock.advance(70_000);
    expect(await resolver.a('example.com')).toMatchObject({ records: ['192.0.2.9'] });
    expect(dns.count()).toBe(2);
  });

  it('keeps a found answer at least a minute and at most an hour', async () => {
    dns.set('short.test', { A: ['192.0.2.1'], ttl: 5 });
    dns.set('long.test', { A: ['192.0.2.1'], ttl: 999_999 });
    expect(await resolver.a('short.test')).toMatchObject({ ttlSeconds: 60 });
    expect(await resolver.a('long.test')).toMatchObject({ ttlSeconds: 3600 });
  });

  it('keeps a negative answer by the SOA, between 30 seconds and 5 minutes', async () => {
    dns.set('none.test', { A: ['192.0.2.1'], negativeTtl: 1 });
    dns.set('middle.test', { A: ['192.0.2.1'], negativeTtl: 90 });
    dns.set('high.test', { A: ['192.0.2.1'], negativeTtl: 9999 });
    dns.set('without.test', { A: ['192.0.2.1'], negativeTtl: null });
    expect(await resolver.mx('none.test')).toMatchObject({ kind: 'no-data', ttlSeconds: 30 });
    expect(await resolver.mx('middle.test')).toMatchObject({ kind: 'no-data', ttlSeconds: 90 });
    expect(await resolver.mx('high.test')).toMatchObject({ kind: 'no-data', ttlSeconds: 300 });
    expect(await resolver.mx('without.test')).toMatchObject({ kind: 'no-data', ttlSeconds: 30 });
  });

  it('says how long the resolver that was asked may keep an answer, without the limits of this cache', async () => {
    dns.set('high.test', { A: ['192.0.2.1'], ttl: 7200, negativeTtl: 9999 });
    dns.set('without.test', { A: ['192.0.2.1'], negativeTtl: null });
    expect(await resolver.a('high.test')).toMatchObject({ ttlSeconds: 3600, resolverTtlSeconds: 7200 });
    expect(await resolver.mx('high.test')).toMatchObject({ ttlSeconds: 300, resolverTtlSeconds: 3600 });
    expect(await resolver.mx('without.test')).not.toHaveProperty('resolverTtlSeconds');
    await clock.advance(100_000);
    expect(await resolver.mx('high.test')).toMatchObject({ ttlSeconds: 200, resolverTtlSeconds: 3500 });
  });

  it('asks anew for who wants nothing from before, once, and keeps that answer for all', async () => {
    expect(await resolver.txt('new.test')).toMatchObject({ kind: 'no-name' });
    dns.set('new.test', { TXT: ['here'] });
    expect(await resolver.txt('new.test')).toMatchObject({ kind: 'no-name' });
    const fresh = resolver.fresh();
    const answers = await Promise.all([fresh.txt('new.test'), fresh.txt('new.test')]);
    expect(answers).toMatchObject([{ records: ['here'] }, { records: ['here'] }]);
    expect(await fresh.txt('new.test')).toMatchObject({ records: ['here'] });
    expect(await resolver.txt('new.test')).toMatchObject({ records: ['here'] });
    expect(dns.count('new.test')).toBe(2);
  });

  it('does not join a question of before for who wants nothing from before', async () => {
    const before = resolver.txt('new.test');
    const after = resolver.fresh().txt('new.test');
    await Promise.all([before, after]);
    expect(dns.count('new.test')).toBe(2);
  });

  it('tells who wants nothing from before of a failure, and serves the others what it knew', async () => {
    dns.set('example.com', { A: ['192.0.2.1'], ttl: 300 });
    await resolver.a('example.com');
    dns.fault('*', { kind: 'servfail' });
    const fresh = resolver.fresh();
    const asked = dns.count('example.com');
    expect(await fresh.a('example.com')).toMatchObject({ kind: 'failure' });
    const tried = dns.count('example.com') - asked;
    expect(await fresh.a('example.com')).toMatchObject({ kind: 'failure' });
    expect(dns.count('example.com') - asked).toBe(tried);
    const cached = await resolver.a('example.com');
    expect(cached).toMatchObject({ kind: 'found', records: ['192.0.2.1'] });
    await clock.advance(400_000);
    expect(await resolver.fresh().a('example.com')).toMatchObject({ kind: 'failure' });
    expect(await resolver.a('example.com')).toMatchObject({ kind: 'found' });
  });

  it('asks once for many who want the same', async () => {
    dns.set('example.com', { A: ['192.0.2.1'] });
    const answers = await Promise.all(Array.from({ length: 50 }, () => resolver.a('example.com')));
    expect(answers.every((answer) => answer.kind === 'found')).toBe(true);
    expect(dns.count()).toBe(1);
  });

  it('keeps a failure for a moment only', async () => {
    dns.set('example.com', { A: ['192.0.2.1'] });
    dns.fault('example.com', { kind: 'servfail' });
    expect(await resolver.a('example.com')).toMatchObject({ kind: 'failure' });
    dns.fault('example.com', undefined);
    expect(await resolver.a('example.com')).toMatchObject({ kind: 'failure' });
    expect(dns.count()).toBe(1);
    await clock.advance(1000);
    expect(await resolver.a('example.com')).toMatchObject({ kind: 'found' });
  });

  it('serves what it knew for six hours while no server answers, and no longer', async () => {
    dns.set('example.com', { MX: ['mx.example.com'], ttl: 300 });
    await resolver.mx('example.com');
    dns.fault('*', { kind: 'drop' });
    await clock.advance(3_600_000);
    expect(await withSilence(resolver.mx('example.com'))).toMatchObject({
      kind: 'found',
      records: [{ exchange: 'mx.example.com' }],
      ttlSeconds: 30,
    });
    const asked = dns.count();
    expect(await resolver.mx('example.com')).toMatchObject({ kind: 'found' });
    expect(dns.count()).toBe(asked);
    await clock.advance(6 * 3_600_000 - 3_600_000 + 300_000);
    expect(await withSilence(resolver.mx('example.com'))).toMatchObject({
      kind: 'failure',
      reason: 'timeout',
    });
  });

  it('takes a fresh answer as soon as a server is back', async () => {
    dns.set('example.com', { A: ['192.0.2.1'] });
    await resolver.a('example.com');
    dns.fault('*', { kind: 'servfail' });
    await clock.advance(400_000);
    expect(await resolver.a('example.com')).toMatchObject({ kind: 'found', records: ['192.0.2.1'] });
    dns.fault('*', undefined);
    dns.set('example.com', { A: ['192.0.2.5'] });
    await clock.advance(30_000);
    const answer = await resolver.a('example.com');
    expect(answer).toMatchObject({ kind: 'found', records: ['192.0.2.5'] });
  });

  it('never serves an old NXDOMAIN', async () => {
    expect(await resolver.mx('gone.test')).toMatchObject({ kind: 'no-name' });
    dns.fault('*', { kind: 'servfail' });
    await clock.advance(400_000);
    expect(await resolver.mx('gone.test')).toMatchObject({ kind: 'failure' });
  });

  it('forgets one name or all when told, also what is under way', async () => {
    dns.set('a.test', { A: ['192.0.2.1'] });
    dns.set('b.test', { A: ['192.0.2.1'] });
    await Promise.all([resolver.a('a.test'), resolver.mx('a.test'), resolver.a('b.test')]);
    resolver.flush('A.test.');
    await Promise.all([resolver.a('a.test'), resolver.mx('a.test'), resolver.a('b.test')]);
    expect([dns.count('a.test'), dns.count('b.test')]).toEqual([4, 1]);
    resolver.flush();
    const underWay = resolver.a('b.test');
    resolver.flush('b.test');
    dns.set('b.test', { A: ['192.0.2.2'] });
    await underWay;
    expect(await resolver.a('b.test')).toMatchObject({ records: ['192.0.2.2'] });
  });

  it('stays within its bounds, dropping the least recently used', async () => {
    newResolver({ maxEntries: 3 });
    for (const name of ['a.test', 'b.test', 'c.test', 'd.test']) dns.set(name, { A: ['192.0.2.1'] });
    for (const name of ['a.test', 'b.test', 'c.test', 'a.test', 'd.test']) await resolver.a(name);
    await resolver.a('a.test');
    expect(dns.count('a.test')).toBe(1);
    await resolver.a('b.test');
    expect(dns.count('b.test')).toBe(2);
    newResolver({ maxCacheBytes: 2000 });
    for (const name of ['e.test', 'f.test']) dns.set(name, { TXT: ['x'.repeat(1000)] });
    for (const name of ['e.test', 'f.test', 'f.test', 'e.test']) await resolver.txt(name);
    expect([dns.count('e.test'), dns.count('f.test')]).toEqual([2, 1]);
    // Names count as long as they are, although each is two octets on the wire.
    const long = `${Array.from({ length: 3 }, () => 'x'.repeat(63)).join('.')}.test`;
    for (const name of ['g.test', 'h.test']) dns.set(name, { MX: Array.from({ length: 4 }, () => long) });
    for (const name of ['g.test', 'h.test', 'h.test', 'g.test']) await resolver.mx(name);
    expect([dns.count('g.test'), dns.count('h.test')]).toEqual([2, 1]);
  });
});

describe('aliases', () => {
  it('follows a chain within one answer and across answers', async () => {
    dns.set('a.test', { CNAME: 'b.test', ttl: 90 });
    dns.set('b.test', { CNAME: 'c.test' });
    dns.set('c.test', { MX: ['mx.test'], A: ['192.0.2.3'] });
    expect(await resolver.a('a.test')).toMatchObject({
      records: ['192.0.2.3'],
      ttlSeconds: 90,
      alias: 'c.test',
    });
    expect(await resolver.a('c.test')).not.toHaveProperty('alias');
    dns.set('far.test', { CNAME: 'elsewhere.test' });
    dns.set('elsewhere.test', { A: ['192.0.2.4'], negativeTtl: null });
    expect(await resolver.a('far.test')).toMatchObject({ records: ['192.0.2.4'] });
  });

  it('takes the state of the name at the end', async () => {
    dns.set('to-nothing.test', { CNAME: 'missing.example' });
    dns.set('to-empty.test', { CNAME: 'empty.test' });
    dns.set('empty.test', { TXT: ['x'] });
    expect(await resolver.a('to-nothing.test')).toMatchObject({ kind: 'no-name' });
    expect(await resolver.a('to-empty.test')).toMatchObject({ kind: 'no-data' });
  });

  it('fails on a loop and on a chain of more than eight', async () => {
    dns.set('x.test', { CNAME: 'y.test' });
    dns.set('y.test', { CNAME: 'x.test' });
    dns.set('self.test', { CNAME: 'self.test' });
    expect(await resolver.mx('x.test')).toMatchObject({ kind: 'failure', reason: 'malformed' });
    expect(await resolver.mx('self.test')).toMatchObject({ kind: 'failure', reason: 'malformed' });
    for (let i = 0; i < 12; i++) dns.set(`n${i}.test`, { CNAME: `n${i + 1}.test` });
    dns.set('n12.test', { A: ['192.0.2.1'] });
    expect(await resolver.a('n4.test')).toMatchObject({ kind: 'found' });
    expect(await resolver.a('n3.test')).toMatchObject({ kind: 'failure', reason: 'malformed' });
  });
});

describe('whether an answer was validated', () => {
  it('believes the AD bit of a resolver on loopback', async () => {
    dns.set('signed.test', { A: ['192.0.2.1'], secure: true });
    dns.set('plain.test', { A: ['192.0.2.1'] });
    dns.set('alias.test', { CNAME: 'plain.test', secure: true });
    expect(await resolver.a('signed.test')).toMatchObject({ secure: true });
    expect(await resolver.mx('signed.test')).toMatchObject({ kind: 'no-data', secure: true });
    expect(await resolver.a('plain.test')).toMatchObject({ secure: false });
    expect(await resolver.a('alias.test')).toMatchObject({ secure: false });
  });
});

describe('a name that several ask for', () => {
  it('is looked up in the turn of whoever comes to it first', async () => {
    newResolver({ maxInFlight: 4 });
    dns.set('example.com', { A: ['192.0.2.1'], MX: ['mx.example.com'] });
    for (let n = 0; n < 40; n++) dns.fault(`zone${n}.example`, { kind: 'drop' });
    const many = resolver.of('many.example');
    for (let n = 0; n < 40; n++) void many.a(`zone${n}.example`);
    const late = many.a('example.com');
    await dns.reached(4);
    // Joins the question of the other, which is the last of its line.
    const answer = resolver.of('other.example').a('example.com');
    await withSilence(answer);
    expect((await late).kind).toBe('found');
    expect(new Set(dns.queries.map(({ name }) => name)).size).toBeLessThan(20);
    expect(dns.queries.filter(({ name }) => name === 'example.com')).toHaveLength(1);
  });
});
