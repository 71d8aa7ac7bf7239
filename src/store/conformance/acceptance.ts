/** Conformance: acceptance is one transaction with its recipients, events, webhook calls and idempotency key. */
import { describe, expect, it } from 'vitest';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  committed,
  createWebhook,
  event,
  HOUR,
  idempotency,
  kindsOf,
  message,
  messagesOf,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `commitAccepted`, `findIdempotent`, `purgeIdempotency`, `readContent`. */
export function describeAcceptance({ store }: Suite): void {
  describe('acceptance', () => {
    it('answers with the ids of messages and recipients in the order given', async () => {
      const result = await commit(store, [
        message({
          recipients: [recipient({ address: 'a@example.net' }), recipient({ domain: 'example.org' })],
        }),
        message({ recipients: [recipient({ address: 'c@example.net' })] }),
      ]);
      const [first, second] = result;
      expect(result).toHaveLength(2);
      expect(first?.deliveries).toHaveLength(2);
      expect(second?.seq).toBeGreaterThan(first?.seq ?? Infinity);
      const ids = result.flatMap((one) => one.deliveries.map((delivery) => delivery.id));
      expect(new Set(ids).size).toBe(3);
      expect([...ids].sort((a, b) => a - b)).toEqual(ids);
    });

    it('puts rows of one lane, sender domain and recipient domain into one queue, others into others', async () => {
      const queueOf = async (more: Parameters<typeof message>[0]) => (await commitOne(store, more)).queueId;
      const queue = await queueOf({});
      expect(await queueOf({})).toBe(queue);
      const others = [
        await queueOf({ lane: 'critical' }),
        await queueOf({ domain: 'example.org' }),
        await queueOf({ recipients: [recipient({ domain: 'example.edu' })] }),
      ];
      expect(new Set([queue, ...others]).size).toBe(4);
    });

    it('keeps contents byte for byte, small, empty and large', async () => {
      for (const size of [0, 1, 10_000, 5_000_000]) {
        const content = new Uint8Array(size).map((_, i) => (i * 31) % 251);
        const { seq } = await commitOne(store, { content });
        const kept = await store.readContent({ messageSeq: seq });
        expect(kept).not.toBeNull();
        expect(Buffer.compare(kept ?? new Uint8Array(), content)).toBe(0);
      }
      expect(await store.readContent({ messageSeq: 999_999 })).toBeNull();
    });

    it('leaves the caller its content', async () => {
      const content = new Uint8Array(6_000_000).fill(7);
      await commitOne(store, { content });
      expect(content.length).toBe(6_000_000);
      expect(content[5_999_999]).toBe(7);
    });

    it('keeps contents apart when many are accepted at once', async () => {
      const accepted = await Promise.all(
        Array.from({ length: 300 }, (_, i) =>
          commitOne(store, { content: new Uint8Array(40_000).fill(i % 256) }),
        ),
      );
      for (const [i, { seq }] of accepted.entries()) {
        const kept = await store.readContent({ messageSeq: seq });
        expect(kept?.every((byte) => byte === i % 256)).toBe(true);
      }
    });

    it('keeps contents apart of one operation that are large together', async () => {
      const given = [1_500_000, 10, 2_000_000, 0, 1_500_000].map((size, i) =>
        new Uint8Array(size).fill(i + 1),
      );
      const accepted = await commit(
        store,
        given.map((content) => message({ content })),
      );
      for (const [i, { seq }] of accepted.entries()) {
        const kept = await store.readContent({ messageSeq: seq });
        expect(Buffer.compare(kept ?? new Uint8Array([9]), given[i] as Uint8Array)).toBe(0);
      }
    });

    it('keeps recipients born sending away from every claim', async () => {
      const { queueId } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      expect(await claim(store, queueId)).toEqual([]);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ queued: 1, sending: 1 });
    });

    it('keeps suppressed recipients out of the queue', async () => {
      const suppressed = recipient({ state: 'suppressed', events: [event('accepted'), event('suppressed')] });
      const { queueId } = await commitOne(store, { recipients: [suppressed] });
      expect(await claim(store, queueId)).toEqual([]);
      expect(await kindsOf(store)).toEqual(['accepted', 'suppressed']);
    });

    it('makes the webhook calls of its events in the same step', async () => {
      await createWebhook(store, { events: ['accept'] });
      await commitOne(store);
      expect(only(await claimCalls(store)).event.kind).toBe('accepted');
    });

    it('stores nothing of an operation that fails, and all of the others that came with it', async () => {
      const taken = message();
      await commit(store, [taken]);
      const results = await Promise.allSettled([
        commitOne(store, { subject: 'before' }),
        store.commitAccepted({
          messages: [message({ subject: 'half' }), taken],
          epoch: 1,
          idempotency: idempotency({ key: 'broken' }),
        }),
        commitOne(store, { subject: 'after' }),
      ]);
      expect(results.map((result) => result.status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
      const subjects = (await messagesOf(store, { limit: 10 })).map((one) => one.subject);
      expect(subjects.sort()).toEqual(['Hello', 'after', 'before']);
      expect(await store.findIdempotent(idempotency({ key: 'broken' }))).toBeNull();
      expect(store.writable()).toEqual({ ok: true });
    });
  });

  describe('idempotency', () => {
    const accept = (more: Parameters<typeof idempotency>[0] = {}) =>
      store.commitAccepted({ messages: [message()], epoch: 1, idempotency: idempotency(more) });

    it('repeats the first answer to the same request and accepts nothing again', async () => {
      committed(await accept());
      const second = await accept({ status: 200, body: 'another answer' });
      expect(second).toEqual({ kind: 'replay', status: 200, body: '{"MessageID":"m"}' });
      expect(await messagesOf(store, { limit: 10 })).toHaveLength(1);
    });

    it('refuses another request under the same key', async () => {
      committed(await accept());
      expect(await accept({ fingerprint: new Uint8Array(32).fill(2) })).toEqual({ kind: 'key-reused' });
      expect(await messagesOf(store, { limit: 10 })).toHaveLength(1);
    });

    it('takes owner, operation and key together as the key', async () => {
      for (const more of [
        {},
        { owner: 'project-2' },
        { operation: 'POST /email/batch' },
        { key: 'order-2' },
      ]) {
        expect((await accept(more)).kind).toBe('committed');
      }
    });

    it('accepts exactly one of many that come at once', async () => {
      const results = await Promise.all(Array.from({ length: 20 }, () => accept()));
      expect(results.filter((result) => result.kind === 'committed')).toHaveLength(1);
      expect(results.filter((result) => result.kind === 'replay')).toHaveLength(19);
      expect(await messagesOf(store, { limit: 100 })).toHaveLength(1);
    });

    it('keeps the answer of a request whose messages are all refused, unless the key has one', async () => {
      const refuse = (key: string) =>
        store.commitAccepted({
          ...{ messages: [], epoch: 1 },
          idempotency: idempotency({ key, body: 'all refused' }),
        });
      committed(await accept());
      expect(await refuse('order-1')).toEqual({ kind: 'replay', status: 200, body: '{"MessageID":"m"}' });
      expect(await refuse('order-2')).toEqual({ kind: 'committed', messages: [] });
      expect(await accept({ key: 'order-2' })).toMatchObject({ kind: 'replay', body: 'all refused' });
      const nothing = await store.commitAccepted({ messages: [], epoch: 1, idempotency: null });
      expect(nothing).toEqual({ kind: 'committed', messages: [] });
    });

    it('finds a stored answer without taking the key', async () => {
      expect(await store.findIdempotent(idempotency())).toBeNull();
      committed(await accept());
      expect(await store.findIdempotent(idempotency())).toEqual({
        fingerprint: new Uint8Array(32).fill(1),
        status: 200,
        body: '{"MessageID":"m"}',
      });
    });

    it('counts an expired row as free, and replaces it', async () => {
      committed(await accept());
      const later = { createdAt: T0 + 25 * HOUR, expiresBefore: T0 + HOUR, body: 'second' };
      expect(await store.findIdempotent(idempotency(later))).toBeNull();
      committed(await accept({ ...later, fingerprint: new Uint8Array(32).fill(9) }));
      const now = await store.findIdempotent(idempotency(later));
      expect(now).toMatchObject({ body: 'second', fingerprint: new Uint8Array(32).fill(9) });
    });

    it('forgets the oldest rows first, as many as asked', async () => {
      for (const i of [0, 1, 2, 3]) committed(await accept({ key: `k${i}`, createdAt: T0 + i }));
      expect(await store.purgeIdempotency({ before: T0 + 3, limit: 2 })).toBe(2);
      expect(await store.findIdempotent(idempotency({ key: 'k1' }))).toBeNull();
      expect(await store.findIdempotent(idempotency({ key: 'k2' }))).not.toBeNull();
      expect(await store.purgeIdempotency({ before: T0 + 3, limit: 2 })).toBe(1);
      expect(await store.purgeIdempotency({ before: T0 + 3, limit: 2 })).toBe(0);
    });
  });
}
