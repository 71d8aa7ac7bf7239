import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createFakeDns, type FakeDns } from '../../test/fakes/fake-dns.ts';
import { createSystemRandom, type Random } from '../lib/random.ts';
import { createVirtualClock, type VirtualClock } from '../lib/virtual-clock.ts';
import { createAddressFilter } from './address-filter.ts';
import { type Families, type MxHosts, resolveMxHosts } from './mx-hosts.ts';
import { type CachingResolver, createResolver } from './resolver.ts';

let dns: FakeDns;
let resolver: CachingResolver;
let clock: VirtualClock;
const systemRandom = createSystemRandom();

beforeEach(async () => {
  dns = await createFakeDns();
  clock = createVirtualClock();
  resolver = createResolver({ clock, random: systemRandom, servers: () => [dns.server] });
});
afterEach(async () => {
  resolver.close();
  await dns.close();
});

interface Wanted {
  allowNetworks?: string[];
  own?: string[];
  ipv6?: boolean;
  families?: Families;
  random?: Random;
}

function hostsFor(domain: string, wanted: Wanted = {}): Promise<MxHosts> {
  const filter = createAddressFilter({ allowNetworks: wanted.allowNetworks ?? [], own: wanted.own ?? [] });
  if (filter.kind !== 'filter') throw new Error(filter.detail);
  return resolveMxHosts(resolver, domain, {
    filter,
    random: wanted.random ?? systemRandom,
    families: wanted.families ?? { ipv4: true, ipv6: wanted.ipv6 ?? false },
  });
}

function namesOf(result: MxHosts): string[] {
  return result.kind === 'hosts' ? result.hosts.map((host) => host.name) : [];
}

const PUBLIC = ['8.8.4.4'];

describe('the order of hosts', () => {
  it('goes by preference, best first', async () => {
    dns.set('example.com', {
      MX: [
        [30, 'c.example.com'],
        [10, 'a.example.com'],
        [20, 'b.example.com'],
      ],
    });
    for (const name of ['a', 'b', 'c']) dns.set(`${name}.example.com`, { A: PUBLIC });
    const result = await hostsFor('Example.com.');
    expect(result).toEqual({
      kind: 'hosts',
      secure: false,
      hosts: [
        { name: 'a.example.com', preference: 10, addresses: PUBLIC, secure: false },
        { name: 'b.example.com', preference: 20, addresses: PUBLIC, secure: false },
        { name: 'c.example.com', preference: 30, addresses: PUBLIC, secure: false },
      ],
    });
  });

  it('is drawn evenly among equal preferences', async () => {
    const names = ['a.example.com', 'b.example.com', 'c.example.com'];
    dns.set('example.com', { MX: [...names, [5, 'first.example.com']] });
    for (const name of [...names, 'first.example.com']) dns.set(name, { A: PUBLIC });
    const orders = new Map<string, number>();
    for (let i = 0; i < 600; i++) {
      const [first, ...rest] = namesOf(await hostsFor('example.com'));
      expect(first).toBe('first.example.com');
      orders.set(rest.join(), (orders.get(rest.join()) ?? 0) + 1);
    }
    expect(orders.size).toBe(6);
    for (const count of orders.values()) expect(count).toBeGreaterThan(50);
  });

  it('names a host once, at its best preference', async () => {
    dns.set('example.com', {
      MX: [
        [20, 'a.example.com'],
        [10, 'A.example.com'],
      ],
    });
    dns.set('a.example.com', { A: PUBLIC });
    expect(await hostsFor('example.com')).toMatchObject({
      hosts: [{ name: 'a.example.com', preference: 10 }],
    });
  });
});

