/** Which site a recipient's mail belongs to, before, while and after the DNS says where its domain is. */
import { describe, expect, it } from 'vitest';
import { createEgressFacts } from '../../../../test/fakes/egress-facts.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import type { SiteQuestion } from '../../queue/gate.ts';
import { createRoutes, type RoutesConfig } from './routes.ts';
import { createSites } from './sites.ts';

const MINUTE = 60_000;
const RELAY = { kind: 'relay', host: 'relay.example', port: 587, implicitTls: false, auth: null } as const;
const MX = { kind: 'mx' } as const;
const to = (recipientDomain: string, more: Partial<SiteQuestion> = {}): SiteQuestion => ({
  ...{ recipientDomain, senderDomain: 'shop.example', lane: 'normal', sandbox: null },
  ...more,
});
const found = (...hosts: string[]): DnsAnswer<MxRecord> => ({
  kind: 'found',
  records: hosts.map((exchange, i) => ({ preference: i, exchange })),
  ttlSeconds: 600,
  secure: false,
});
const FAILURE: DnsAnswer<MxRecord> = { kind: 'failure', reason: 'timeout', detail: 'no answer' };

/** Asks for MX records; `askers`: for whom. */
function resolverOf(mx: (name: string) => Promise<DnsAnswer<MxRecord>>, askers: string[] = []) {
  return {
    of(asker: string) {
      askers.push(asker);
      return { mx };
    },
  };
}

function world(
  targets: RoutesConfig['targets'] = [MX],
  facts?: ReturnType<typeof createEgressFacts>,
  sources: RoutesConfig['sources'] = [],
  rules: RoutesConfig['rules'] = [],
) {
  const absent = new Set<string>();
  const clock = createVirtualClock(1_790_000_000_000);
  const dns = new Map<string, DnsAnswer<MxRecord>>();
  const asked: string[] = [];
  const askers: string[] = [];
  const memory = facts ?? createEgressFacts(clock);
  const sites = createSites({
    routes: createRoutes({ rules, targets, sources }),
    absent: ({ id }) => absent.has(id),
    resolver: resolverOf(async (name) => {
      asked.push(name);
      return dns.get(name) ?? FAILURE;
    }, askers),
    shaping: {
      groupingOf: (_, hosts) => ({
        provider: hosts.length > 0 && hosts.every((host) => host.endsWith('.big.test')) ? 'big' : null,
        oneSite: true,
      }),
    },
    warmup: { warms: () => false, isFull: () => false },
    egressMemory: memory.fresh(),
    clock,
  });
  const moved: string[] = [];
  sites.onMoved((name) => moved.push(name));
  return { clock, dns, asked, askers, sites, moved, absent };
}

/** The site of a recipient, as paths are named. */
function siteOf(sites: ReturnType<typeof world>['sites'], recipient: SiteQuestion) {
  const site = sites.siteNamed(sites.nameOf(recipient));
  return site?.kind === 'path' ? site.site : site?.kind;
}

describe('the source of a recipient', () => {
  it('is another one while its node is away, and the old one when it is back; mail waits where none is there', async () => {
    const source = (id: string) => ({ id, address: '192.0.2.1', ipv6: null, ehlo: null, pool: 'default' });
    const { dns, sites, absent, moved } = world([MX], undefined, [source('a'), source('b')]);
    dns.set('one.test', found('mx.one.test'));
    await sites.lookUp('one.test', 'example.com');
    const usual = sites.nameOf(to('one.test'));
    const [own = '', other = ''] = usual.startsWith('a>') ? ['a', 'b'] : ['b', 'a'];
    absent.add(own);
    moved.splice(0);
    sites.sourcesChanged();
    expect(moved).toEqual([usual]);
    expect(sites.nameOf(to('one.test'))).toBe(usual.replace(`${own}>`, `${other}>`));
    absent.add(other);
    expect(sites.nameOf(to('one.test'))).toBe(usual);
    absent.clear();
    expect(sites.nameOf(to('one.test'))).toBe(usual);
  });
});

