/** Conformance: which queues are due, and leasing rows from them in order, with limits, each to one node. */
import { describe, expect, it } from 'vitest';
import type { HurriedQueue } from '../topics/queue.ts';
import {
  claim,
  commit,
  commitOne,
  delivered,
  HOUR,
  message,
  messagesOf,
  newId,
  nextDueAt,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `dueQueues`, `dueAmong`, `queueCounts`, `claimDue`, `claimExpired`, `hurry`, `release`. */
export function describeClaims({ store }: Suite): void {
  const due = (dueAt: number, more: Parameters<typeof recipient>[0] = {}) => [recipient({ dueAt, ...more })];

  describe('due queues', () => {
    it('names each queue once, earliest first, with what it holds', async () => {
      const a = await commitOne(store, { recipients: due(T0 + 2) });
      await commitOne(store, { recipients: due(T0 + 3) });
      const b = await commitOne(store, {
        lane: 'bulk',
        recipients: due(T0 + 1, { domain: 'example.org' }),
      });
      await commitOne(store, { lane: 'critical', recipients: due(T0 + 9) });
      expect(await store.dueQueues({ dueBefore: T0 + 3, limit: 10 })).toEqual([
        {
          queueId: b.queueId,
          lane: 'bulk',
          senderDomain: 'example.com',
          recipientDomain: 'example.org',
          sandbox: false,
          nextDueAt: T0 + 1,
        },
        {
          queueId: a.queueId,
          lane: 'normal',
          senderDomain: 'example.com',
          recipientDomain: 'example.net',
          sandbox: false,
          nextDueAt: T0 + 2,
        },
      ]);
      const [first] = await store.dueQueues({ dueBefore: T0 + 3, limit: 1 });
      expect(first?.queueId).toBe(b.queueId);
    });

    it('answers for given queues, each once, earliest first', async () => {
      const a = await commitOne(store, { recipients: due(T0 + 2) });
      const b = await commitOne(store, { lane: 'bulk', recipients: due(T0 + 1) });
      const later = await commitOne(store, { lane: 'critical', recipients: due(T0 + 9) });
      const among = async (queueIds: number[]) =>
        (await store.dueAmong({ queueIds, now: T0, dueBefore: T0 + 3 })).map((hint) => hint.queueId);
      expect(await among([a.queueId, later.queueId, b.queueId, a.queueId, 4_711])).toEqual([
        b.queueId,
        a.queueId,
      ]);
      expect(await store.dueAmong({ queueIds: [b.queueId], now: T0, dueBefore: T0 + 3 })).toEqual(
        await store.dueQueues({ dueBefore: T0 + 3, limit: 1 }),
      );
      expect(await among([])).toEqual([]);
    });

    it('answers for given queues also after the clock was set back', async () => {
      const later = T0 + 60_000;
      const { queueId } = await commitOne(store, { recipients: due(later) });
      const among = (now: number) => store.dueAmong({ queueIds: [queueId], now, dueBefore: now });
      expect(await among(later)).toHaveLength(1);
      expect(await claim(store, queueId, { now: later })).toHaveLength(1);
      expect(await among(later)).toEqual([]);
      await commitOne(store, { recipients: due(T0) });
      expect(await among(T0)).toHaveLength(1);
    });

    it('keeps what the sandbox plays apart, because it waits for no site', async () => {
      const real = await commitOne(store, { recipients: due(T0) });
      const played = await commitOne(store, { recipients: due(T0 + 1, { sandbox: 'deliver' }) });
      const hints = await store.dueQueues({ dueBefore: T0 + 3, limit: 10 });
      expect(hints.map(({ queueId, lane, sandbox }) => ({ queueId, lane, sandbox }))).toEqual([
        { queueId: real.queueId, lane: 'normal', sandbox: false },
        { queueId: played.queueId, lane: 'normal', sandbox: true },
      ]);
    });

    it('names none where nothing is queued or nothing is due', async () => {
      expect(await store.dueQueues({ dueBefore: T0, limit: 10 })).toEqual([]);
      expect(await nextDueAt(store)).toBeNull();
      await commitOne(store, { recipients: due(T0 + 1) });
      await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      expect(await store.dueQueues({ dueBefore: T0, limit: 10 })).toEqual([]);
      expect(await nextDueAt(store)).toBe(T0 + 1);
    });

    it('counts what waits, what is being sent and how old the oldest due row is', async () => {
      expect(await store.queueCounts({ now: T0 })).toEqual({
        queued: 0,
        sending: 0,
        oldestDueAt: null,
        pendingCalls: 0,
      });
      const { queueId } = await commitOne(store, { recipients: due(T0) });
      await commitOne(store, { recipients: due(T0 + 5) });
      expect(await store.queueCounts({ now: T0 + 1 })).toMatchObject({
        queued: 2,
        sending: 0,
        oldestDueAt: T0,
      });
      await claim(store, queueId);
      expect(await store.queueCounts({ now: T0 + 1 })).toMatchObject({
        queued: 2,
        sending: 1,
        oldestDueAt: null,
      });
    });
  });

  describe('claiming', () => {
    it('gives a claimer all it needs to send but the content', async () => {
      const sent = message({
        lane: 'critical',
        needsSmtpUtf8: true,
        eightBit: true,
        recipients: [recipient({ kind: 'BCC', sandbox: 'softbounce' })],
      });
      const { seq, deliveries } = only(await commit(store, [sent]));
      const { id, queueId } = only(deliveries);
      expect(only(await claim(store, queueId))).toEqual({
        id,
        epoch: 1,
        queueId,
        messageSeq: seq,
        messageId: sent.id,
        senderDomain: 'example.com',
        lane: 'critical',
        address: 'reader@example.net',
        recipientDomain: 'example.net',
        kind: 'BCC',
        attempts: 0,
        createdAt: T0,
        expiresAt: T0 + HOUR,
        size: sent.content.length,
        bodyOffset: 18,
        needsSmtpUtf8: true,
        eightBit: true,
        sandbox: 'softbounce',
        mayBeDuplicate: false,
        firstDeferredAt: null,
        lastDeferredEventAt: null,
        lastReply: null,
        lastCategory: null,
      });
    });

    it('takes the earliest due rows first, up to the limit, and nothing before its time', async () => {
      for (const at of [3, 1, 2, 9]) await commitOne(store, { recipients: due(T0 + at) });
      const { queueId } = await commitOne(store, { recipients: due(T0) });
      const first = await claim(store, queueId, { now: T0 + 3, limit: 3 });
      const rest = await claim(store, queueId, { now: T0 + 3 });
      expect(first).toHaveLength(3);
      expect(rest).toHaveLength(1);
      expect(await nextDueAt(store)).toBe(T0 + 9);
    });

    it('stays within the bytes, but never gives nothing because one is large', async () => {
      const content = new Uint8Array(1000);
      let queueId = 0;
      for (let i = 0; i < 5; i++) queueId = (await commitOne(store, { content })).queueId;
      const within = (maxBytes: number) =>
        store.claimDue({ eventId: newId(), queueId, epoch: 1, now: T0, limit: 100, maxBytes });
      expect(await within(2500)).toHaveLength(2);
      expect(await within(10)).toHaveLength(1);
      expect(await within(10_000)).toHaveLength(2);
    });

    it('leaves rows that are too large, and takes those behind them', async () => {
      const sizes = [3000, 1000, 2000, 1000];
      let queueId = 0;
      for (const size of sizes) ({ queueId } = await commitOne(store, { content: new Uint8Array(size) }));
      const within = async (maxRowBytes: number, limit = 100) => {
        const bounds = { now: T0, limit, maxBytes: 10_000, maxRowBytes };
        const rows = await store.claimDue({ eventId: newId(), queueId, epoch: 1, ...bounds });
        return rows.map(({ size }) => size);
      };
      expect(await within(1000)).toEqual([1000, 1000]);
      expect(await within(999)).toEqual([]);
      expect(await within(2000)).toEqual([2000]);
      expect(await within(3000)).toEqual([3000]);
    });

    it('gives each row to one of several claimers at once', async () => {
      let queueId = 0;
      for (let i = 0; i < 30; i++) queueId = (await commitOne(store)).queueId;
      const claims = await Promise.all(Array.from({ length: 8 }, () => claim(store, queueId, { limit: 5 })));
      const ids = claims.flat().map((row) => row.id);
      expect(ids).toHaveLength(30);
      expect(new Set(ids).size).toBe(30);
    });

    it('takes only rows of the queue it was asked for', async () => {
      const a = await commitOne(store);
      await commitOne(store, { lane: 'bulk' });
      expect(only(await claim(store, a.queueId)).id).toBe(a.id);
      expect(await claim(store, 999_999)).toEqual([]);
    });

    it('leaves expired rows to claimExpired, which takes them due or not', async () => {
      const { queueId, id } = await commitOne(store, {
        recipients: due(T0 + 5 * HOUR),
        expiresAt: T0 + HOUR,
      });
      const early = await commitOne(store, { recipients: due(T0), expiresAt: T0 + HOUR / 2 });
      await commitOne(store, { recipients: due(T0), expiresAt: T0 + 2 * HOUR });
      const expired = (now: number, limit = 10) =>
        store.claimExpired({ eventId: newId(), epoch: 1, now, limit });
      expect(await expired(T0 + HOUR / 2 - 1)).toEqual([]);
      expect(await claim(store, queueId, { now: T0 + HOUR })).toHaveLength(1);
      expect((await expired(T0 + HOUR, 1)).map((row) => row.id)).toEqual([early.id]);
      expect((await expired(T0 + HOUR)).map((row) => row.id)).toEqual([id]);
      expect(await expired(T0 + HOUR)).toEqual([]);
    });
  });

  describe('hurrying', () => {
    it('makes due what waits for its path, in the queues that are named, and nothing else', async () => {
      const path = { waitReason: 'path: 421 later' };
      const { queueId } = await commitOne(store, { recipients: due(T0 + HOUR, path) });
      await commitOne(store, { recipients: due(T0 + HOUR, { waitReason: 'deferred' }) });
      const elsewhere = due(T0 + HOUR, { ...path, domain: 'other.example' });
      await commitOne(store, { recipients: elsewhere });
      const hurry = (deferred = false) => store.hurry({ queues: [{ queueId }], deferred, now: T0 });
      expect(await hurry()).toEqual({ hurried: 1, more: [] });
      expect(await hurry()).toEqual({ hurried: 0, more: [] });
      expect(await claim(store, queueId)).toHaveLength(1);
      expect(await store.dueQueues({ dueBefore: T0, limit: 10 })).toEqual([]);
      // The queue is that of the deferred recipient too.
      expect(await hurry(true)).toEqual({ hurried: 1, more: [] });
      expect(await claim(store, queueId)).toHaveLength(1);
    });
  });

  describe('hurrying many', () => {
    it('examines 500 rows of a queue at once, and goes on behind them', async () => {
      const rows = (waitReason: string, count: number, dueAt: number) =>
        Array.from({ length: count }, (_, n) => only(due(dueAt + n, { waitReason })));
      await commit(store, [message({ recipients: rows('deferred', 600, T0 + HOUR) })]);
      await commit(store, [message({ recipients: rows('path: 421 later', 500, T0 + 2 * HOUR) })]);
      const { queueId } = only(await store.dueQueues({ dueBefore: T0 + 3 * HOUR, limit: 10 }));
      let queues: readonly HurriedQueue[] = [{ queueId }];
      const found: number[] = [];
      while (queues.length > 0) {
        const { hurried, more } = await store.hurry({ queues, now: T0 });
        found.push(hurried);
        queues = more;
      }
      expect(found).toEqual([0, 400, 100]);
      expect(await claim(store, queueId, { limit: 1_000 })).toHaveLength(500);
    });
  });

  describe('giving leases back', () => {
    it('makes rows wait again with their reason and no attempt counted', async () => {
      const { queueId, id } = await commitOne(store);
      await claim(store, queueId);
      await store.release({ deliveryIds: [id], epoch: 1, dueAt: T0 + 9, waitReason: 'path blocked' });
      const view = only(await messagesOf(store, { limit: 1 }));
      expect(only(view.recipients)).toMatchObject({
        state: 'queued',
        attempts: 0,
        dueAt: T0 + 9,
        waitReason: 'path blocked',
      });
      expect(only(await claim(store, queueId, { now: T0 + 9 }))).toMatchObject({
        id,
        mayBeDuplicate: false,
      });
    });

    it('touches neither rows of another epoch nor rows that are settled', async () => {
      const a = await commitOne(store);
      const b = await commitOne(store);
      await claim(store, a.queueId);
      await store.settle({ now: T0, settlements: [delivered(b.id)] });
      await store.release({ deliveryIds: [a.id, 999_999], epoch: 2, dueAt: T0, waitReason: null });
      await store.release({ deliveryIds: [b.id], epoch: 1, dueAt: T0, waitReason: null });
      expect(await nextDueAt(store)).toBeNull();
    });
  });
}
