/** Conformance: expired data is found and deleted, and nothing else. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { NewMessage } from '../topics/acceptance.ts';
import {
  claimCalls,
  commit,
  createWebhook,
  delivered,
  event,
  HOUR,
  kindsOf,
  message,
  messagesOf,
  newId,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

const DAY = 24 * HOUR;

/** Tests of the `find…` and `purge…` operations. */
export function describeRetention({ store }: Suite): void {
  describe('retention', () => {
    const sending = () => recipient({ state: 'sending' });
    /** A message whose recipients are being sent; its seq and their ids. */
    async function send(more: Partial<NewMessage> = {}) {
      const { seq, deliveries } = only(await commit(store, [message({ recipients: [sending()], ...more })]));
      return { seq, ids: deliveries.map((row) => row.id) };
    }
    async function sent(more: Partial<NewMessage> = {}): Promise<number> {
      const { seq, ids } = await send(more);
      await settle(ids);
      return seq;
    }
    const settle = (ids: readonly number[], more: object = {}) =>
      store.settle({ now: T0, settlements: ids.map((id) => delivered(id, 1, more)) });
    const find = (more: Partial<Parameters<Store['findExpired']>[0]> = {}) =>
      store.findExpired({
        what: 'contents',
        domain: 'example.com',
        before: T0 + DAY,
        now: T0 + 9 * DAY,
        afterSeq: 0,
        limit: 10,
        ...more,
      });
    const content = (messageSeq: number) => store.readContent({ messageSeq });
    const capture = (at = T0) => {
      return { id: newId(), at, envelopeFrom: 'b@example.com', inbox: 'main', prefix: new Uint8Array(7) };
    };

    it('finds what is old and final, page by page, for each domain that has mail', async () => {
      const first = await sent();
      const waits = await send();
      const second = await sent();
      const young = await sent({ createdAt: T0 + DAY });
      await sent({ domain: 'example.org' });
      expect(new Set(await store.domainsWithMail())).toEqual(new Set(['example.com', 'example.org']));
      for (const what of ['contents', 'messages'] as const) {
        expect(await find({ what })).toEqual({ seqs: [first, second], nextSeq: null });
        expect(await find({ what, limit: 2 })).toEqual({ seqs: [first], nextSeq: waits.seq });
        expect(await find({ what, limit: 2, afterSeq: waits.seq })).toEqual({
          seqs: [second],
          nextSeq: null,
        });
        expect(await find({ what, before: T0 + 2 * DAY })).toMatchObject({ seqs: [first, second, young] });
        expect(await find({ what, domain: 'nobody.example' })).toEqual({ seqs: [], nextSeq: null });
      }
    });

    it('removes contents of what is final, and not of what waits, is being sent, or shows in the sandbox', async () => {
      const done = await sent();
      const half = await send({ recipients: [sending(), sending()] });
      await settle(half.ids.slice(0, 1));
      const shown = await send({ sandbox: true });
      await settle(shown.ids, { capture: capture() });
      const all = [done, half.seq, shown.seq];
      expect(await store.purgeContents({ seqs: all, maxBytes: 1e9 })).toMatchObject({ removed: 1 });
      expect(await content(done)).toBeNull();
      expect(await content(half.seq)).not.toBeNull();
      expect(await content(shown.seq)).not.toBeNull();
      expect(await store.purgeContents({ seqs: all, maxBytes: 1e9 })).toMatchObject({ removed: 0 });
      expect(await find()).toEqual({ seqs: [], nextSeq: null });
      await settle(half.ids.slice(1));
      expect(await find()).toEqual({ seqs: [half.seq], nextSeq: null });
    });

    it('drops a content that is not to be kept when the last recipient is final', async () => {
      const { seq, ids } = await send({
        keepContent: false,
        recipients: [sending(), sending(), recipient()],
      });
      await settle(ids.slice(0, 2));
      expect(await content(seq)).not.toBeNull();
      const [, , last] = ids;
      await store.cancelQueued({
        messageSeq: seq,
        now: T0,
        recipients: [{ deliveryId: last ?? 0, event: event('canceled') }],
      });
      expect(await content(seq)).toBeNull();
      const shown = await send({ keepContent: false, sandbox: true });
      const copy = capture();
      await settle(shown.ids, { capture: copy });
      expect(await content(shown.seq)).not.toBeNull();
      await store.deleteCaptures({ ids: [copy.id], limit: 1 });
      expect(await content(shown.seq)).toBeNull();
    });

    it('counts what contents take, and names the oldest that may go', async () => {
      const size = message().content.length;
      const first = await sent();
      const waits = await send();
      const second = await sent({ domain: 'example.org' });
      const third = await sent();
      expect(await store.contentBytes()).toBe(4 * size);
      const oldest = (atLeastBytes: number, afterSeq = 0) =>
        store.findOldestContents({ atLeastBytes, afterSeq, limit: 10 });
      expect(await oldest(1)).toMatchObject({ seqs: [first], bytes: size });
      expect(await oldest(size + 1)).toMatchObject({ seqs: [first, second], bytes: 2 * size });
      expect(await oldest(100 * size, waits.seq)).toEqual({
        seqs: [second, third],
        bytes: 2 * size,
        nextSeq: null,
      });
      await store.purgeContents({ seqs: [first], maxBytes: 1e9 });
      expect(await store.contentBytes()).toBe(3 * size);
    });

    it('counts what each domain has stored, up and down with whatever removes it', async () => {
      const size = message().content.length;
      const domains = ['example.com', 'example.org', 'nobody.example'];
      const bytes = async () => (await store.domainUse({ domains })).map((one) => one.bytes);
      const recipients = async () => (await store.domainUse({ domains })).map((one) => one.recipients);
      expect(await bytes()).toEqual([0, 0, 0]);
      const first = await sent();
      const waits = await send();
      await sent({ domain: 'example.org' });
      expect(await recipients()).toEqual([1, 0, 0]);
      expect(await store.domainUse({ domains: ['example.org'] })).toEqual([
        { domain: 'example.org', bytes: size, recipients: 0 },
      ]);
      expect(await bytes()).toEqual([2 * size, size, 0]);
      const shown = await send({ keepContent: false, sandbox: true });
      const copy = capture();
      await settle(shown.ids, { capture: copy });
      expect(await bytes()).toEqual([3 * size + copy.prefix.length, size, 0]);
      await store.deleteCaptures({ ids: [copy.id], limit: 1 });
      expect(await bytes()).toEqual([2 * size, size, 0]);
      await store.purgeContents({ seqs: [first, waits.seq], maxBytes: 1e9 });
      expect(await bytes()).toEqual([size, size, 0]);
    });

    it('removes a message with all that hangs on it, within the rows that are asked for', async () => {
      const webhookId = await createWebhook(store);
      const first = await sent();
      const second = await sent();
      const waits = await send();
      expect(await store.purgeMessages({ seqs: [first], maxRows: 100 })).toEqual({
        done: 1,
        messages: 0,
      });
      for (const { id } of await claimCalls(store)) {
        await store.settleCalls({
          settlements: [
            {
              callId: id,
              epoch: 1,
              webhookId,
              state: 'succeeded',
              tryNumber: 1,
              at: T0,
              responseCode: 200,
              responseBody: '',
              error: '',
              latencyMs: 1,
              blocked: false,
            },
          ],
        });
      }
      const seqs = [first, waits.seq, second];
      expect(await store.purgeMessages({ seqs, maxRows: 1 })).toEqual({ done: 1, messages: 1 });
      expect(await store.listCalls({ webhookId, limit: 100 })).toHaveLength(3);
      expect(await store.purgeMessages({ seqs, maxRows: 100 })).toEqual({ done: 3, messages: 1 });
      expect(await kindsOf(store)).toEqual(['accepted']);
      expect(await messagesOf(store, { limit: 10 })).toHaveLength(1);
      expect(await content(second)).toBeNull();
      expect(await content(waits.seq)).not.toBeNull();
      expect(await store.listCalls({ webhookId, limit: 100 })).toHaveLength(1);
    });

    it('removes contents until enough octets are gone', async () => {
      const waits = await send();
      const seqs = [waits.seq, await sent(), await sent()];
      const purge = (given: readonly number[]) => store.purgeContents({ seqs: given, maxBytes: 1 });
      expect(await purge(seqs)).toEqual({ done: 2, removed: 1 });
      expect(await purge(seqs.slice(2))).toEqual({ done: 1, removed: 1 });
      expect(await content(waits.seq)).not.toBeNull();
    });

    it('removes a message with very many events in portions, itself last', async () => {
      const { seq, ids } = await send();
      await settle(ids);
      const [deliveryId = 0] = ids;
      for (let n = 0; n < 25; n += 1) {
        const facts = Array.from({ length: 100 }, () => ({ ...event('opened'), deliveryId }));
        await store.appendReaderFacts({ facts, quickMs: 0 });
      }
      const kept = async () => (await kindsOf(store, { limit: 5000, look: 5000 })).length;
      let left = await kept();
      for (let done = 0, portions = 1; done === 0; portions += 1) {
        const step = await store.purgeMessages({ seqs: [seq], maxRows: 64 });
        done = step.done;
        expect(step.messages).toBe(done);
        const now = await kept();
        expect(left - now).toBeGreaterThan(0);
        expect(left - now).toBeLessThan(1500);
        if (done === 1) expect(portions).toBeGreaterThan(1);
        left = now;
      }
      expect(left).toBe(0);
      expect(await messagesOf(store, { limit: 10 })).toEqual([]);
    });

    it('removes old captures, oldest first', async () => {
      for (const at of [T0 + 9 * DAY, T0, T0 + 1, T0 + DAY]) {
        await settle((await send({ sandbox: true })).ids, { capture: capture(at) });
      }
      const purge = (limit: number) => store.purgeCaptures({ before: T0 + HOUR, now: T0 + DAY, limit });
      expect([await purge(1), await purge(10), await purge(10)]).toEqual([1, 1, 0]);
      const left = await store.findCaptures({ limit: 10, look: 100 });
      expect(left.captures).toMatchObject([{ at: T0 + DAY }, { at: T0 + 9 * DAY }]);
    });

    it('removes calls that are over, and those of a webhook that is off', async () => {
      const webhookId = await createWebhook(store);
      await sent();
      const purge = (afterId = 0) =>
        store.purgeCalls({ before: T0 + HOUR, now: T0 + DAY, afterId, limit: 10 });
      expect(await purge()).toEqual({ removed: 0, nextId: null });
      await store.updateWebhook({ id: webhookId, now: T0, status: 'Disabled', resumeSince: 0 });
      expect(
        await store.purgeCalls({ before: T0 + HOUR, now: T0 + DAY, afterId: 0, limit: 1 }),
      ).toMatchObject({
        removed: 1,
      });
      expect(await purge()).toEqual({ removed: 1, nextId: null });
      expect(await store.listCalls({ webhookId, limit: 10 })).toEqual([]);
    });

    it('removes old events that belong to no message', async () => {
      await sent();
      await store.appendEvents({
        events: [T0, T0 + DAY].map((at) => ({
          ...event('domain.verified', at),
          domain: 'example.com',
          deliveryId: null,
        })),
      });
      const purge = () => store.purgeLooseEvents({ before: T0 + HOUR, limit: 10 });
      expect([await purge(), await purge()]).toEqual([1, 0]);
      expect(await kindsOf(store)).toEqual(['accepted', 'delivered', 'domain.verified']);
    });
  });
}
