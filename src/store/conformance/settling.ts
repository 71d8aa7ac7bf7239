/** Conformance: settling a leased delivery, with its events, only while the lease is valid. */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import type { RecipientView } from '../topics/messages.ts';
import {
  claim,
  claimCalls,
  commitOne,
  createWebhook,
  delivered,
  event,
  everyEvent,
  kindsOf,
  messagesOf,
  newId,
  nextDueAt,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `settle`. */
export function describeSettling({ store }: Suite): void {
  describe('settling', () => {
    const leased = () => commitOne(store, { recipients: [recipient({ state: 'sending' })] });

    it('records a final outcome with its reply, route, attempt and event', async () => {
      const { id } = await leased();
      const outcome = delivered(id, 1, { category: 'ok' });
      expect(await store.settle({ now: T0 + 7, settlements: [outcome] })).toEqual(['settled']);
      expect(await onlyRecipient(store)).toMatchObject({
        state: 'delivered',
        attempts: 1,
        waitReason: null,
        lastCode: 250,
        lastReply: '250 2.0.0 Ok',
        lastCategory: 'ok',
        route: 'mx',
        updatedAt: T0 + 7,
      });
      expect(await kindsOf(store)).toEqual(['accepted', 'delivered']);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ queued: 0, sending: 0 });
    });

    it('takes every state that a leased row may end in', async () => {
      for (const state of ['delivered', 'bounced', 'failed', 'suppressed', 'canceled', 'rejected'] as const) {
        const { id } = await leased();
        const settlement = { ...delivered(id), state, countAttempt: false };
        expect(await store.settle({ now: T0, settlements: [settlement] })).toEqual(['settled']);
        const newest = only(await messagesOf(store, { limit: 1 }));
        expect(only(newest.recipients)).toMatchObject({ state, attempts: 0 });
      }
    });

    it('puts a deferred row back to wait and remembers its deferrals, and since when for the same reason', async () => {
      const { id, queueId } = await leased();
      const defer = (at: number, notify: boolean) => ({
        deliveryId: id,
        epoch: 1,
        state: 'queued' as const,
        dueAt: at + 60,
        waitReason: 'deferred',
        countAttempt: true,
        category: 'greylisted',
        lastReply: '451 later',
        lastCode: 451,
        events: [event('deferred', at, { notify })],
      });
      await store.settle({ now: T0, settlements: [defer(T0, true)] });
      expect(await onlyRecipient(store)).toMatchObject({
        state: 'queued',
        dueAt: T0 + 60,
        waitReason: 'deferred',
      });
      expect(await claim(store, queueId, { now: T0 + 59 })).toEqual([]);
      expect(only(await claim(store, queueId, { now: T0 + 60 }))).toMatchObject({
        attempts: 1,
        firstDeferredAt: T0,
        lastDeferredEventAt: T0,
        lastReply: '451 later',
        lastCategory: 'greylisted',
        mayBeDuplicate: false,
      });
      await store.settle({ now: T0 + 60, settlements: [defer(T0 + 60, false)] });
      expect(only(await claim(store, queueId, { now: T0 + 120 }))).toMatchObject({
        attempts: 2,
        firstDeferredAt: T0,
        lastDeferredEventAt: T0,
      });
      const full = { ...defer(T0 + 120, false), category: 'mailbox_full' };
      await store.settle({ now: T0 + 120, settlements: [full] });
      expect(only(await claim(store, queueId, { now: T0 + 180 }))).toMatchObject({
        attempts: 3,
        firstDeferredAt: T0 + 120,
        lastDeferredEventAt: T0,
      });
    });

    it('keeps what an outcome does not speak of', async () => {
      const { id, queueId } = await leased();
      const wait = { state: 'queued' as const, dueAt: T0, events: [] };
      await store.settle({ now: T0, settlements: [delivered(id, 1, { ...wait, mayBeDuplicate: true })] });
      await claim(store, queueId);
      await store.settle({
        now: T0,
        settlements: [{ deliveryId: id, epoch: 1, countAttempt: false, ...wait }],
      });
      const again = only(await claim(store, queueId));
      expect(again).toMatchObject({ mayBeDuplicate: true, attempts: 1, lastReply: '250 2.0.0 Ok' });
    });

    it('makes webhook calls for events, except those that are for the timeline only', async () => {
      await createWebhook(store, { events: ['delay'] });
      const { id } = await leased();
      const events = [
        event('deferred', T0, { notify: false }),
        event('deferred', T0 + 1),
        event('auto_reply'),
      ];
      await store.settle({ now: T0, settlements: [delivered(id, 1, { events })] });
      expect(only(await claimCalls(store)).event.id).toBe(events[1]?.id);
    });

    it('records an outcome whose lease is lost as one late_outcome, and changes nothing else', async () => {
      const { id } = await leased();
      const late = delivered(id, 9, { events: [event('delivered', T0 + 3), event('released')] });
      expect(await store.settle({ now: T0, settlements: [late] })).toEqual(['lease-lost']);
      expect(await onlyRecipient(store)).toMatchObject({ state: 'sending', attempts: 0 });
      const { events } = await store.findEvents(everyEvent({ kinds: ['late_outcome'] }));
      expect(only(events)).toMatchObject({ id: late.events[0]?.id, at: T0 + 3, deliveryId: id });
    });

    it('settles once: a second outcome for the same lease comes too late', async () => {
      const { id } = await leased();
      const twice = [delivered(id), delivered(id, 1, { state: 'bounced' })];
      expect(await store.settle({ now: T0, settlements: twice })).toEqual(['settled', 'lease-lost']);
      expect(await onlyRecipient(store)).toMatchObject({ state: 'delivered' });
    });

    it('settles nothing that never existed or was never leased, without harm to the rest', async () => {
      const queued = await commitOne(store);
      const { id } = await leased();
      const settlements = [delivered(999_999), delivered(queued.id), delivered(id)];
      expect(await store.settle({ now: T0, settlements })).toEqual(['lease-lost', 'lease-lost', 'settled']);
      expect(await nextDueAt(store)).toBe(T0);
    });

    it('settles many at once, each with its own result', async () => {
      const rows = await Promise.all(Array.from({ length: 200 }, leased));
      const results = await Promise.all(
        rows.map(({ id }, i) =>
          store.settle({ now: T0, settlements: [delivered(id, i % 10 === 0 ? 2 : 1)] }),
        ),
      );
      expect(results.flat().filter((result) => result === 'lease-lost')).toHaveLength(20);
      expect(await store.queueCounts({ now: T0 })).toMatchObject({ sending: 20 });
    });

    it('stores the capture of a sandbox copy with its outcome, and none when the lease is lost', async () => {
      const { id } = await leased();
      const capture = (captureId: string) => ({
        id: captureId,
        at: T0,
        envelopeFrom: 'bounce@example.com',
        inbox: 'all',
        prefix: new Uint8Array([68, 75]),
      });
      const first = newId();
      const settlements = [
        delivered(id, 1, { capture: capture(first) }),
        delivered(id, 1, { capture: capture(newId()) }),
      ];
      await store.settle({ now: T0, settlements });
      expect(only((await store.findCaptures({ limit: 10, look: 100 })).captures)).toMatchObject({
        id: first,
        envelopeTo: 'reader@example.net',
        prefix: new Uint8Array([68, 75]),
      });
    });
  });
}

async function onlyRecipient(store: Store): Promise<RecipientView> {
  return only(only(await messagesOf(store, { limit: 10 })).recipients);
}
