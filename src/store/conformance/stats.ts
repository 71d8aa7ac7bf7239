/** Conformance: counts of events per interval, kind and group, which are the same before and after events are added up. */
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

const DAY = 24 * HOUR;

/** Tests of `stats`, `sumEvents` and `purgeSums`. */
export function describeStats({ store }: Suite): void {
  const hour = Math.floor(T0 / HOUR) * HOUR;
  const asIs = (more: Partial<Parameters<Store['stats']>[0]> = {}) =>
    store.stats({
      kinds: ['accepted', 'delivered', 'bounced'],
      from: hour,
      to: hour + DAY,
      intervalMs: HOUR,
      groupBy: null,
      includeSandbox: false,
      maxUnsummed: 1000,
      maxCounts: 1000,
      maxGroups: 10,
      maxCountedGroups: 100,
      ...more,
    });
  const addUp = async (limit = 100) => {
    const upTo = await store.lastEventSeq();
    while (await store.sumEvents({ upTo, limit }));
  };
  /** The answer from events, some of which may be added up, which is also the one from sums alone. */
  const ask = async (more: Partial<Parameters<Store['stats']>[0]> = {}) => {
    const before = await asIs(more);
    await addUp();
    expect(await asIs(more)).toEqual(before);
    return before;
  };
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

    it('counts from the first hour up to the last, which is not part of it', async () => {
      await commitOne(store, { recipients: [accepted(T0)] });
      expect(await groups({ from: hour, to: hour + HOUR })).toEqual({ '': 1 });
      expect(await groups({ from: hour - HOUR, to: hour })).toEqual({});
      expect(await groups({ from: hour + HOUR, to: hour + 2 * HOUR })).toEqual({});
    });

    it('counts by day, also a day that is not over, and events of long ago', async () => {
      const day = T0 - (T0 % DAY);
      for (const at of [day - 40 * DAY, day - DAY, day - 1, day, day + HOUR, day + 5 * HOUR]) {
        await commitOne(store, { recipients: [accepted(at)] });
        if (at === day) await addUp(1);
      }
      const asked = { intervalMs: DAY, from: day - 50 * DAY };
      const counts = (days: Record<number, number>) => ({
        kind: 'counted',
        groups: [
          {
            name: '',
            counts: Object.entries(days).map(([at, n]) => ({ at: Number(at), kind: 'accepted', n })),
          },
        ],
        rest: null,
      });
      const past = { [day - 40 * DAY]: 1, [day - DAY]: 2 };
      expect(await ask({ ...asked, to: day + DAY })).toEqual(counts({ ...past, [day]: 3 }));
      expect(await ask({ ...asked, to: day + 5 * HOUR })).toEqual(counts({ ...past, [day]: 2 }));
      expect(await ask({ ...asked, to: day })).toEqual(counts(past));
    });

    it('adds up as many events as it is told, each once, and none behind the given one', async () => {
      for (let i = 0; i < 5; i++) await commitOne(store, { recipients: [accepted(T0)] });
      const upTo = await store.lastEventSeq();
      await commitOne(store, { recipients: [accepted(T0)] });
      expect(await store.sumEvents({ upTo, limit: 2 })).toBe(true);
      expect(await asIs({ maxUnsummed: 4 })).toMatchObject({ kind: 'counted' });
      expect(await asIs({ maxUnsummed: 3 })).toEqual({ kind: 'too-many', of: 'unsummed' });
      expect(await store.sumEvents({ upTo, limit: 4 })).toBe(false);
      expect(await store.sumEvents({ upTo, limit: 4 })).toBe(false);
      expect(await asIs({ maxUnsummed: 0 })).toEqual({ kind: 'too-many', of: 'unsummed' });
      expect(await groups({ maxUnsummed: 1 })).toEqual({ '': 6 });
      expect(await groups({ maxUnsummed: 0 })).toEqual({ '': 6 });
    });

    it('says how many of the events are added up', async () => {
      expect(await store.countSummed()).toEqual({ summed: 0, events: 0 });
      for (let i = 0; i < 5; i++) await commitOne(store, { recipients: [accepted(T0)] });
      expect(await store.countSummed()).toEqual({ summed: 0, events: 5 });
      await store.sumEvents({ upTo: await store.lastEventSeq(), limit: 2 });
      expect(await store.countSummed()).toEqual({ summed: 2, events: 5 });
      await addUp();
      expect(await store.countSummed()).toEqual({ summed: 5, events: 5 });
    });

    it('keeps no address that a tag contains', async () => {
      await commitOne(store, { recipients: [accepted(T0)], tags: ['for bob@example.net', 'a'] });
      await commitOne(store, { recipients: [accepted(T0)], tags: ['@home'] });
      const counts = [{ at: hour, kind: 'accepted', n: 1 }];
      expect(await ask({ groupBy: 'tag' })).toEqual({
        kind: 'counted',
        groups: [
          { name: '@home', counts },
          { name: 'a', counts },
        ],
        rest: counts,
      });
    });

    it('names a tag that is only the sign of an address', async () => {
      for (const tags of [['@'], ['for bob@example.net']])
        await commitOne(store, { recipients: [accepted(T0)], tags });
      expect(await groups({ groupBy: 'tag' })).toEqual({ '@': 1 });
    });

    it('deletes the sums of hours and days that ended', async () => {
      const day = T0 - (T0 % DAY);
      for (const at of [day, day + HOUR]) await commitOne(store, { recipients: [accepted(at)], tags: ['a'] });
      for (const at of [day, day + 2 * DAY])
        await commitOne(store, { domain: 'example.org', recipients: [accepted(at)] });
      await addUp();
      expect(await store.domainsWithSums()).toEqual(['example.com', 'example.org']);
      const purge = async (before: number, domain = 'example.com') => {
        const removed = [];
        do removed.push(await store.purgeSums({ domain, before, limit: 2 }));
        while (removed.at(-1) !== 0);
        return removed;
      };
      expect(await purge(day + HOUR - 1)).toEqual([0]);
      expect(await purge(day + HOUR)).toEqual([2, 1, 0]);
      const left = { from: day, to: day + DAY, groupBy: 'domain' } as const;
      expect(await groups(left)).toEqual({ 'example.com': 1, 'example.org': 1 });
      expect(await groups({ ...left, intervalMs: DAY })).toEqual({ 'example.com': 2, 'example.org': 1 });
      expect(await purge(day + DAY)).toEqual([2, 2, 2, 0]);
      expect(await purge(day + DAY, 'none.example')).toEqual([0]);
      expect(await store.domainsWithSums()).toEqual(['example.org']);
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
      await took(4 * DAY);
      const asked = { groupBy: 'delivery-time', kinds: ['delivered'], to: hour + 30 * DAY } as const;
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

    it('refuses a range with more groups than it may keep in memory', async () => {
      for (const tag of ['a', 'b', 'c']) await commitOne(store, { recipients: [accepted(T0)], tags: [tag] });
      expect((await ask({ groupBy: 'tag', maxCountedGroups: 3 })).kind).toBe('counted');
      expect(await ask({ groupBy: 'tag', maxCountedGroups: 2 })).toEqual({ kind: 'too-many', of: 'groups' });
      expect(await ask({ groupBy: 'tag', maxCounts: 2 })).toEqual({ kind: 'too-many', of: 'groups' });
    });

    it('counts once what several domains have in one interval', async () => {
      for (const domain of ['example.com', 'example.org', 'other.example']) {
        for (const at of [hour, hour + HOUR]) await commitOne(store, { domain, recipients: [accepted(at)] });
      }
      expect(await ask({ maxCounts: 2 })).toMatchObject({
        kind: 'counted',
        groups: [{ counts: [{ n: 3 }, { n: 3 }] }],
      });
    });
  });
}
