/** Conformance: suppressions: entries, how they end, and what causes them. */
import { describe, expect, it } from 'vitest';
import type { SuppressionReason } from '../../model/suppression.ts';
import type { Store } from '../store.ts';
import type { Settlement } from '../topics/queue.ts';
import type { NewSuppression } from '../topics/suppressions.ts';
import {
  claim,
  commitOne,
  delivered,
  event,
  everyEvent,
  HOUR,
  kindsOf,
  newId,
  only,
  recipient,
  type Suite,
  signal,
  suppressionsOf,
  T0,
} from './fixtures.ts';

const DAY = 24 * HOUR;
/** The first time of a UTC day after T0. */
const MIDNIGHT = Math.ceil(T0 / DAY) * DAY;

/** Tests of the suppression operations, and of claims and settlements as far as suppressions affect them. */
export function describeSuppressions({ store, reopen }: Suite): void {
  const entry = (address: string, more: Partial<NewSuppression> = {}): NewSuppression => ({
    address,
    reason: 'Manual',
    note: '',
    expiresAt: null,
    source: null,
    ...more,
  });
  const add = (entries: readonly NewSuppression[], domain = 'example.com', now = T0) =>
    store.addSuppressions({ domain, entries, now });
  const among = async (addresses: readonly string[], domain = 'example.com', now = T0) =>
    (await store.suppressedAmong({ domain, addresses, now })).map(
      ({ address, suppression }) => `${address} ${suppression.reason}`,
    );
  const list = (more: Partial<Parameters<Store['listSuppressions']>[0]> = {}) =>
    suppressionsOf(store, { now: T0, limit: 100, ...more });
  const SOFT = { reason: 'SoftBounces', needs: { days: 3, spanMs: 14 * DAY } } as const;
  /** One recipient's outcome at a given time. */
  const outcome = async (now: number, more: Partial<Settlement>, address = 'reader@example.net') => {
    const { id } = await commitOne(store, {
      recipients: [recipient({ address, state: 'sending', events: [] })],
    });
    const settlement = delivered(id, 1, { state: 'bounced', events: [event('bounced', now)], ...more });
    expect(await store.settle({ now, settlements: [settlement] })).toEqual(['settled']);
    return id;
  };
  const soft = (now: number, address?: string) =>
    outcome(now, { suppress: signal({ ...SOFT, expiresAt: now + 30 * DAY }) }, address);

  describe('suppressions', () => {
    it('are kept whole, found by any case of the local part, and survive a restart', async () => {
      const source = { messageId: newId(), reply: '550 5.1.1 No', rule: 'G09' };
      expect(
        await add([
          entry('Ann@example.net', { note: 'asked\0by phone', expiresAt: T0 + DAY }),
          entry('bob@example.net', { reason: 'Bounce', source }),
        ]),
      ).toEqual({ added: 2, existing: 0 });
      await reopen();
      const [bob, ann] = await list();
      expect(ann).toMatchObject({
        domain: 'example.com',
        address: 'Ann@example.net',
        reason: 'Manual',
        note: 'asked\uFFFDby phone',
        createdAt: T0,
        expiresAt: T0 + DAY,
        source: null,
      });
      expect(bob).toMatchObject({ reason: 'Bounce', expiresAt: null, source });
      expect(await among(['aNN@example.net', 'ANN@example.net', 'carl@example.net'])).toEqual([
        'aNN@example.net Manual',
        'ANN@example.net Manual',
      ]);
      expect(await store.suppressedDomains()).toEqual(['example.com']);
    });

    it('hold for their sender domain alone', async () => {
      await add([entry('ann@example.net')], 'other.example');
      expect(await among(['ann@example.net'])).toEqual([]);
      expect(await among(['ann@example.net'], 'other.example')).toEqual(['ann@example.net Manual']);
      expect(await list({ domains: ['example.com'] })).toEqual([]);
      expect(await list({ domains: [] })).toEqual([]);
      expect(
        await store.removeSuppressions({ domain: 'example.com', address: 'ann@example.net', now: T0 }),
      ).toBe(0);
      expect(await list()).toHaveLength(1);
    });

    it('are known at once, also for a domain that had none before', async () => {
      for (const domain of ['a.example', 'b.example', 'c.example']) {
        expect(await among(['x@example.net'], domain)).toEqual([]);
        await add([entry('x@example.net')], domain);
        expect(await among(['x@example.net'], domain)).toEqual(['x@example.net Manual']);
      }
      expect([...(await store.suppressedDomains())].sort()).toEqual(['a.example', 'b.example', 'c.example']);
    });

    it('stand side by side for different reasons, each once', async () => {
      const both = [
        entry('ann@example.net', { reason: 'Unsubscribe' }),
        entry('ANN@example.net', { reason: 'SoftBounces', expiresAt: T0 + DAY }),
        entry('ann@example.net', { reason: 'Unsubscribe', note: 'again' }),
      ];
      expect(await add(both)).toEqual({ added: 2, existing: 1 });
      expect(await among(['ann@example.net'])).toEqual([
        'ann@example.net Unsubscribe',
        'ann@example.net SoftBounces',
      ]);
      expect(only(await list({ reason: 'Unsubscribe' })).note).toBe('');
      expect(await among(['ann@example.net'], 'example.com', T0 + DAY)).toEqual([
        'ann@example.net Unsubscribe',
      ]);
    });

    it('count no more past their end, and can be added anew then', async () => {
      await add([entry('ann@example.net', { expiresAt: T0 + DAY })]);
      expect(await among(['ann@example.net'], 'example.com', T0 + DAY - 1)).toHaveLength(1);
      expect(await among(['ann@example.net'], 'example.com', T0 + DAY)).toEqual([]);
      expect(await list({ now: T0 + DAY })).toEqual([]);
      const later = { domain: 'example.com', address: 'ann@example.net', now: T0 + DAY };
      expect(await add([entry('ann@example.net')], 'example.com', T0 + DAY)).toEqual({
        added: 1,
        existing: 0,
      });
      expect(await store.removeSuppressions(later)).toBe(1);
    });

    it('are looked at so many at a time, whether they match or not', async () => {
      await add([entry('wanted@example.net', { reason: 'Complaint' })]);
      for (const name of ['a', 'b', 'c', 'd', 'e']) await add([entry(`${name}@example.net`)]);
      const found: string[] = [];
      let looks = 0;
      for (let next: number | null = Number.MAX_SAFE_INTEGER; next !== null; looks += 1) {
        const asked = { reason: 'Complaint', domains: ['example.com'], now: T0, limit: 10, look: 2 } as const;
        const page: Awaited<ReturnType<Store['listSuppressions']>> = await store.listSuppressions({
          ...asked,
          beforeId: next,
        });
        found.push(...page.suppressions.map(({ address }) => address));
        next = page.nextId;
      }
      expect([found, looks]).toEqual([['wanted@example.net'], 4]);
    });

    it('are listed newest first, page by page, by what is asked', async () => {
      await add([entry('a@example.net'), entry('b@example.net', { reason: 'Complaint' })]);
      await add([entry('c@example.net')], 'other.example', T0 + 5);
      await add([entry('D@example.net')], 'example.com', T0 + 5);
      const names = async (more: Parameters<typeof list>[0]) =>
        (await list(more)).map(({ address }) => address.charAt(0)).join('');
      expect(await names({})).toBe('Dcba');
      const full = { now: T0, limit: 4, look: 100 };
      for (const more of [{}, { address: 'a@example.net', limit: 1 }]) {
        const { suppressions, nextId } = await store.listSuppressions({ ...full, ...more });
        expect(nextId).toBe(suppressions.at(-1)?.id);
        const rest = await store.listSuppressions({ ...full, ...more, beforeId: nextId ?? 0 });
        expect(rest).toEqual({ suppressions: [], nextId: null });
      }
      const [first, second] = await list({ limit: 2 });
      expect([first?.address, second?.address]).toEqual(['D@example.net', 'c@example.net']);
      expect(await names({ beforeId: second?.id ?? 0 })).toBe('ba');
      expect(await names({ domains: ['example.com'], beforeId: second?.id ?? 0 })).toBe('ba');
      expect(await names({ domains: ['example.com', 'other.example', 'none.example'] })).toBe('Dcba');
      expect(await names({ since: T0 + 5 })).toBe('Dc');
      expect(await names({ reason: 'Complaint' })).toBe('b');
      expect(await names({ address: 'd@example.net' })).toBe('D');
    });

    it('are found by the domain of their address, and of no other', async () => {
      await add(
        ['a@example.net', 'b@sub.example.net', 'c@badexample.net', 'D@example.net'].map((one) => entry(one)),
      );
      const found = (await list({ recipientDomain: 'example.net' })).map(({ address }) => address);
      expect(found).toEqual(['D@example.net', 'a@example.net']);
      expect(await list({ recipientDomain: 'example.net', domains: ['other.example'] })).toEqual([]);
      expect(await list({ recipientDomain: 'example.net', address: 'c@badexample.net' })).toEqual([]);
    });

    it('are lifted as a whole or by reason', async () => {
      await add([
        entry('ann@example.net', { reason: 'Bounce' }),
        entry('ann@example.net', { reason: 'Unsubscribe' }),
        entry('bob@example.net'),
      ]);
      const lift = (reason?: SuppressionReason) =>
        store.removeSuppressions({
          domain: 'example.com',
          address: 'Ann@example.net',
          now: T0,
          ...(reason === undefined ? {} : { reason }),
        });
      expect(await lift('Complaint')).toBe(0);
      expect(await lift('Bounce')).toBe(1);
      expect(await among(['ann@example.net'])).toEqual(['ann@example.net Unsubscribe']);
      expect(await lift()).toBe(1);
      expect(await lift()).toBe(0);
      expect(await among(['ann@example.net', 'bob@example.net'])).toEqual(['bob@example.net Manual']);
    });

    it('past their end are removed in steps, and that is told for mail that waits in memory', async () => {
      const told: string[] = [];
      const stop = store.onSuppressed((changes) =>
        told.push(...changes.map(({ key, lifted }) => `${key} ${lifted}`)),
      );
      await add(
        Array.from({ length: 5 }, (_, i) =>
          entry(`x${i}@example.net`, { expiresAt: i === 4 ? null : T0 + i }),
        ),
      );
      const purge = (now: number) => store.purgeSuppressions({ now, evidenceBefore: T0 - DAY, limit: 3 });
      told.length = 0;
      expect(await purge(T0 - 1)).toBe(0);
      expect(told).toEqual([]);
      expect(await purge(T0 + DAY)).toBe(3);
      expect(told).toEqual(['x0@example.net true', 'x1@example.net true', 'x2@example.net true']);
      stop();
      expect(await purge(T0 + DAY)).toBe(1);
      expect(await purge(T0 + DAY)).toBe(0);
      expect(only(await list({ now: T0 - 1 })).address).toBe('x4@example.net');
    });
  });

  describe('a claim', () => {
    it('names the reasons in force for each recipient', async () => {
      const { queueId } = await commitOne(store);
      expect(only(await claim(store, queueId)).suppressedFor ?? []).toEqual([]);
      await add([
        entry('Reader@example.net', { reason: 'Unsubscribe' }),
        entry('reader@example.net', { reason: 'Complaint', expiresAt: T0 }),
        entry('reader@example.net', { reason: 'Bounce' }),
      ]);
      await commitOne(store);
      expect(only(await claim(store, queueId)).suppressedFor).toEqual(['Bounce', 'Unsubscribe']);
      const other = await commitOne(store, { domain: 'other.example' });
      expect(only(await claim(store, other.queueId)).suppressedFor ?? []).toEqual([]);
    });
  });

  describe('an outcome with a signal', () => {
    it('suppresses its recipient with its message and reply, in the same step', async () => {
      const message = newId();
      const { id } = await commitOne(store, {
        id: message as never,
        recipients: [recipient({ address: 'Reader@example.net', state: 'sending', events: [] })],
      });
      const settlement = delivered(id, 1, {
        state: 'bounced',
        events: [event('bounced')],
        suppress: signal(),
      });
      await store.settle({ now: T0 + 7, settlements: [settlement] });
      expect(await among(['reader@example.net'])).toEqual(['reader@example.net Bounce']);
      expect(only(await list())).toMatchObject({
        address: 'Reader@example.net',
        createdAt: T0 + 7,
        source: { messageId: message, reply: '550 5.1.1 No such user', rule: 'G09' },
      });
      expect(await kindsOf(store)).toEqual(['bounced', 'suppression_added']);
    });

    it('is told to have been lifted with the message that brought it, and nowhere else', async () => {
      const id = await outcome(T0, { suppress: signal() });
      await add([entry('reader@example.net', { reason: 'Complaint' })]);
      const lifted = { domain: 'example.com', address: 'reader@example.net', now: T0 + 5 };
      const eventIds = [newId(), newId()];
      expect(await store.removeSuppressions({ ...lifted, eventIds })).toBe(2);
      const { events } = await store.findEvents(everyEvent({ kinds: ['suppression_removed'] }));
      expect(events).toMatchObject([
        { at: T0 + 5, deliveryId: id, detail: { reason: 'Bounce: taken off the list' } },
      ]);
      // Nothing is left to remove, so nothing is reported.
      expect(await store.removeSuppressions({ ...lifted, eventIds: [newId()] })).toBe(0);
      expect(await kindsOf(store)).toEqual(['bounced', 'suppression_added', 'suppression_removed']);
    });

    it('adds nothing, and tells nothing, where the reason is in force', async () => {
      await outcome(T0, { suppress: signal() });
      await outcome(T0 + 1, { suppress: signal() });
      expect(await list()).toHaveLength(1);
      expect(await kindsOf(store)).toEqual(['bounced', 'suppression_added', 'bounced']);
    });

    it('does nothing when its lease was lost', async () => {
      const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      const settlement = delivered(id, 2, { state: 'bounced', suppress: signal() });
      expect(await store.settle({ now: T0, settlements: [settlement] })).toEqual(['lease-lost']);
      expect(await list()).toEqual([]);
    });

    it('that must be repeated suppresses on the third day, two weeks after the first', async () => {
      await soft(MIDNIGHT);
      await soft(MIDNIGHT + 10 * DAY);
      expect(await list()).toEqual([]);
      await soft(MIDNIGHT + 14 * DAY - 1);
      expect(await list()).toEqual([]);
      await soft(MIDNIGHT + 14 * DAY);
      expect(only(await list()).createdAt).toBe(MIDNIGHT + 14 * DAY);
      expect(await among(['reader@example.net'], 'example.com', MIDNIGHT + 44 * DAY)).toEqual([]);
    });

    it('counts each day once, and each address and reason by itself', async () => {
      for (let i = 0; i < 5; i++) await soft(MIDNIGHT + i * HOUR);
      await soft(MIDNIGHT + 20 * DAY);
      await soft(MIDNIGHT + 20 * DAY + HOUR);
      await soft(MIDNIGHT + 21 * DAY, 'other@example.net');
      await outcome(MIDNIGHT + 21 * DAY, {
        suppress: signal({ reason: 'Bounce', needs: { days: 2, spanMs: DAY } }),
      });
      expect(await list()).toEqual([]);
      await soft(MIDNIGHT + 21 * DAY, 'READER@example.net');
      expect(only(await list()).reason).toBe('SoftBounces');
    });

    it('starts to count again after a delivery, a lifting, or its own entry', async () => {
      const days = async (from: number, count: number) => {
        for (let i = 0; i < count; i++) await soft(from + i * 8 * DAY);
      };
      await days(MIDNIGHT, 2);
      await outcome(MIDNIGHT + 15 * DAY, { state: 'delivered', events: [] });
      await days(MIDNIGHT + 16 * DAY, 2);
      expect(await list()).toEqual([]);
      await store.removeSuppressions({ domain: 'example.com', address: 'reader@example.net', now: T0 });
      await days(MIDNIGHT + 32 * DAY, 2);
      expect(await list()).toEqual([]);
      await soft(MIDNIGHT + 48 * DAY);
      expect(await list()).toHaveLength(1);
      const late = MIDNIGHT + 100 * DAY;
      await soft(late);
      expect(await list({ now: late })).toEqual([]);
    });

    it('keeps counting past a copy that only the sandbox took', async () => {
      await soft(MIDNIGHT);
      await soft(MIDNIGHT + DAY);
      await outcome(MIDNIGHT + 2 * DAY, { state: 'delivered', route: 'sandbox', events: [] });
      await soft(MIDNIGHT + 14 * DAY);
      expect(await list()).toHaveLength(1);
    });

    it('is forgotten when nothing follows for long', async () => {
      await soft(MIDNIGHT);
      await soft(MIDNIGHT + 14 * DAY);
      const purge = (evidenceBefore: number) =>
        store.purgeSuppressions({ now: T0, evidenceBefore, limit: 10 });
      expect(await purge(MIDNIGHT + 14 * DAY)).toBe(0);
      expect(await purge(MIDNIGHT + 14 * DAY + 1)).toBe(1);
      await soft(MIDNIGHT + 15 * DAY);
      expect(await list()).toEqual([]);
    });
  });
}