describe('what DNS says about the domain (scenario 13)', () => {
  it('SERVFAIL, REFUSED and nonsense are temporary, and never lead to the domain itself', async () => {
    dns.set('example.com', { A: PUBLIC });
    for (const kind of ['servfail', 'refused', 'lame', 'formerr'] as const) {
      resolver.flush();
      dns.fault('MX example.com', { kind });
      expect(await hostsFor('example.com')).toMatchObject({ kind: 'temporary' });
    }
    expect(dns.count('example.com', 'A')).toBe(0);
  });

  it('NXDOMAIN means no domain', async () => {
    expect(await hostsFor('missing.test')).toEqual({ kind: 'no-domain' });
  });

  it('NODATA means the domain stands for itself', async () => {
    dns.set('example.com', { A: PUBLIC });
    expect(await hostsFor('example.com')).toMatchObject({
      kind: 'hosts',
      hosts: [{ name: 'example.com', preference: 0, addresses: PUBLIC }],
    });
  });

  it('an implicit host whose address lookup fails is temporary, one without address is permanent', async () => {
    dns.set('example.com', { A: PUBLIC });
    dns.set('empty.test', { TXT: ['x'] });
    dns.fault('A example.com', { kind: 'servfail' });
    expect(await hostsFor('example.com')).toMatchObject({ kind: 'temporary' });
    expect(await hostsFor('empty.test')).toMatchObject({ kind: 'no-hosts' });
  });

  it('a null MX means no mail; beside real ones it is ignored', async () => {
    dns.set('null.test', { MX: [[0, '.']], A: PUBLIC });
    dns.set('twice.test', {
      MX: [
        [0, ''],
        [10, '.'],
      ],
      A: PUBLIC,
    });
    dns.set('mixed.test', {
      MX: [
        [0, '.'],
        [10, 'mx.mixed.test'],
      ],
    });
    dns.set('mx.mixed.test', { A: PUBLIC });
    expect(await hostsFor('null.test')).toEqual({ kind: 'null-mx' });
    expect(await hostsFor('twice.test')).toEqual({ kind: 'null-mx' });
    expect(namesOf(await hostsFor('mixed.test'))).toEqual(['mx.mixed.test']);
  });

  it('follows aliases of the domain and of a host', async () => {
    dns.set('alias.test', { CNAME: 'real.test' });
    dns.set('real.test', { MX: ['mx.real.test'] });
    dns.set('mx.real.test', { CNAME: 'box.real.test' });
    dns.set('box.real.test', { A: PUBLIC });
    expect(await hostsFor('alias.test')).toMatchObject({
      hosts: [{ name: 'mx.real.test', addresses: PUBLIC }],
    });
  });

  it('asks nothing for a text that no domain can have', async () => {
    for (const text of [
      '',
      '127.0.0.1',
      '1.2.3',
      '0x7f.1',
      '[::1]',
      '::1',
      'a..b',
      'a b.test',
      'x'.repeat(64),
    ]) {
      expect(await hostsFor(text)).toEqual({ kind: 'no-domain' });
    }
    expect(dns.count()).toBe(0);
  });
});

describe('a host that moves (scenario 15)', () => {
  it('is followed after a minute where its TTL is five seconds, not at every message', async () => {
    dns.set('moving.test', { MX: ['old.moving.test'], ttl: 5 });
    for (const name of ['old', 'new']) dns.set(`${name}.moving.test`, { A: PUBLIC, ttl: 5 });
    expect(namesOf(await hostsFor('moving.test'))).toEqual(['old.moving.test']);
    dns.set('moving.test', { MX: ['new.moving.test'], ttl: 5 });
    const asked = dns.count();
    await clock.advance(59_000);
    expect(namesOf(await hostsFor('moving.test'))).toEqual(['old.moving.test']);
    expect(dns.count()).toBe(asked);
    await clock.advance(1_000);
    expect(namesOf(await hostsFor('moving.test'))).toEqual(['new.moving.test']);
  });
});