describe('the site of a recipient', () => {
  it('is unresolved until the DNS has answered, which is then told', async () => {
    const { dns, sites, moved } = world();
    dns.set('a.example', found('mx.host.test'));
    const before = sites.nameOf(to('a.example'));
    expect(sites.siteNamed(before)).toEqual({
      kind: 'unresolved',
      domain: 'a.example',
      sender: 'shop.example',
    });
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('mx.host.test');
    expect(moved).toEqual([before]);
  });

  it('is shared by domains with the same hosts, and by all domains of a provider', async () => {
    const { dns, sites } = world();
    dns.set('a.example', found('mx1.host.test', 'mx2.host.test'));
    dns.set('b.example', found('MX2.host.test', 'mx1.host.test'));
    dns.set('c.example', found('in1.big.test'));
    dns.set('d.example', found('in7.big.test'));
    for (const domain of dns.keys()) await sites.lookUp(domain, 'example.com');
    expect(sites.nameOf(to('a.example'))).toBe(sites.nameOf(to('b.example')));
    expect([siteOf(sites, to('c.example')), siteOf(sites, to('d.example'))]).toEqual(['big', 'big']);
  });

  it('is not taken from exchanges that are no host names, which may look like the name of another site', async () => {
    const { dns, sites } = world();
    dns.set('two.test', found('mx1.two.test', 'mx2.two.test'));
    await sites.lookUp('two.test', 'example.com');
    const name = siteOf(sites, to('two.test')) ?? '';
    dns.set('evil.test', found(name, 'mx.evil.test'));
    dns.set('alone.test', found(name));
    for (const domain of ['evil.test', 'alone.test']) await sites.lookUp(domain, 'example.com');
    expect(siteOf(sites, to('evil.test'))).toBe('mx.evil.test');
    expect(siteOf(sites, to('alone.test'))).toBe('alone.test');
  });

  it('does not say which hosts take the mail of its domain: the domain’s own records and its provider do', async () => {
    const { dns, sites } = world();
    const takes = async (domain: string, host: string) => {
      await sites.lookUp(domain, 'example.com');
      return sites.takes(domain, host);
    };
    dns.set('one.test', found('mx.one.test'));
    expect(sites.takes('one.test', 'mx.one.test')).toBeNull();
    expect(await takes('one.test', 'mx.one.test')).toBe(true);
    expect(await takes('one.test', 'mx.evil.test')).toBe(false);
    dns.set('client.test', found('a.big.test'));
    expect(await takes('client.test', 'b.big.test')).toBe(true);
    expect(await takes('client.test', 'big.test.evil.test')).toBe(false);
    dns.set('bare.test', { kind: 'no-data', ttlSeconds: 600, secure: false });
    expect(await takes('bare.test', 'bare.test')).toBe(true);
    expect(await takes('bare.test', 'mx.one.test')).toBe(false);
    dns.set('crowd.test', found(...Array.from({ length: 31 }, (_, n) => `mx${n}.crowd.test`)));
    expect(await takes('crowd.test', 'mx0.crowd.test')).toBeNull();
    expect(await takes('silent.test', 'silent.test')).toBeNull();
  });

  it('is asked for once by all who want to know it', async () => {
    const { asked, sites } = world();
    await Promise.all([sites.lookUp('a.example', 'example.com'), sites.lookUp('a.example', 'example.com')]);
    expect(asked).toEqual(['a.example']);
  });

  it('needs no DNS where mail goes to the sandbox or to relays only', () => {
    const { asked, sites } = world([RELAY]);
    expect(sites.siteNamed(sites.nameOf(to('a.example', { sandbox: 'deliver' })))).toEqual({
      kind: 'sandbox',
    });
    expect(siteOf(sites, to('a.example'))).toBe('relay:relay.example:587');
    expect(sites.nameOf(to('a.example'))).toBe(sites.nameOf(to('b.example')));
    expect(asked).toEqual([]);
  });

  it('is another one for each login at a relay, and has the same name after every start', () => {
    const login = (user: string) => ({ ...RELAY, auth: { user, password: 'secret' } });
    const any = { senderDomain: null, recipientDomain: null, priority: null, tag: null };
    const rules = ['a', 'b', 'a'].map((user, n) => ({
      ...{ ...any, senderDomain: [`${user}${n}.example`], targets: [login(user)] },
    }));
    const senders = ['shop.example', 'a0.example', 'b1.example', 'a2.example'];
    const namesOf = (order: readonly string[]) => {
      const { sites } = world([RELAY], undefined, [], rules);
      return new Map(
        order.map((senderDomain) => [senderDomain, siteOf(sites, to('x.test', { senderDomain }))]),
      );
    };
    const names = namesOf(senders);
    expect([...names.values()]).toEqual([
      'relay:relay.example:587',
      'relay:relay.example:587#2',
      'relay:relay.example:587#3',
      'relay:relay.example:587#2',
    ]);
    for (const [sender, name] of namesOf([...senders].reverse())) expect(name).toBe(names.get(sender));
  });

  it('is one for each domain behind relays whose last resort are the domain’s own hosts', () => {
    const { sites } = world([RELAY, MX]);
    expect(siteOf(sites, to('a.example'))).toBe('relay:relay.example:587|a.example');
    expect(siteOf(sites, to('b.example'))).toBe('relay:relay.example:587|b.example');
  });
});

