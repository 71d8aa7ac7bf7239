/**
 * Conformance: webhook calls created in portions, because one commit would have created too many, or a webhook was off
 * for long.
 */
import { describe, expect, it } from 'vitest';
import {
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  event,
  HOUR,
  message,
  newId,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `prepareCalls` and of what causes it. */
export function describeCallPortions({ store, reopen }: Suite): void {
  const many = (count: number, domain = 'example.com') =>
    commit(store, [message({ domain, recipients: Array.from({ length: count }, () => recipient()) })]);

  async function prepared(limit = 100): Promise<number> {
    let portions = 1;
    while (await store.prepareCalls({ limit })) portions += 1;
    return portions;
  }

  const callsOf = (webhookId: number) => store.listCalls({ webhookId, limit: 10_000 });

  describe('calls of a commit that would make very many', () => {
    it('are made in portions, each once, for the webhooks that were on', async () => {
      const hooks = await Promise.all(Array.from({ length: 20 }, () => createWebhook(store)));
      const [off = 0] = hooks;
      await store.updateWebhook({ id: off, now: T0, status: 'Disabled', resumeSince: 0 });
      await many(100);
      const late = await createWebhook(store);
      const atOnce = (await Promise.all(hooks.map(callsOf))).flat().length;
      expect(atOnce).toBeLessThanOrEqual(100);
      expect(await store.nextCallDueAt()).toBe(0);
      // Calls that are only recorded count as pending too.
      expect((await store.queueCounts({ now: T0 })).pendingCalls).toBe(19 * 100);
      const [, , webhookId = 0] = hooks;
      expect(await store.countPendingCalls({ webhookId, countUpTo: 1_000 })).toBe(100);
      await reopen();
      expect(await prepared()).toBeGreaterThanOrEqual((19 * 100 - atOnce) / 100);
      for (const id of hooks.slice(1)) {
        const calls = await callsOf(id);
        expect(new Set(calls.map(({ eventSeq }) => eventSeq)).size).toBe(100);
        expect(calls.every(({ createdAt, state }) => createdAt === T0 && state === 'pending')).toBe(true);
      }
      expect(await callsOf(off)).toEqual([]);
      expect(await callsOf(late)).toEqual([]);
      expect(await store.nextCallDueAt()).toBe(T0);
      expect(await store.prepareCalls({ limit: 100 })).toBe(false);
    });

    it('keep nobody waiting: each domain has its share of a commit and of a portion', async () => {
      for (let n = 0; n < 10; n += 1) await createWebhook(store);
      const other = await createWebhook(store, { domain: 'example.org' });
      const messages = (count: number) => [
        message({ recipients: Array.from({ length: 100 }, () => recipient()) }),
        message({ domain: 'example.org', recipients: Array.from({ length: count }, () => recipient()) }),
      ];
      await commit(store, messages(1));
      expect(await callsOf(other)).toHaveLength(1);
      await commit(store, messages(100));
      const before = (await callsOf(other)).length;
      expect(before).toBeLessThan(101);
      await store.prepareCalls({ limit: 20 });
      expect(await callsOf(other)).toHaveLength(before + 10);
    });

    it('leave those of other domains alone, also where outcomes are stored one by one', async () => {
      const leased = () => recipient({ state: 'sending' });
      const messages = [
        message({ recipients: Array.from({ length: 60 }, leased), keepContent: false }),
        message({ domain: 'example.org', recipients: [leased()], keepContent: false }),
      ];
      const ids = (await commit(store, messages)).flatMap(({ deliveries }) => deliveries.map(({ id }) => id));
      const [own, other] = [
        await createWebhook(store),
        await createWebhook(store, { domain: 'example.org' }),
      ];
      // The content of these is deleted with them.
      await store.settle({ now: T0, settlements: ids.map((id) => delivered(id)) });
      expect(await callsOf(own)).toHaveLength(50);
      expect(await callsOf(other)).toHaveLength(1);
    });

    it('wait for those of their domain that are recorded already', async () => {
      const hooks = await Promise.all(Array.from({ length: 10 }, () => createWebhook(store)));
      await many(100);
      const made = async () => (await Promise.all(hooks.map(callsOf))).flat().length;
      const before = await made();
      await many(1);
      await store.appendEvents({
        events: [{ ...event('delivered'), domain: 'example.com', deliveryId: null }],
      });
      expect(await made()).toBe(before);
      await prepared();
      expect(await made()).toBe(10 * 102);
      await many(1);
      expect(await made()).toBe(10 * 103);
    });

    it('are not made for a webhook that is gone, nor again where a replay made them', async () => {
      const hooks = await Promise.all(Array.from({ length: 8 }, () => createWebhook(store)));
      const [gone = 0, replayed = 0] = hooks;
      await many(100);
      await store.deleteWebhook({ id: gone });
      while (await store.purgeLeftovers({ limit: 500 }));
      const range = { since: 0, until: T0 + HOUR, onlyFailed: false, now: T0 + 5, limit: 1000 };
      await store.replayCalls({ webhookId: replayed, ...range });
      await prepared();
      expect(await callsOf(gone)).toEqual([]);
      expect(await callsOf(replayed)).toHaveLength(100);
    });

    it('keep their message until they are made', async () => {
      for (let n = 0; n < 6; n += 1) await createWebhook(store);
      const recipients = Array.from({ length: 100 }, () =>
        recipient({ state: 'suppressed', events: [event('suppressed')] }),
      );
      const [made] = await commit(store, [message({ recipients })]);
      const purge = () => store.purgeMessages({ seqs: [made?.seq ?? 0], maxRows: 10_000 });
      expect(await store.nextCallDueAt()).toBe(0);
      expect((await purge()).messages).toBe(0);
      await prepared();
      for (;;) {
        const calls = await claimCalls(store, { limit: 1000 });
        if (calls.length === 0) break;
        await store.settleCalls({
          settlements: calls.map(({ id, epoch, webhook }) => ({
            callId: id,
            epoch,
            webhookId: webhook.id,
            state: 'succeeded',
            tryNumber: 1,
            at: T0,
            responseCode: 200,
            responseBody: '',
            error: '',
            latencyMs: 1,
            blocked: false,
          })),
        });
      }
      expect((await purge()).messages).toBe(1);
    });
  });

  describe('a webhook that is switched on', () => {
    it('goes through what waited in portions, and is called after that', async () => {
      const id = await createWebhook(store);
      const other = await createWebhook(store, { domain: 'example.org' });
      for (let n = 0; n < 6; n += 1) {
        const at = n < 3 ? T0 : T0 + HOUR;
        const to = () => recipient({ events: [event('accepted', at, { id: newId() })] });
        await commit(store, [message({ recipients: Array.from({ length: 200 }, to) })]);
      }
      await prepared();
      const now = T0 + 2 * HOUR;
      await store.updateWebhook({ id, now: T0, status: 'Disabled', resumeSince: 0 });
      await store.updateWebhook({ id, now, status: 'Enabled', resumeSince: T0 + 1 });
      const failed = (await callsOf(id)).filter(({ state }) => state === 'failed').length;
      expect(failed).toBeLessThanOrEqual(100);
      await commitOne(store, { domain: 'example.org' });
      const claim = () => claimCalls(store, { now, limit: 1000 });
      // Other webhooks are called meanwhile.
      expect((await claim()).map(({ webhook }) => webhook.id)).toEqual([other]);
      await reopen();
      expect(await store.nextCallDueAt()).toBe(0);
      // And get their recorded calls.
      await many(100, 'example.org');
      const before = (await callsOf(other)).length;
      await store.prepareCalls({ limit: 100 });
      expect((await callsOf(other)).length - before).toBe(50);
      await prepared();
      await claimCalls(store, { now, limit: 1000, exclude: [id] });
      const calls = await callsOf(id);
      expect(calls.filter(({ state }) => state === 'failed')).toHaveLength(600);
      expect((await claim()).map(({ event: { at } }) => at)).toEqual(Array(600).fill(T0 + HOUR));
    });
  });
}