describe('hosts without a usable address', () => {
  it('skips them while another is usable', async () => {
    dns.set('example.com', {
      MX: [
        [5, 'gone.example.com'],
        [6, 'broken.example.com'],
        [7, 'inside.example.com'],
        [10, 'ok.example.com'],
      ],
    });
    dns.fault('broken.example.com', { kind: 'servfail' });
    dns.set('inside.example.com', { A: ['10.0.0.1'] });
    dns.set('ok.example.com', { A: ['10.0.0.2', ...PUBLIC] });
    const result = await hostsFor('example.com');
    expect(result).toMatchObject({ hosts: [{ name: 'ok.example.com', addresses: PUBLIC }] });
  });

  it('is permanent only when DNS says so for every one', async () => {
    dns.set('example.com', { MX: ['nx.example.com', 'nodata.example.com'] });
    dns.set('nodata.example.com', { TXT: ['x'] });
    expect(await hostsFor('example.com')).toMatchObject({ kind: 'no-hosts' });
    resolver.flush();
    dns.fault('nx.example.com', { kind: 'servfail' });
    expect(await hostsFor('example.com')).toMatchObject({ kind: 'temporary' });
  });

  it('takes addresses written where a name belongs for no host', async () => {
    dns.set('example.com', { MX: ['8.8.4.4', '2001:db8::1', '0x08080404', '134744072', 'a b.example.com'] });
    expect(await hostsFor('example.com')).toMatchObject({ kind: 'no-hosts' });
    expect(dns.count()).toBe(1);
  });

  it('continues after ten dead hosts, and takes nothing for permanent that it did not look at', async () => {
    const names = Array.from({ length: 12 }, (_, i) => `mx${i}.example.com`);
    dns.set('example.com', { MX: names.map((name, i) => [i, name] as const) });
    dns.set('mx11.example.com', { A: PUBLIC });
    expect(namesOf(await hostsFor('example.com'))).toEqual(['mx11.example.com']);
    dns.set('many.test', { MX: Array.from({ length: 80 }, (_, i) => [i, `mx${i}.many.test`] as const) });
    expect(await hostsFor('many.test')).toMatchObject({ kind: 'temporary' });
    expect(dns.queries.filter((query) => query.name.endsWith('.many.test'))).toHaveLength(30);
  });

  it('IPv6 is looked up only when wanted, and then comes after IPv4', async () => {
    dns.set('example.com', { MX: ['mx.example.com'] });
    dns.set('mx.example.com', { AAAA: ['2606:4700::1'] });
    expect(await hostsFor('example.com')).toMatchObject({
      kind: 'no-hosts',
      detail: 'IPv6 addresses only: mx.example.com',
      only: 'ipv6',
    });
    resolver.flush();
    expect(await hostsFor('example.com', { ipv6: true })).toMatchObject({
      hosts: [{ addresses: ['2606:4700::1'] }],
    });
    dns.set('mx.example.com', { A: PUBLIC, AAAA: ['2606:4700::1'] });
    resolver.flush();
    const asked = dns.count('mx.example.com', 'AAAA');
    expect(await hostsFor('example.com')).toMatchObject({ hosts: [{ addresses: PUBLIC }] });
    expect(dns.count('mx.example.com', 'AAAA')).toBe(asked);
    resolver.flush();
    expect(await hostsFor('example.com', { ipv6: true })).toMatchObject({
      hosts: [{ addresses: [...PUBLIC, '2606:4700::1'] }],
    });
    resolver.flush();
    dns.fault('AAAA mx.example.com', { kind: 'servfail' });
    expect(await hostsFor('example.com', { ipv6: true })).toMatchObject({ hosts: [{ addresses: PUBLIC }] });
  });

  it('IPv4 is not looked up where only IPv6 is used, except to say why there is no host', async () => {
    const families = { ipv4: false, ipv6: true };
    dns.set('example.com', { MX: ['mx.example.com'] });
    dns.set('mx.example.com', { A: PUBLIC, AAAA: ['2606:4700::1'] });
    expect(await hostsFor('example.com', { families })).toMatchObject({
      hosts: [{ addresses: ['2606:4700::1'] }],
    });
    expect(dns.count('mx.example.com', 'A')).toBe(0);
    dns.set('mx.example.com', { A: PUBLIC });
    resolver.flush();
    expect(await hostsFor('example.com', { families })).toMatchObject({
      kind: 'no-hosts',
      detail: 'IPv4 addresses only: mx.example.com',
      only: 'ipv4',
    });
  });
});