describe('the look-up of a domain', () => {
  it('is made for the sender of the mail that needs it, at first and when it has to be renewed', async () => {
    const { clock, dns, askers, sites } = world();
    dns.set('one.test', found('mx.one.test'));
    const site = sites.siteNamed(sites.nameOf(to('one.test')));
    expect(site).toEqual({ kind: 'unresolved', domain: 'one.test', sender: 'shop.example' });
    await sites.lookUp('one.test', 'shop.example');
    await clock.advance(15 * MINUTE);
    sites.nameOf(to('one.test', { senderDomain: 'other.example' }));
    expect(askers).toEqual(['shop.example', 'other.example']);
  });

  it('is made for each sender whose mail waits for it', async () => {
    const { askers, sites } = world();
    const name = sites.nameOf(to('one.test'));
    const first = sites.lookUp('one.test', 'shop.example');
    for (const senderDomain of ['other.example', 'shop.example', 'other.example'])
      expect(sites.nameOf(to('one.test', { senderDomain }))).toBe(name);
    await first;
    expect(askers).toEqual(['shop.example', 'other.example']);
  });
});

describe('a domain that moves to other hosts', () => {
  it('is looked up again after its TTL while mail goes on, and its old name is told', async () => {
    const { clock, dns, sites, moved } = world();
    dns.set('a.example', found('old.test'));
    await sites.lookUp('a.example', 'example.com');
    const old = sites.nameOf(to('a.example'));
    dns.set('a.example', found('new.test'));
    await clock.advance(10 * MINUTE + 1);
    expect(sites.nameOf(to('a.example'))).toBe(old);
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('new.test');
    expect(moved).toContain(old);
  });

  it('waits for the DNS when its last answer is five minutes out of date', async () => {
    const { clock, dns, sites } = world();
    dns.set('a.example', found('old.test'));
    await sites.lookUp('a.example', 'example.com');
    await clock.advance(15 * MINUTE + 1);
    expect(siteOf(sites, to('a.example'))).toBe('unresolved');
  });

  it('keeps its site while the DNS does not answer, as long as its last answer can be used', async () => {
    const { clock, dns, sites } = world();
    dns.set('a.example', found('old.test'));
    await sites.lookUp('a.example', 'example.com');
    dns.set('a.example', FAILURE);
    await clock.advance(10 * MINUTE + 1);
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('old.test');
  });
});

describe('a domain of which the DNS says nothing', () => {
  it('is a site of its own for half a minute, so that its path shows why', async () => {
    const { clock, dns, sites } = world();
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('a.example');
    dns.set('a.example', found('mx.host.test'));
    await clock.advance(30_001);
    sites.nameOf(to('a.example'));
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('mx.host.test');
  });

  it('counts at the provider that it had before the start', async () => {
    const facts = createEgressFacts(createVirtualClock(1_790_000_000_000));
    const first = world([MX], facts);
    first.dns.set('a.example', found('in1.big.test'));
    await first.sites.lookUp('a.example', 'example.com');
    const again = createSites({
      routes: createRoutes({ rules: [], targets: [MX], sources: [] }),
      resolver: resolverOf(async () => FAILURE),
      shaping: { groupingOf: () => ({ provider: null, oneSite: false }) },
      warmup: { warms: () => false, isFull: () => false },
      egressMemory: await facts.open(),
      clock: first.clock,
    });
    await again.lookUp('a.example', 'example.com');
    expect(again.sitesOf(to('a.example'))).toEqual(['a.example', 'big']);
  });
});

describe('a domain that was isolated', () => {
  it('stays so for half a minute, whatever the DNS says', async () => {
    const { clock, dns, sites } = world();
    dns.set('a.example', found('mx.host.test'));
    await sites.lookUp('a.example', 'example.com');
    sites.isolate('a.example');
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('a.example');
    await clock.advance(30_001);
    await sites.lookUp('a.example', 'example.com');
    expect(siteOf(sites, to('a.example'))).toBe('mx.host.test');
  });
});
