/**
 * What becomes of operations when the connection goes, before and after the server has done what it was asked; and while
 * the server is away.
 */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { systemClock } from '../../lib/clock.ts';
import type { EventKind } from '../../model/event.ts';
import {
  claim,
  commitOne,
  committed,
  delivered,
  event,
  idempotency,
  kindsOf,
  message,
  only,
  recipient,
} from '../conformance/fixtures.ts';
import { type Store, StoreUnavailable } from '../store.ts';
import { openPostgresStore } from './open.ts';
import { proxyTo, type TestProxy } from './test-proxy.ts';
import { describePostgres, type TestDatabase, testDatabase } from './test-support.ts';

const DATE = 'Sun, 22 Nov 2026 01:02:03 +0000';

describePostgres('a connection that goes', () => {
  let database: TestDatabase;
  let proxy: TestProxy;
  let store: Store;
  beforeAll(async () => {
    database = await testDatabase();
    proxy = await proxyTo(database.url);
  });
  beforeEach(async () => {
    await database.empty();
    const before = proxy.cuts();
    // Each loss is noticed late, as after a stop of the process.
    const monotonicMs = () => systemClock.monotonicMs() + 10_000 * (proxy.cuts() - before);
    store = await openPostgresStore({ url: proxy.url, clock: { ...systemClock, monotonicMs } });
    // Every lane has its connection, and every statement is prepared on it.
    const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
    await commitOne(store);
    await store.settle({ now: 1, settlements: [delivered(id)] });
    await database.link.exec('DELETE FROM event; DELETE FROM delivery; DELETE FROM message');
  });
  afterEach(() => store.close());
  afterAll(async () => {
    await proxy.close();
    await database.close();
  });

  const sending = () => message({ recipients: [recipient({ state: 'sending' })] });

  for (const what of ['question', 'answer'] as const) {
    it(`accepts a message once where the ${what} is lost, under its key`, async () => {
      const given = { messages: [sending()], epoch: 1, idempotency: idempotency() };
      proxy.loseNext(only(given.messages).lists.from.address, what);
      const cuts = proxy.cuts();
      const first = committed(await store.commitAccepted(given));
      expect(proxy.cuts()).toBe(cuts + 1);
      expect(await kindsOf(store)).toEqual(['accepted']);
      expect(only(first).deliveries).toHaveLength(1);
      expect(await store.readContent({ messageSeq: only(first).seq })).not.toBeNull();
    });

    it(`settles an outcome once where the ${what} is lost`, async () => {
      const { id } = await commitOne(store, sending());
      proxy.loseNext('250 2.0.0 Ok', what);
      expect(await store.settle({ now: 2, settlements: [delivered(id)] })).toEqual(['settled']);
      expect(await kindsOf(store)).toEqual(['accepted', 'delivered']);
    });

    it(`cancels, moves and queues again once where the ${what} is lost`, async () => {
      const params = ({ seq, id }: { seq: number; id: number }, kind: EventKind) => ({
        ...{ messageSeq: seq, now: 2, sendAt: 5, expiresAt: 9, date: DATE },
        recipients: [{ deliveryId: id, event: event(kind) }],
      });
      const waiting = await commitOne(store);
      proxy.loseNext('COMMIT', what);
      const canceled = await store.cancelQueued(params(waiting, 'canceled'));
      expect(canceled).toEqual({ changed: [waiting.id], tooLate: 0 });
      const later = await commitOne(store, { sendAt: 4 });
      proxy.loseNext('COMMIT', what);
      const moved = await store.reschedule(params(later, 'scheduled'));
      expect(moved).toEqual({ kind: 'rescheduled', changed: [later.id] });
      const failed = await commitOne(store, sending());
      await store.settle({ now: 2, settlements: [delivered(failed.id, 1, { state: 'failed', events: [] })] });
      proxy.loseNext('COMMIT', what);
      expect(await store.requeue(params(failed, 'requeued'))).toEqual({ kind: 'requeued', count: 1 });
      expect((await kindsOf(store)).sort()).toEqual([
        ...['accepted', 'accepted', 'accepted', 'canceled', 'requeued', 'scheduled'],
      ]);
    });

    it(`appends an event once where the ${what} is lost`, async () => {
      const { id } = await commitOne(store);
      const given = { ...event('opened'), domain: 'example.com', deliveryId: id };
      proxy.loseNext('event', what);
      await store.appendEvents({ events: [given] });
      expect(await kindsOf(store)).toEqual(['accepted', 'opened']);
    });
  }

  it('leases nothing more to an epoch from before where another server has taken over', async () => {
    const epoch = await store.beginEpoch({ nodeId: 'a', now: 1 });
    const { queueId } = await commitOne(store, {}, epoch);
    proxy.takeOver();
    proxy.loseNext('claim', 'question');
    await expect(claim(store, queueId, { epoch })).rejects.toThrow(StoreUnavailable);
    await expect.poll(() => store.writable()).toEqual({ ok: true });
    expect(await claim(store, queueId, { epoch })).toEqual([]);
    const accept = (messages = [sending()]) => store.commitAccepted({ messages, epoch, idempotency: null });
    expect(await accept()).toEqual({ kind: 'epoch-ended' });
    expect(await Promise.all([accept(), accept([message()])])).toMatchObject([
      { kind: 'epoch-ended' },
      { kind: 'committed' },
    ]);
    // As often as it is asked: the first try to begin another one may fail.
    for (const now of [2, 3]) expect(await store.heartbeat({ epoch, now })).toEqual({ kind: 'taken-over' });
    const next = await store.beginEpoch({ nodeId: 'a', now: 4 });
    expect(await store.heartbeat({ epoch: next, now: 5 })).toMatchObject({ kind: 'alive' });
    expect(await claim(store, queueId, { epoch: next })).toHaveLength(2);
  });

  it('says that it cannot work while the server is away, and goes on by itself', async () => {
    const { queueId } = await commitOne(store);
    proxy.shut();
    // The second one comes when every connection knows that it is over.
    for (const _ of [1, 2]) await expect(claim(store, queueId)).rejects.toThrow(StoreUnavailable);
    const params = { messages: [message()], epoch: 1, idempotency: null };
    await expect(store.commitAccepted(params)).rejects.toThrow(StoreUnavailable);
    expect(store.writable()).toMatchObject({ ok: false, reason: expect.stringContaining('database') });
    proxy.open();
    await expect.poll(() => store.writable()).toEqual({ ok: true });
    expect(await claim(store, queueId)).toHaveLength(1);
  });
});
