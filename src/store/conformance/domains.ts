/** Conformance: sender domains, their keys, status changes with events, removal. */
import { describe, expect, it } from 'vitest';
import { DEFAULT_DOMAIN_SETTINGS, type DkimKey, type Domain } from '../../model/domain.ts';
import type { Store } from '../store.ts';
import {
  claimCalls,
  commitOne,
  createWebhook,
  event,
  everyEvent,
  HOUR,
  kindsOf,
  nextDueAt,
  only,
  type Suite,
  T0,
  webhook,
} from './fixtures.ts';

const KEYS: DkimKey[] = [
  {
    selector: 'a',
    role: 'active',
    privateSealed: new Uint8Array([9, 8]),
    publicKey: 'MIIB',
    createdAt: T0,
    retiredAt: null,
  },
  {
    selector: 'b',
    role: 'standby',
    privateSealed: new Uint8Array([7]),
    publicKey: 'MIIC',
    createdAt: T0 + 1,
    retiredAt: null,
  },
];

/** Tests of `addDomain`, `getDomain`, `listDomains`, `setDomainStatus`, `removeDomain`. */
export function describeDomains({ store }: Suite): void {
  describe('domains', () => {
    it('are stored with their keys', async () => {
      const domain = await add(store, 'example.com');
      expect(domain).toEqual({
        id: domain.id,
        name: 'example.com',
        status: 'Pending',
        verifiedBy: null,
        verifyToken: 'v'.repeat(32),
        settings: { ...DEFAULT_DOMAIN_SETTINGS, subdomains: true },
        createdAt: T0,
        updatedAt: T0,
        verifiedAt: null,
        failingSince: null,
        lastCheckedAt: null,
        lastChecks: null,
        changes: null,
        keys: KEYS,
      });
      expect(await store.getDomain({ name: 'example.com' })).toEqual(domain);
      expect(await store.getDomain({ name: 'example.org' })).toBeNull();
    });

    it('change their settings', async () => {
      await add(store, 'example.com');
      const changed = await store.updateDomain({
        name: 'example.com',
        settings: { atMostOnce: true, retention: { eventDays: 30 } },
        now: T0 + 4,
      });
      expect(changed).toMatchObject({
        settings: { subdomains: true, atMostOnce: true, retention: { contentDays: null, eventDays: 30 } },
        updatedAt: T0 + 4,
        keys: KEYS,
      });
      expect(await store.getDomain({ name: 'example.com' })).toEqual(changed);
      expect(
        await store.updateDomain({ name: 'nobody.example', settings: { subdomains: true }, now: T0 }),
      ).toBeNull();
    });

    it('let their standby key sign, once, and keep the old one', async () => {
      await add(store, 'example.com');
      await add(store, 'example.org');
      const rotate = () => store.rotateDomainKey({ name: 'example.com', selector: 'b', now: T0 + 5 });
      const rotated = await Promise.all([rotate(), rotate()]);
      expect(rotated.filter((result) => result === null)).toHaveLength(1);
      const roles = async (name: string) =>
        (await store.getDomain({ name }))?.keys.map(({ selector, role, retiredAt }) => [
          selector,
          role,
          retiredAt,
        ]);
      expect(await roles('example.com')).toEqual([
        ['a', 'retired', T0 + 5],
        ['b', 'active', null],
      ]);
      expect((await store.getDomain({ name: 'example.com' }))?.updatedAt).toBe(T0 + 5);
      expect((await roles('example.org'))?.map(([, role]) => role)).toEqual(['active', 'standby']);
      expect(await store.rotateDomainKey({ name: 'example.org', selector: 'a', now: T0 })).toBeNull();
    });

    it('replace a retired key when its time is over, and only where there is no standby', async () => {
      await add(store, 'example.com');
      const key: DkimKey = {
        selector: 'c',
        role: 'standby',
        privateSealed: new Uint8Array([5]),
        publicKey: 'MIID',
        createdAt: T0 + 9,
        retiredAt: null,
      };
      const replace = (retiredBefore: number) =>
        store.replaceRetiredKey({ name: 'example.com', retiredBefore, key, now: T0 + 9 });
      expect(await replace(T0 + 9)).toBeNull();
      await store.rotateDomainKey({ name: 'example.com', selector: 'b', now: T0 + 5 });
      expect(await replace(T0 + 4)).toBeNull();
      const replaced = await replace(T0 + 5);
      expect(replaced?.keys.map(({ selector, role }) => [selector, role])).toEqual([
        ['b', 'active'],
        ['c', 'standby'],
      ]);
      expect(replaced?.keys[1]).toEqual(key);
      expect(replaced?.updatedAt).toBe(T0 + 9);
      expect(await replace(T0 + 9)).toBeNull();
    });

    it('are found by their failing, with what they have to send', async () => {
      const failing = (more: object = {}) => store.failingDomains({ limit: 10, ...more });
      for (const name of ['example.com', 'example.org', 'fine.example']) await add(store, name);
      expect(await failing()).toEqual([]);
      await commitOne(store);
      const fails = { status: 'Failing', failingSince: T0 + 1, checks: '[]', now: T0 + 2 } as const;
      await set(store, fails);
      await set(store, { name: 'example.org', status: 'Suspended' });
      await set(store, { name: 'fine.example', status: 'Verified' });
      expect(await failing()).toEqual([
        {
          ...{ name: 'example.com', status: 'Failing', failingSince: T0 + 1, updatedAt: T0 + 2 },
          ...{ lastChecks: '[]', unfinished: 1 },
        },
        {
          ...{ name: 'example.org', status: 'Suspended', failingSince: null, updatedAt: T0 },
          ...{ lastChecks: null, unfinished: 0 },
        },
      ]);
      expect(await failing({ limit: 1 })).toHaveLength(1);
      expect(await failing({ domains: ['example.org', 'fine.example'] })).toMatchObject([
        { name: 'example.org' },
      ]);
      await set(store, { status: 'Verified' });
      expect(await failing()).toHaveLength(1);
    });

    it('exist once, also when two are added at the same time', async () => {
      const results = await Promise.all(
        ['1', '2', '3'].map((one) => addResult(store, 'example.com', one.repeat(32))),
      );
      expect(results.map((result) => result.kind).sort()).toEqual(['added', 'exists', 'exists']);
    });

    it('are verified from the start where the operator vouches', async () => {
      const result = await store.addDomain({
        name: 'example.com',
        status: 'Verified',
        verifiedBy: 'operator',
        verifyToken: 't',
        settings: {},
        keys: [],
        now: T0,
      });
      expect(result).toMatchObject({
        domain: { verifiedAt: T0, verifiedBy: 'operator', settings: DEFAULT_DOMAIN_SETTINGS, keys: [] },
      });
    });

    it('take no status that was found for another domain of the name', async () => {
      const before = await add(store, 'example.com');
      const events = [event('domain.verified', T0 + 5)];
      const found = { status: 'Verified', verifyToken: 'x'.repeat(32), events } as const;
      expect(await set(store, found)).toBeNull();
      expect(await store.getDomain({ name: 'example.com' })).toEqual(before);
      expect((await store.findEvents(everyEvent())).events.length).toBe(0);
    });

    it('are listed by name, all or the given ones', async () => {
      for (const name of ['b.example', 'a.example', 'c.example']) await add(store, name);
      const names = async (domains?: string[]) =>
        (await store.listDomains({ limit: 10, ...(domains && { domains }) })).map((one) => one.name);
      expect(await names()).toEqual(['a.example', 'b.example', 'c.example']);
      expect(await names(['c.example', 'x.example'])).toEqual(['c.example']);
      expect(await names([])).toEqual([]);
      const page = await store.listDomains({ after: 'a.example', limit: 1 });
      expect(page.map((one) => one.name)).toEqual(['b.example']);
    });

    it('are found by a part of their name, read as it is written', async () => {
      for (const name of ['shop.example', 'news.shop.example', 'a-b.example']) await add(store, name);
      const page = (wish: Partial<Parameters<Store['searchDomains']>[0]>) =>
        store.searchDomains({ search: 'shop', limit: 10, look: 100, ...wish });
      const found = async (search: string, domains?: string[]) =>
        (await page({ search, ...(domains && { domains }) })).domains.map((one) => one.name);
      expect(await found('shop')).toEqual(['news.shop.example', 'shop.example']);
      expect(await found('shop', ['shop.example', 'a-b.example'])).toEqual(['shop.example']);
      for (const text of ['%', '_', 'sh*', 'a_b']) expect(await found(text)).toEqual([]);
      const looks = await page({ look: 1 });
      expect(looks).toEqual({ domains: [], next: 'a-b.example' });
      const rest = await page({ after: 'a-b.example', limit: 1 });
      expect([rest.domains[0]?.name, rest.next]).toEqual(['news.shop.example', 'news.shop.example']);
    });

    it('are known by their return-path host, while it is theirs', async () => {
      await add(store, 'example.com');
      const knows = (host: string) => store.isReturnHost({ host });
      const change = (returnPathHost: string | null) =>
        store.updateDomain({ name: 'example.com', settings: { returnPathHost }, now: T0 });
      expect(await knows('bounce.example.com')).toBe(false);
      await change('bounce.example.com');
      expect(await knows('bounce.example.com')).toBe(true);
      expect(await knows('other.example.com')).toBe(false);
      await change(null);
      expect(await knows('bounce.example.com')).toBe(false);
    });

    it('change status with an event that webhooks hear of', async () => {
      await add(store, 'example.com');
      await createWebhook(store, { events: ['domain'] });
      const verified = await set(store, {
        status: 'Verified',
        verifiedBy: 'dns',
        checks: '[1]',
        changes: '["a"]',
        now: T0 + 5,
        events: [event('domain.verified', T0 + 5)],
      });
      expect(verified).toMatchObject({
        status: 'Verified',
        verifiedBy: 'dns',
        verifiedAt: T0 + 5,
        lastChecks: '[1]',
        changes: '["a"]',
        lastCheckedAt: T0 + 5,
        updatedAt: T0 + 5,
      });
      expect(only(await claimCalls(store)).event).toMatchObject({
        kind: 'domain.verified',
        message: null,
      });
    });

    it('keep the first verification, the last checks and the time of the last change', async () => {
      await add(store, 'example.com');
      await set(store, { status: 'Verified', verifiedBy: 'dns', checks: '[1]', now: T0 + 1 });
      await set(store, { status: 'Verified', verifiedBy: 'dns', checks: null, now: T0 + 2 });
      const failing = { status: 'Failing', verifiedBy: 'dns', failingSince: T0 + 3, checks: '[2]' } as const;
      await set(store, { ...failing, now: T0 + 3 });
      const domain = await set(store, {
        status: 'Verified',
        verifiedBy: 'dns',
        checks: '[3]',
        changes: '["b"]',
        now: T0 + 4,
      });
      expect(domain).toMatchObject({
        verifiedAt: T0 + 1,
        failingSince: null,
        lastChecks: '[3]',
        changes: '["b"]',
        lastCheckedAt: T0 + 4,
        updatedAt: T0 + 4,
      });
      const unchanged = await set(store, {
        status: 'Verified',
        verifiedBy: 'dns',
        checks: '[4]',
        now: T0 + 9,
      });
      expect(unchanged).toMatchObject({ updatedAt: T0 + 4, lastCheckedAt: T0 + 9 });
    });

    it('change nothing and tell nobody once they are gone', async () => {
      const gone = await set(store, { status: 'Verified', events: [event('domain.verified')] });
      expect(gone).toBeNull();
      expect(await kindsOf(store)).toEqual([]);
    });

    it('are removed once, with their keys and webhooks but not their mail and history', async () => {
      const { id: domainId } = await add(store, 'example.com');
      await createWebhook(store, { domainId });
      await commitOne(store);
      const texts = { subject: 'Hi', html: null, text: null };
      const template = { texts, maxPerDomain: 9, now: T0 };
      for (const name of ['example.com', 'example.org']) {
        await store.addTemplate({ ...template, id: `t-${name}`, domain: name, name: 'Hi' });
      }
      expect(await store.removeDomain({ name: 'example.com' })).toBe(true);
      expect(await store.removeDomain({ name: 'example.com' })).toBe(false);
      expect((await store.listTemplates({ limit: 9 })).map(({ id }) => id)).toEqual(['t-example.org']);
      expect(await store.templateVersion({ id: 't-example.com', version: 1 })).toBeNull();
      expect(await store.getDomain({ name: 'example.com' })).toBeNull();
      expect(await store.listWebhooks({ limit: 100 })).toEqual([]);
      expect(await claimCalls(store)).toEqual([]);
      expect((await store.findEvents(everyEvent())).events.length).toBe(1);
      expect(await nextDueAt(store)).toBe(T0);
      const again = await store.addDomain({
        name: 'example.com',
        status: 'Pending',
        verifiedBy: null,
        verifyToken: 't',
        settings: {},
        keys: [],
        now: T0 + HOUR,
      });
      expect(again).toMatchObject({ kind: 'added', domain: { keys: [], createdAt: T0 + HOUR } });
      // Of a request that began before the removal.
      expect(await store.createWebhook(webhook({ domainId }))).toEqual({ kind: 'gone' });
      expect(await store.listWebhooks({ limit: 100 })).toEqual([]);
    });
  });
}

function addResult(store: Store, name: string, verifyToken = 'v'.repeat(32)) {
  return store.addDomain({
    name,
    status: 'Pending',
    verifiedBy: null,
    verifyToken,
    settings: { subdomains: true },
    keys: KEYS,
    now: T0,
  });
}

async function add(store: Store, name: string): Promise<Domain> {
  const result = await addResult(store, name);
  if (result.kind !== 'added') throw new Error('Expected a new domain');
  return result.domain;
}

function set(store: Store, more: Partial<Parameters<Store['setDomainStatus']>[0]>): Promise<Domain | null> {
  return store.setDomainStatus({
    name: 'example.com',
    verifyToken: 'v'.repeat(32),
    status: 'Pending',
    verifiedBy: null,
    failingSince: null,
    checks: null,
    now: T0,
    events: [],
    ...more,
  });
}