describe('addresses we must not connect to (scenario 14)', () => {
  const forbidden = ['127.0.0.1', '10.1.2.3', '169.254.169.254', '192.168.0.1', '0.0.0.0', '100.64.0.1'];
  it.each(forbidden)('refuses a domain whose only host is at %s', async (address) => {
    dns.set('example.com', { MX: ['mx.example.com'] });
    dns.set('mx.example.com', { A: [address] });
    const result = await hostsFor('example.com');
    expect(result.kind).toBe('refused');
    expect(result).toMatchObject({ detail: expect.stringContaining(address) });
  });

  it.each(['::1', '::ffff:127.0.0.1', '64:ff9b::7f00:1', 'fd00::1', 'fe80::1', '2002:7f00:1::'])(
    'refuses a domain whose only host is at %s',
    async (address) => {
      dns.set('example.com', { MX: ['mx.example.com'] });
      dns.set('mx.example.com', { AAAA: [address] });
      expect(await hostsFor('example.com', { ipv6: true })).toMatchObject({ kind: 'refused' });
    },
  );

  it('refuses our own addresses, localhost, and a domain that stands for itself on loopback', async () => {
    dns.set('example.com', { MX: ['mx.example.com'] });
    dns.set('mx.example.com', { A: PUBLIC });
    expect(await hostsFor('example.com', { own: PUBLIC })).toMatchObject({ kind: 'refused' });
    dns.set('lo.test', { MX: ['localhost'] });
    expect(await hostsFor('lo.test')).toMatchObject({ kind: 'refused' });
    dns.set('self.test', { A: ['127.0.0.1'] });
    expect(await hostsFor('self.test')).toMatchObject({ kind: 'refused' });
    expect(await hostsFor('localhost')).toMatchObject({ kind: 'refused' });
  });

  it('is refused, not temporary, only when nothing else is open', async () => {
    dns.set('example.com', { MX: ['in.example.com', 'broken.example.com'] });
    dns.set('in.example.com', { A: ['10.0.0.1'] });
    dns.fault('broken.example.com', { kind: 'servfail' });
    expect(await hostsFor('example.com')).toMatchObject({ kind: 'temporary' });
  });

  it('lets through what the operator listed', async () => {
    dns.set('example.com', { MX: ['mx.example.com'] });
    dns.set('mx.example.com', { A: ['127.0.0.2'] });
    expect(await hostsFor('example.com', { allowNetworks: ['127.0.0.0/8'] })).toMatchObject({
      kind: 'hosts',
    });
  });
});

describe('validated answers', () => {
  it('says which parts were validated', async () => {
    dns.set('example.com', { MX: ['a.example.com', [20, 'b.example.com']], secure: true });
    dns.set('a.example.com', { A: PUBLIC, secure: true });
    dns.set('b.example.com', { A: PUBLIC });
    expect(await hostsFor('example.com')).toMatchObject({
      secure: true,
      hosts: [{ secure: true }, { secure: false }],
    });
  });

  it('stays validated where the look-up of the other kind of address fails, which an attacker can cause', async () => {
    dns.set('example.com', { MX: ['a.example.com', [20, 'b.example.com']], secure: true });
    dns.set('a.example.com', { A: PUBLIC, secure: true });
    dns.set('b.example.com', { A: PUBLIC });
    const aaaa = async () => ({ kind: 'failure', reason: 'servfail', detail: 'SERVFAIL' }) as const;
    resolver = { ...resolver, aaaa };
    expect(await hostsFor('example.com', { ipv6: true })).toMatchObject({
      hosts: [
        { addresses: PUBLIC, secure: true },
        { addresses: PUBLIC, secure: false },
      ],
    });
  });
});
