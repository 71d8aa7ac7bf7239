/** Conformance: counts of events per interval, kind and group. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import {
  commit,
  commitOne,
  delivered,
  event,
  HOUR,
  message,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `stats`. */
export function describeStats({ store }: Suite): void {
  const hour = Math.floor(T0 / HOUR) * HOUR;
  const ask = (more: Partial<Parameters<Store['stats']>[0]> = {}) =>
    store.stats({
      kinds: ['accepted', 'delivered', 'bounced'],
      from: hour,
      to: hour + 24 * HOUR,
      intervalMs: HOUR,
      groupBy: null,
      includeSandbox: false,
      maxEvents: 1000,
      maxGroups: 10,
      maxCountedGroups: 100,
      ...more,
    });
  const groups = async (more: Partial<Parameters<Store['stats']>[0]>) => {
    const result = await ask(more);
    if (result.kind !== 'counted') throw new Error('Expected counts');
    return Object.fromEntries(
      result.groups.map(({ name, counts }) => [name, counts.reduce((sum, { n }) => sum + n, 0)]),
    );
  };
  const accepted = (at: number, more: Parameters<typeof recipient>[0] = {}) =>
    recipient({ events: [event('accepted', at)], ...more });

  describe('counting events', () => {
    it('says how many of each kind there were in each interval', async () => {
      const { deliveries } = only(
        await commit(store, [
          message({
            recipients: [
              accepted(hour, { state: 'sending' }),
              accepted(hour + HOUR - 1),
              accepted(hour + HOUR),
            ],
          }),
        ]),
      );
      const happened = delivered(deliveries[0]?.id ?? 0, 1, { events: [event('delivered', hour + HOUR)] });
      await store.settle({ now: T0, settlements: [happened] });
      expect(await ask()).toEqual({
        kind: 'counted',
        groups: [
          {
            name: '',
            counts: [
              { at: hour, kind: 'accepted', n: 2 },
              { at: hour + HOUR, kind: 'accepted', n: 1 },
              { at: hour + HOUR, kind: 'delivered', n: 1 },
            ],
          },
        ],
        rest: null,
      });
    });

    it('counts from the first instant up to the last, which is not part of it', async () => {
      await commitOne(store, { recipients: [accepted(T0)] });
      expect(await groups({ from: T0, to: T0 + 1 })).toEqual({ '': 1 });
      expect(await groups({ from: T0 - 1, to: T0 })).toEqual({});
      expect(await groups({ from: T0 + 1, to: T0 + 2 })).toEqual({});
    });

    it('leaves the sandbox out unless it is asked for', async () => {
      await commitOne(store, { recipients: [accepted(T0, { sandbox: 'deliver' })] });
      await commitOne(store, { recipients: [accepted(T0)] });
      expect(await groups({})).toEqual({ '': 1 });
      expect(await groups({ includeSandbox: true })).toEqual({ '': 2 });
    });

    it('groups by sender domain, recipient domain and tag', async () => {
      await commitOne(store, { recipients: [accepted(T0)], tags: ['a', 'b'] });
      await commitOne(store, {
        domain: 'example.org',
        recipients: [accepted(T0, { domain: 'other.example' })],
        tags: ['a'],
      });
      await commitOne(store, { recipients: [accepted(T0)] });
      expect(await groups({ groupBy: 'domain' })).toEqual({ 'example.com': 2, 'example.org': 1 });
      expect(await groups({ groupBy: 'recipient-domain' })).toEqual({ 'example.net': 2, 'other.example': 1 });
      expect(await groups({ groupBy: 'tag' })).toEqual({ a: 2, b: 1, '': 1 });
      expect(await groups({ groupBy: 'domain', domains: ['example.org'] })).toEqual({ 'example.org': 1 });
      expect(await groups({ domains: [] })).toEqual({});
      expect(await groups({ kinds: ['bounced'] })).toEqual({});
    });

    it('groups by the provider of a recipient domain where it is known, else by the domain', async () => {
      const put = (kind: string, key: string, value: string) => ({ kind, key, value, until: T0 + 1 });
      await store.putEgressFacts({
        facts: [
          put('provider', 'one.example', '"google 20000"'),
          put('provider', 'two.example', '"google 20001"'),
          put('provider', 'none.example', 'null'),
          put('tls-done', 'other.example', '"google 20000"'),
        ],
      });
      const domains = ['one.example', 'two.example', 'none.example', 'other.example', 'other.example'];
      const recipients = domains.map((domain) => accepted(T0, { domain }));
      await commit(store, [message({ recipients })]);
      expect(await groups({ groupBy: 'provider' })).toEqual({
        google: 2,
        'none.example': 1,
        'other.example': 2,
      });
    });

    it('groups by the time since the mail was to be sent', async () => {
      const took = async (ms: number, more: { sendAt?: number } = {}) => {
        const { id } = await commitOne(store, {
          recipients: [recipient({ state: 'sending' })],
          ...more,
        });
        const events = [event('delivered', (more.sendAt ?? T0) + ms)];
        await store.settle({ now: T0, settlements: [delivered(id, 1, { events })] });
      };
      await took(100);
      await took(101);
      await took(250);
      await took(60_000, { sendAt: T0 + HOUR });
      await took(4 * 24 * HOUR);
      const asked = { groupBy: 'delivery-time', kinds: ['delivered'], to: hour + 30 * 24 * HOUR } as const;
      expect(await groups(asked)).toEqual({ '100': 1, '250': 2, '60000': 1, '': 1 });
    });

    it('keeps the largest groups and adds up the others', async () => {
      for (const tags of [['a'], ['a'], ['a'], ['b'], ['b'], ['c'], ['d']]) {
        await commitOne(store, { recipients: [accepted(T0)], tags });
      }
      const result = await ask({ groupBy: 'tag', maxGroups: 2 });
      expect(result).toMatchObject({
        groups: [{ name: 'a' }, { name: 'b' }],
        rest: [{ kind: 'accepted', n: 2 }],
      });
    });

    it('refuses a range with more events than it may read', async () => {
      for (let i = 0; i < 3; i++) await commitOne(store, { recipients: [accepted(T0)] });
      expect((await ask({ maxEvents: 3 })).kind).toBe('counted');
      expect(await ask({ maxEvents: 2 })).toEqual({ kind: 'too-many', of: 'events' });
    });

    it('refuses a range with more groups than it may keep in memory', async () => {
      for (const tag of ['a', 'b', 'c']) await commitOne(store, { recipients: [accepted(T0)], tags: [tag] });
      expect((await ask({ groupBy: 'tag', maxCountedGroups: 3 })).kind).toBe('counted');
      expect(await ask({ groupBy: 'tag', maxCountedGroups: 2 })).toEqual({ kind: 'too-many', of: 'groups' });
    });
  });
}
