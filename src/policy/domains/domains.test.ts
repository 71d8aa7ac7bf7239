/** Cached facts about a sender domain: a value that was read before a change is not used after it. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSystemRandom } from '../../lib/random.ts';
import { createSealer } from '../../lib/seal.ts';
import { createVirtualClock, type VirtualClock } from '../../lib/virtual-clock.ts';
import type { Domain } from '../../model/domain.ts';
import type { Caller } from '../../model/submission.ts';
import type { DnsAnswer, MxRecord } from '../../net/dns-types.ts';
import { commitOne } from '../../store/conformance/fixtures.ts';
import { openTestStore } from '../../store/sqlite/test-support.ts';
import type { Store } from '../../store/store.ts';
import { createDomainService, type DomainService } from './domains.ts';

const NAME = 'example.com';
let store: Store;
let domains: DomainService;
let serviceWith: (anyDomain: boolean) => DomainService;
let clock: VirtualClock;
const txt = new Map<string, string>();
const mx = new Map<string, string>();
/** These names are aliases, and their look-ups take 4 s each. */
let slowAliases = /^$/;
/** Questions to DNS and reads of the store wait for these. */
let dnsGate: Promise<void>;
let readGate: Promise<void>;

beforeEach(async () => {
  clock = createVirtualClock();
  store = await openTestStore(clock);
  txt.clear();
  mx.clear();
  slowAliases = /^$/;
  dnsGate = Promise.resolve();
  readGate = Promise.resolve();
  const none = async () => ({ kind: 'no-name', ttlSeconds: 60, secure: false }) as const;
  const resolver = {
    ...{ a: none, aaaa: none, ptr: none },
    async cname(name: string): Promise<DnsAnswer<string>> {
      if (!slowAliases.test(name)) return none();
      await clock.advance(4_000);
      return {
        kind: 'found',
        records: [`a${clock.monotonicMs()}.rp.slow.test`],
        ttlSeconds: 60,
        secure: false,
      };
    },
    async mx(name: string): Promise<DnsAnswer<MxRecord>> {
      const exchange = mx.get(name);
      if (exchange === undefined) return none();
      return { kind: 'found', records: [{ preference: 10, exchange }], ttlSeconds: 60, secure: false };
    },
    async txt(name: string): Promise<DnsAnswer<string>> {
      await dnsGate;
      const record = txt.get(name);
      if (record === undefined) return none();
      return { kind: 'found', records: [record], ttlSeconds: 60, secure: false };
    },
  };
  const sealer = createSealer([{ id: 'test', secret: new Uint8Array(32).fill(7) }]);
  const slow = {
    ...store,
    async getDomain(params: { name: string }) {
      const found = await store.getDomain(params);
      await readGate;
      return found;
    },
  };
  serviceWith = (anyDomain) =>
    createDomainService(
      { store: slow, resolver, sealer, clock, random: createSystemRandom() },
      { anyDomain, selectorPrefix: 'pr', bounceDomain: 'bounce.example.org', dkim: true },
    );
  domains = serviceWith(false);
});
afterEach(async () => {
  await store.close();
});

const add = (operatorVerified = false) => domains.add({ name: NAME, operatorVerified });

describe('a check of DNS', () => {
  it('stops no mail where mail of any domain is taken', async () => {
    await add();
    const blocking = async (anyDomain: boolean) =>
      (await serviceWith(anyDomain).verify(NAME)).checks.filter(({ blocks }) => blocks).map(({ id }) => id);
    expect(await blocking(false)).toEqual(['dkim1']);
    expect(await blocking(true)).toEqual([]);
  });

  it('says nothing about a domain that was removed and added again meanwhile', async () => {
    const first = await add();
    for (const { Type, Host, Value } of domains.records(first)) if (Type === 'TXT') txt.set(Host, Value);
    const gate = Promise.withResolvers<void>();
    dnsGate = gate.promise;
    const checking = domains.verify(NAME).catch((cause: Error) => cause.message);
    await domains.remove(NAME);
    await add();
    const own = domains.verify(NAME);
    gate.resolve();
    expect(await checking).toBe(`The domain ${NAME} is not registered`);
    expect((await own).domain.status).toBe('Pending');
    expect((await domains.get(NAME))?.status).toBe('Pending');
  });
});

describe('a domain without DMARC', () => {
  const dmarc = async () => (await domains.verify(NAME)).checks.find(({ id }) => id === 'dmarc')?.severity;

  it('fails once it has sent bulk mail lately', async () => {
    await add(true);
    const now = clock.now();
    await commitOne(store, { lane: 'bulk', createdAt: now - 31 * 86_400_000 });
    await commitOne(store, { lane: 'bulk', createdAt: now, sandbox: true });
    await commitOne(store, { lane: 'bulk', createdAt: now, domain: 'other.example' });
    await commitOne(store, { createdAt: now });
    expect(await dmarc()).toBe('warn');
    await commitOne(store, { lane: 'bulk', createdAt: now });
    expect(await dmarc()).toBe('fail');
  });

  it('fails where its settings add the unsubscribe header', async () => {
    await add(true);
    await domains.update(NAME, { listUnsubscribe: true });
    expect(await dmarc()).toBe('fail');
  });
});

