/** Conformance: rows that belong to a removed thing are deleted in portions, and cannot be found before that. */
import { describe, expect, it } from 'vitest';
import { claimCalls, commitOne, createWebhook, newId, type Suite, T0 } from './fixtures.ts';

/** Tests of `purgeLeftovers` after `deleteWebhook`, `removeTemplate` and `removeDomain`. */
export function describeLeftovers({ store, reopen }: Suite): void {
  describe('leftovers', () => {
    it('of a webhook: its calls are made no more at once, and removed some at a time', async () => {
      const id = await createWebhook(store);
      for (let n = 0; n < 5; n += 1) await commitOne(store);
      expect(await store.purgeLeftovers({ limit: 2 })).toBe(false);
      const pending = async () => (await store.queueCounts({ now: T0 })).pendingCalls;
      expect(await pending()).toBe(5);
      await store.deleteWebhook({ id });
      expect(await claimCalls(store)).toEqual([]);
      expect(await store.nextCallDueAt()).toBeNull();
      expect(await pending()).toBe(0);
      expect(await store.purgeLeftovers({ limit: 2 })).toBe(true);
      await reopen();
      expect(await pending()).toBe(0);
      let steps = 1;
      while (await store.purgeLeftovers({ limit: 2 })) steps += 1;
      expect([steps, await pending()]).toEqual([2, 0]);
    });

    it('of several things: all of them go', async () => {
      const texts = { subject: 'Hello', html: null, text: 'Hello' };
      for (const name of ['one', 'two']) {
        const wanted = { id: newId(), domain: 'example.com', name, texts, now: T0, maxPerDomain: 10 };
        await store.addTemplate(wanted);
      }
      await createWebhook(store);
      await store.addDomain({
        name: 'example.com',
        status: 'Verified',
        verifiedBy: 'operator',
        verifyToken: 't',
        settings: {},
        keys: [],
        now: T0,
      });
      await commitOne(store);
      expect(await store.removeDomain({ name: 'example.com' })).toBe(true);
      expect(await store.listTemplates({ limit: 10 })).toEqual([]);
      let steps = 1;
      while (await store.purgeLeftovers({ limit: 1 })) steps += 1;
      expect(steps).toBeGreaterThanOrEqual(3);
      expect(await store.purgeLeftovers({ limit: 1 })).toBe(false);
    });
  });
}
