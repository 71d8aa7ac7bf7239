/** Conformance: canceling waiting recipients, and queueing failed ones again, each by its own row. */
import { describe, expect, it } from 'vitest';
import type { DeliveryState } from '../../model/delivery.ts';
import type { EventKind } from '../../model/event.ts';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  event,
  HOUR,
  kindsOf,
  message,
  messagesOf,
  newId,
  nextDueAt,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `cancelQueued` and `requeue`. */
export function describeCancelRetry({ store }: Suite): void {
  const asked = (kind: EventKind, ...ids: number[]) =>
    ids.map((deliveryId) => ({ deliveryId, event: event(kind, T0 + 5) }));
  const settleAs = (deliveryId: number, state: DeliveryState, more: object = {}) =>
    store.settle({
      now: T0 + 1,
      settlements: [delivered(deliveryId, 1, { state, events: [], ...more })],
    });
  const cancel = (messageSeq: number, ...ids: number[]) =>
    store.cancelQueued({ messageSeq, now: T0 + 5, recipients: asked('canceled', ...ids) });
  const requeue = (messageSeq: number, ...ids: number[]) =>
    store.requeue({
      messageSeq,
      now: T0 + 5,
      expiresAt: T0 + 3 * HOUR,
      recipients: asked('requeued', ...ids),
    });
  const rowsOf = async (seq: number) => {
    const found = await messagesOf(store, { limit: 100 });
    return found.find((one) => one.seq === seq)?.recipients ?? [];
  };

  describe('canceling', () => {
    it('stops queued and held recipients, once, with an event and its webhook call', async () => {
      await createWebhook(store, { events: ['cancel'] });
      const { seq, deliveries } = only(
        await commit(store, [
          message({
            recipients: [
              recipient({ waitReason: 'held: not verified' }),
              recipient({ address: 'b@example.net', dueAt: T0 + HOUR }),
            ],
          }),
        ]),
      );
      const ids = deliveries.map((row) => row.id);
      expect(await cancel(seq, ...ids)).toEqual({ changed: ids, tooLate: 0 });
      expect(await cancel(seq, ...ids)).toEqual({ changed: [], tooLate: 0 });
      expect((await rowsOf(seq)).map((row) => [row.state, row.waitReason, row.updatedAt])).toEqual([
        ['canceled', null, T0 + 5],
        ['canceled', null, T0 + 5],
      ]);
      expect(await kindsOf(store)).toEqual(['accepted', 'accepted', 'canceled', 'canceled']);
      expect(await claimCalls(store)).toHaveLength(2);
      expect(await nextDueAt(store)).toBeNull();
      expect(await store.claimExpired({ eventId: newId(), epoch: 1, now: T0 + 9 * HOUR, limit: 10 })).toEqual(
        [],
      );
    });

    it('comes too late for what is being sent or was delivered, and keeps the lease', async () => {
      const { seq, deliveries } = only(
        await commit(store, [
          message({ recipients: [recipient({ state: 'sending' }), recipient({ state: 'sending' })] }),
        ]),
      );
      const [first = 0, second = 0] = deliveries.map((row) => row.id);
      await settleAs(first, 'delivered');
      expect(await cancel(seq, first, second)).toEqual({ changed: [], tooLate: 2 });
      expect(await store.settle({ now: T0 + 6, settlements: [delivered(second)] })).toEqual(['settled']);
    });

    it('stops what is leased where its holder gave it up, under that epoch alone', async () => {
      const { seq, id, queueId } = await commitOne(store);
      await claim(store, queueId);
      const under = (epoch: number) =>
        store.cancelQueued({
          messageSeq: seq,
          now: T0 + 5,
          recipients: [{ deliveryId: id, event: event('canceled', T0 + 5), epoch }],
        });
      expect(await under(2)).toEqual({ changed: [], tooLate: 1 });
      expect(await under(1)).toEqual({ changed: [id], tooLate: 0 });
      // A later outcome finds no lease.
      expect(await settleAs(id, 'delivered')).toEqual(['lease-lost']);
    });

    it('either cancels or is too late where a claim comes at the same time', async () => {
      for (let i = 0; i < 10; i++) {
        const { seq, id, queueId } = await commitOne(store);
        const [canceled, claimed] = await Promise.all([cancel(seq, id), claim(store, queueId)]);
        expect(canceled.changed.length + claimed.length).toBe(1);
      }
    });

    it('touches no recipient of another message', async () => {
      const mine = await commitOne(store);
      const other = await commitOne(store);
      expect(await cancel(mine.seq, other.id)).toEqual({ changed: [], tooLate: 0 });
      expect(only(await rowsOf(other.seq)).state).toBe('queued');
    });
  });

  describe('queueing again', () => {
    it.each(['failed', 'bounced'] as const)(
      'makes a %s recipient due now, with a new expiry',
      async (state) => {
        const { seq, id, queueId } = await commitOne(store, {
          recipients: [recipient({ state: 'sending' })],
        });
        await settleAs(id, state);
        expect(await requeue(seq, id)).toEqual({ kind: 'requeued', count: 1 });
        expect(await requeue(seq, id)).toEqual({ kind: 'requeued', count: 1 });
        expect(only(await rowsOf(seq))).toMatchObject({
          state: 'queued',
          dueAt: T0 + 5,
          expiresAt: T0 + 3 * HOUR,
          attempts: 1,
          waitReason: null,
        });
        const row = only(await claim(store, queueId, { now: T0 + 2 * HOUR }));
        expect([row.id, row.expiresAt, row.attempts]).toEqual([id, T0 + 3 * HOUR, 1]);
      },
    );

    it('brings a deferred recipient forward', async () => {
      const { seq, id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      await settleAs(id, 'queued', { dueAt: T0 + HOUR, waitReason: 'deferred' });
      expect(await requeue(seq, id)).toEqual({ kind: 'requeued', count: 1 });
      expect(await nextDueAt(store)).toBe(T0 + 5);
      expect(await kindsOf(store)).toEqual(['accepted', 'requeued']);
    });

    it('leaves everything else as it is', async () => {
      const states = ['delivered', 'suppressed', 'canceled', 'rejected'] as const;
      for (const state of states) {
        const { seq, id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
        await settleAs(id, state);
        expect(await requeue(seq, id)).toEqual({ kind: 'requeued', count: 0 });
      }
      const sending = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      expect(await requeue(sending.seq, sending.id)).toEqual({ kind: 'requeued', count: 0 });
      const fresh = await commitOne(store);
      expect(await requeue(fresh.seq, fresh.id)).toEqual({ kind: 'requeued', count: 0 });
      const held = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      await settleAs(held.id, 'queued', { dueAt: T0 + HOUR, waitReason: 'held: the domain is not verified' });
      expect(await requeue(held.seq, held.id)).toEqual({ kind: 'requeued', count: 1 });
    });

    it('never shortens the time that is left', async () => {
      const { seq, id } = await commitOne(store, {
        expiresAt: T0 + 9 * HOUR,
        recipients: [recipient({ state: 'sending' })],
      });
      await settleAs(id, 'failed');
      await requeue(seq, id);
      expect(only(await rowsOf(seq)).expiresAt).toBe(T0 + 9 * HOUR);
    });
  });
}
