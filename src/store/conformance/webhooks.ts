/** Conformance: webhooks as rows: creating up to the limit, listing, deleting with their calls. */
import { describe, expect, it } from 'vitest';
import { claimCalls, commitOne, createWebhook, only, type Suite, T0, token, webhook } from './fixtures.ts';

/** Tests of `createWebhook`, `listWebhooks`, `deleteWebhook`. */
export function describeWebhooks(suite: Suite): void {
  describe('webhooks', () => {
    it('start enabled and never called', async () => {
      await suite.store().addToken({ token: token({ id: 'maker' }) });
      const id = await createWebhook(suite.store(), {
        events: ['bounce'],
        description: 'to the shop',
        createdBy: 'maker',
      });
      expect(await suite.store().listWebhooks({ limit: 100 })).toEqual([
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
      const create = (domain: string) => suite.store().createWebhook(webhook({ domain, maxPerDomain: 3 }));
      const results = await Promise.all(Array.from({ length: 6 }, () => create('example.com')));
      expect(results.filter((result) => result.kind === 'created')).toHaveLength(3);
      expect((await create('example.com')).kind).toBe('limit');
      expect((await create('example.org')).kind).toBe('created');
    });

    it('are listed by id, for the given domains or all', async () => {
      const a = await createWebhook(suite.store());
      const b = await createWebhook(suite.store(), { domain: 'example.org' });
      const c = await createWebhook(suite.store());
      const ids = async (domains?: string[]) =>
        (await suite.store().listWebhooks({ limit: 100, ...(domains && { domains }) })).map((one) => one.id);
      expect(await ids()).toEqual([a, b, c]);
      expect(await ids(['example.com'])).toEqual([a, c]);
      expect(await ids([])).toEqual([]);
      expect(await ids(['unknown.example'])).toEqual([]);
      const page = { afterId: a, limit: 1 };
      expect((await suite.store().listWebhooks(page)).map(({ id }) => id)).toEqual([b]);
      const domains = ['example.com', 'example.org'];
      expect((await suite.store().listWebhooks({ ...page, domains })).map(({ id }) => id)).toEqual([b]);
    });

    it('are found by their number, within the given domains', async () => {
      const id = await createWebhook(suite.store());
      const [listed] = await suite.store().listWebhooks({ limit: 1 });
      expect(await suite.store().getWebhook({ id })).toEqual(listed);
      expect(await suite.store().getWebhook({ id, domains: ['example.com'] })).toEqual(listed);
      expect(await suite.store().getWebhook({ id, domains: ['example.org'] })).toBeNull();
      expect(await suite.store().getWebhook({ id, domains: [] })).toBeNull();
      expect(await suite.store().getWebhook({ id: id + 1 })).toBeNull();
    });

    it('never get the number of a deleted one', async () => {
      const first = await createWebhook(suite.store());
      expect(await suite.store().deleteWebhook({ id: first })).toBe(true);
      await suite.reopen();
      expect(await createWebhook(suite.store())).toBeGreaterThan(first);
    });

    it('are deleted with their calls, once, and only within the given domains', async () => {
      const id = await createWebhook(suite.store());
      const other = await createWebhook(suite.store());
      await commitOne(suite.store());
      expect(await suite.store().deleteWebhook({ id, domains: ['example.org'] })).toBe(false);
      expect(await suite.store().deleteWebhook({ id, domains: ['example.com'] })).toBe(true);
      expect(await suite.store().deleteWebhook({ id })).toBe(false);
      expect(only(await claimCalls(suite.store())).webhook.id).toBe(other);
      while (await suite.store().purgeLeftovers({ limit: 10 }));
      expect(await suite.store().listCalls({ webhookId: id, limit: 10 })).toEqual([]);
      await commitOne(suite.store());
      expect(await suite.store().queueCounts({ now: T0 })).toMatchObject({ pendingCalls: 2 });
    });

    it('hear of each event they name, and of no other', async () => {
      const id = await createWebhook(suite.store(), { events: ['bounce', 'accept'] });
      await createWebhook(suite.store(), { events: ['bounce', 'complaint'] });
      expect((await suite.store().listWebhooks({ limit: 100 }))[0]?.events).toEqual(['bounce', 'accept']);
      await suite.reopen();
      await commitOne(suite.store());
      expect(only(await claimCalls(suite.store())).webhook).toMatchObject({
        id,
        events: ['bounce', 'accept'],
      });
      const [call] = await suite.store().listCalls({ webhookId: id, limit: 10 });
      expect(call?.eventKind).toBe('accepted');
      const again = { since: 0, until: T0 + 1000, onlyFailed: false, now: T0, limit: 10 };
      const other = await createWebhook(suite.store(), { events: ['delivery', 'accept'] });
      expect((await suite.store().replayCalls({ webhookId: other, ...again })).made).toBe(1);
    });

    it('hear of events from their creation on, not before', async () => {
      await commitOne(suite.store());
      await createWebhook(suite.store());
      expect(await claimCalls(suite.store())).toEqual([]);
      await commitOne(suite.store());
      expect(await claimCalls(suite.store())).toHaveLength(1);
    });
  });
}
