/** Conformance: webhooks as rows: creating up to the limit, listing, deleting with their calls. */
import { describe, expect, it } from 'vitest';
import { claimCalls, commitOne, createWebhook, only, type Suite, T0, token, webhook } from './fixtures.ts';

/** Tests of `createWebhook`, `listWebhooks`, `deleteWebhook`. */
export function describeWebhooks({ store, reopen }: Suite): void {
  describe('webhooks', () => {
    it('start enabled and never called', async () => {
      await store.addToken({ maxPerDomain: 1000, token: token({ id: 'maker' }) });
      const id = await createWebhook(store, {
        events: ['bounce'],
        description: 'to the shop',
        createdBy: 'maker',
      });
      expect(await store.listWebhooks({ limit: 100 })).toEqual([
        {
          id,
          domain: 'example.com',
          events: ['bounce'],
          url: 'https://hooks.example.com/in',
          description: 'to the shop',
          status: 'Enabled',
          disabledReason: null,
          createdAt: T0,
          updatedAt: T0,
          lastResponseCode: 0,
          lastResponseBody: '',
          lastResponseAt: null,
          lastResponseTry: 0,
          lastError: '',
          lastLatencyMs: null,
          failingSince: null,
          failedTries: 0,
          blockedTries: 0,
          secretSealed: new Uint8Array([1, 2, 3]),
          previousSecretSealed: null,
          previousSecretUntil: null,
          createdBy: 'maker',
        },
      ]);
    });

    it('are limited per domain, also when many come at once', async () => {
      const create = (domain: string) => store.createWebhook(webhook({ domain, maxPerDomain: 3 }));
      const results = await Promise.all(Array.from({ length: 6 }, () => create('example.com')));
      expect(results.filter((result) => result.kind === 'created')).toHaveLength(3);
      expect((await create('example.com')).kind).toBe('limit');
      expect((await create('example.org')).kind).toBe('created');
    });

    it('are listed by id, for the given domains or all', async () => {
      const a = await createWebhook(store);
      const b = await createWebhook(store, { domain: 'example.org' });
      const c = await createWebhook(store);
      const ids = async (domains?: string[]) =>
        (await store.listWebhooks({ limit: 100, ...(domains && { domains }) })).map((one) => one.id);
      expect(await ids()).toEqual([a, b, c]);
      expect(await ids(['example.com'])).toEqual([a, c]);
      expect(await ids([])).toEqual([]);
      expect(await ids(['unknown.example'])).toEqual([]);
      const page = { afterId: a, limit: 1 };
      expect((await store.listWebhooks(page)).map(({ id }) => id)).toEqual([b]);
      const domains = ['example.com', 'example.org'];
      expect((await store.listWebhooks({ ...page, domains })).map(({ id }) => id)).toEqual([b]);
    });

    it('are found by their number, within the given domains', async () => {
      const id = await createWebhook(store);
      const [listed] = await store.listWebhooks({ limit: 1 });
      expect(await store.getWebhook({ id })).toEqual(listed);
      expect(await store.getWebhook({ id, domains: ['example.com'] })).toEqual(listed);
      expect(await store.getWebhook({ id, domains: ['example.org'] })).toBeNull();
      expect(await store.getWebhook({ id, domains: [] })).toBeNull();
      expect(await store.getWebhook({ id: id + 1 })).toBeNull();
    });

    it('never get the number of a deleted one', async () => {
      const first = await createWebhook(store);
      expect(await store.deleteWebhook({ id: first })).toBe(true);
      await reopen();
      expect(await createWebhook(store)).toBeGreaterThan(first);
    });

    it('are deleted with their calls, once, and only within the given domains', async () => {
      const id = await createWebhook(store);
      const other = await createWebhook(store);
      await commitOne(store);
      expect(await store.deleteWebhook({ id, domains: ['example.org'] })).toBe(false);
      expect(await store.deleteWebhook({ id, domains: ['example.com'] })).toBe(true);
      expect(await store.deleteWebhook({ id })).toBe(false);
      expect(only(await claimCalls(store)).webhook.id).toBe(other);
      while (await store.purgeLeftovers({ limit: 10 }));
      expect(await store.listCalls({ webhookId: id, limit: 10 })).toEqual([]);
      await commitOne(store);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ pendingCalls: 2 });
    });

    it('hear of each event they name, and of no other', async () => {
      const id = await createWebhook(store, { events: ['bounce', 'accept'] });
      await createWebhook(store, { events: ['bounce', 'complaint'] });
      expect((await store.listWebhooks({ limit: 100 }))[0]?.events).toEqual(['bounce', 'accept']);
      await reopen();
      await commitOne(store);
      expect(only(await claimCalls(store)).webhook).toMatchObject({
        id,
        events: ['bounce', 'accept'],
      });
      const [call] = await store.listCalls({ webhookId: id, limit: 10 });
      expect(call?.eventKind).toBe('accepted');
      const again = { since: 0, until: T0 + 1000, onlyFailed: false, now: T0, limit: 10 };
      const other = await createWebhook(store, { events: ['delivery', 'accept'] });
      expect((await store.replayCalls({ webhookId: other, ...again })).made).toBe(1);
    });

    it('hear of events from their creation on, not before', async () => {
      await commitOne(store);
      await createWebhook(store);
      expect(await claimCalls(store, { now: T0 })).toEqual([]);
      await commitOne(store);
      expect(await claimCalls(store)).toHaveLength(1);
    });
  });
}