describe('the record of a return path', () => {
  const value = (domain: Domain) =>
    domains.records(domain).find(({ Purpose }) => Purpose === 'ReturnPath')?.Value;
  const settings = { returnPathHost: `b.${NAME}` };

  it('names the MX host of a bounce domain, which may have no address of its own', async () => {
    mx.set('bounce.example.org', 'in.example.org');
    const added = await domains.add({ name: NAME, operatorVerified: false, settings });
    expect(value(added)).toBe('10 in.example.org');
    mx.set('bounce.example.org', 'new.example.org');
    expect(value(await domains.update(NAME, { returnPathHost: `c.${NAME}` }))).toBe('10 new.example.org');
    mx.set('bounce.example.org', 'newer.example.org');
    expect(value((await domains.verify(NAME)).domain)).toBe('10 newer.example.org');
  });

  it('does not change for others when the DNS of one domain uses up the time of its check', async () => {
    mx.set('bounce.example.org', 'in.example.org');
    const added = await domains.add({ name: NAME, operatorVerified: false, settings });
    await domains.add({
      name: 'slow.test',
      operatorVerified: false,
      settings: { returnPathHost: 'rp.slow.test' },
    });
    slowAliases = /^(?:a\d+\.)?rp\.slow\.test$/;
    await domains.verify('slow.test');
    expect(value(added)).toBe('10 in.example.org');
  });

  it('names the bounce domain if that has no MX, and is none where the host is the server', async () => {
    const added = await domains.add({ name: NAME, operatorVerified: false, settings });
    expect(value(added)).toBe('10 bounce.example.org');
    mx.set('bounce.example.org', `in.${NAME}`);
    expect(value(await domains.update(NAME, { returnPathHost: `in.${NAME}` }))).toBeUndefined();
  });
});

describe('keys that sign', () => {
  it('are none as soon as the domain is removed, also where it was being looked up just then', async () => {
    await add(true);
    const gate = Promise.withResolvers<void>();
    readGate = gate.promise;
    const asked = domains.signersFor(NAME);
    await domains.remove(NAME);
    gate.resolve();
    expect((await asked).kind).toBe('signers');
    expect(await domains.signersFor(NAME)).toMatchObject({ kind: 'held', category: 'domain_not_verified' });
  });

  it('are the new ones where the domain was added again in the same millisecond', async () => {
    await add(true);
    const before = await domains.signersFor(NAME);
    await domains.remove(NAME);
    await add(true);
    const after = await domains.signersFor(NAME);
    if (before.kind !== 'signers' || after.kind !== 'signers') throw new Error('nothing signs');
    const [one, other] = [before.signers[0]?.privateKey, after.signers[0]?.privateKey];
    expect(one !== undefined && other !== undefined && one.equals(other)).toBe(false);
  });
});

describe('a rotation', () => {
  it('looks for the standby key again where it was seen while the clock was ahead', async () => {
    const right = clock.now();
    clock.jumpWallTo(right + 365 * 86_400_000);
    for (const { Type, Host, Value } of domains.records(await add()))
      if (Type === 'TXT') txt.set(Host, Value);
    await domains.verify(NAME);
    clock.jumpWallTo(right);
    txt.delete(`pr2._domainkey.${NAME}`);
    await expect(domains.rotateKey(NAME)).rejects.toThrow('The standby key is not ready');
  });
});

describe('who may send', () => {
  const holding = (...names: string[]): Caller => ({
    tokenId: 't',
    owner: 't',
    domains: names,
    scopes: new Set(['email:send']),
    sandbox: false,
    rateLimit: null,
  });

  it('from a sub-domain is not the token of its parent where the sub-domain is registered by itself', async () => {
    await domains.add({ name: NAME, operatorVerified: true, settings: { subdomains: true } });
    const from = async (name: string, ...held: string[]) =>
      (await domains.senderFor(holding(...held), name)).kind;
    expect(await from(`news.${NAME}`, NAME)).toBe('domain');
    // Whoever adds a name that it cannot prove stops nobody.
    await domains.add({ name: `news.${NAME}`, operatorVerified: false });
    expect(await from(`news.${NAME}`, NAME)).toBe('domain');
    await domains.remove(`news.${NAME}`);
    await domains.add({ name: `news.${NAME}`, operatorVerified: true });
    for (const below of [`news.${NAME}`, `a.b.news.${NAME}`]) {
      expect(await from(below, NAME), below).toBe('not-allowed');
    }
    expect(await from(`other.${NAME}`, NAME)).toBe('domain');
    expect(await from(`news.${NAME}`, NAME, `news.${NAME}`)).toBe('domain');
    expect(await from(`a.news.${NAME}`, NAME, `news.${NAME}`)).toBe('domain');
    expect(await from(`a.news.${NAME}`, '*')).toBe('domain');
  });
});
