/** Conformance: scheduled mail: the accepted event at the first claim, rescheduling, searching by metadata, quotas. */
import { describe, expect, it } from 'vitest';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  event,
  everyEvent,
  HOUR,
  idempotency,
  kindsOf,
  message,
  messagesOf,
  newId,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

const CONTENT = new TextEncoder().encode('Date: Sat, 21 Nov 2026 11:44:00 +0000\r\nSubject: x\r\n\r\nx\r\n');
const NEW_DATE = 'Sun, 22 Nov 2026 01:02:03 +0000';

/** Tests of `reschedule`, of claims of scheduled rows, and of the metadata filter of `listMessages`. */
export function describeScheduling({ store, reopen }: Suite): void {
  const later = (more: Parameters<typeof recipient>[0] = {}) =>
    recipient({
      dueAt: T0 + HOUR,
      waitReason: 'scheduled',
      events: [event('scheduled', T0, { detail: { nextAttemptAt: T0 + HOUR } })],
      ...more,
    });
  const scheduled = (more: Parameters<typeof message>[0] = {}) =>
    message({
      sendAt: T0 + HOUR,
      expiresAt: T0 + 3 * HOUR,
      content: CONTENT,
      dateOffset: 6,
      recipients: [later()],
      ...more,
    });
  const move = (messageSeq: number, ids: readonly number[], now = T0 + 5, sendAt = T0 + 2 * HOUR) =>
    store.reschedule({
      messageSeq,
      now,
      sendAt,
      expiresAt: sendAt + HOUR,
      date: NEW_DATE,
      recipients: ids.map((deliveryId) => ({ deliveryId, event: event('scheduled', now) })),
    });
  const textOf = async (messageSeq: number) =>
    new TextDecoder().decode((await store.readContent({ messageSeq })) ?? new Uint8Array());

  describe('scheduled recipients', () => {
    it('are accepted with their first claim, under ids that count on, and never again', async () => {
      await createWebhook(store, { events: ['accept'] });
      const two = [later(), later({ address: 'b@example.net' })];
      const { deliveries } = only(await commit(store, [scheduled({ recipients: two })]));
      const queueId = deliveries[0]?.queueId ?? 0;
      expect(await claim(store, queueId)).toEqual([]);
      const eventId = '0199aaaa-0000-7000-8000-ffffffffffff';
      const now = T0 + HOUR;
      const claimed = await store.claimDue({ queueId, epoch: 1, now, limit: 10, maxBytes: 1e9, eventId });
      expect(claimed.map((row) => row.wasScheduled)).toEqual([true, true]);
      const { events } = await store.findEvents(everyEvent({ kinds: ['accepted'] }));
      expect(events.map(({ id, at }) => [id, at])).toEqual([
        [eventId, now],
        ['0199aaaa-0000-7000-8000-000000000000', now],
      ]);
      expect(await claimCalls(store)).toHaveLength(2);
      const ids = claimed.map((row) => row.id);
      await store.release({ deliveryIds: ids, epoch: 1, dueAt: now, waitReason: null });
      const again = await claim(store, queueId, { now });
      expect(again.map((row) => row.wasScheduled)).toEqual([undefined, undefined]);
      expect((await kindsOf(store)).filter((kind) => kind === 'accepted')).toHaveLength(2);
    });

    it('are accepted also where their time to go and their time to end came together', async () => {
      await commitOne(store, scheduled({ expiresAt: T0 + HOUR + 1 }));
      const now = T0 + 2 * HOUR;
      const rows = await store.claimExpired({ epoch: 1, now, limit: 10, eventId: newId() });
      expect(rows).toHaveLength(1);
      expect(await kindsOf(store)).toEqual(['scheduled', 'accepted']);
    });
  });

  describe('rescheduling', () => {
    it('moves what waits, its expiry, and the date in the content by the same number of octets', async () => {
      const sent = scheduled({
        recipients: [later(), later({ address: 'b@example.net' }), recipient({ state: 'suppressed' })],
      });
      const { seq, deliveries } = only(await commit(store, [sent]));
      const ids = deliveries.map((row) => row.id);
      expect(await move(seq, ids)).toEqual({ kind: 'rescheduled', changed: ids.slice(0, 2) });
      await reopen();
      const view = await store.getMessage({ id: sent.id });
      expect([view?.sendAt, view?.expiresAt]).toEqual([T0 + 2 * HOUR, T0 + 3 * HOUR]);
      expect(view?.recipients.map((row) => [row.state, row.dueAt, row.waitReason])).toEqual([
        ['queued', T0 + 2 * HOUR, 'scheduled'],
        ['queued', T0 + 2 * HOUR, 'scheduled'],
        ['suppressed', T0, null],
      ]);
      expect(await textOf(seq)).toBe(`Date: ${NEW_DATE}\r\nSubject: x\r\n\r\nx\r\n`);
      const queueId = deliveries[0]?.queueId ?? 0;
      expect(await claim(store, queueId, { now: T0 + HOUR })).toEqual([]);
      expect(await claim(store, queueId, { now: T0 + 2 * HOUR })).toHaveLength(2);
    });

    it('leaves a date that is not ours alone', async () => {
      const { seq, id } = await commitOne(store, scheduled({ dateOffset: null }));
      expect((await move(seq, [id])).kind).toBe('rescheduled');
      expect(await textOf(seq)).toBe(new TextDecoder().decode(CONTENT));
    });

    it('moves also what waits although its time has come, and what was claimed and given up for it', async () => {
      const due = await commitOne(store, scheduled());
      expect(await move(due.seq, [due.id], T0 + HOUR)).toMatchObject({ kind: 'rescheduled' });
      const { seq, id, queueId } = await commitOne(store, scheduled());
      await claim(store, queueId, { now: T0 + HOUR });
      const now = T0 + HOUR + 1;
      const sendAt = T0 + 2 * HOUR;
      const given = { messageSeq: seq, now, sendAt, expiresAt: sendAt + HOUR, date: NEW_DATE };
      const recipients = [{ deliveryId: id, event: event('scheduled', now), epoch: 1 }];
      expect(await store.reschedule({ ...given, recipients })).toEqual({
        ...{ kind: 'rescheduled', changed: [id] },
      });
      expect(await claim(store, queueId, { now })).toEqual([]);
      const claimed = await claim(store, queueId, { now: sendAt });
      expect(claimed.map((row) => row.id)).toEqual([due.id, id]);
      // Asked again because the answer was lost: it is the same, also where it was sent meanwhile.
      await store.settle({ now: sendAt, settlements: [delivered(id)] });
      expect(await store.reschedule({ ...given, recipients })).toEqual({
        ...{ kind: 'rescheduled', changed: [id] },
      });
      expect((await kindsOf(store)).filter((kind) => kind === 'scheduled')).toHaveLength(4);
    });

    it('changes nothing where it was claimed, or tried', async () => {
      const { seq, id, queueId } = await commitOne(store, scheduled());
      const now = T0 + HOUR + 1;
      await claim(store, queueId, { now });
      expect(await move(seq, [id], now)).toEqual({ kind: 'not-scheduled' });
      await store.settle({
        now,
        settlements: [
          delivered(id, 1, { state: 'queued', dueAt: now + HOUR, countAttempt: true, events: [] }),
        ],
      });
      expect(await move(seq, [id], now)).toEqual({ kind: 'not-scheduled' });
      expect(await textOf(seq)).toBe(new TextDecoder().decode(CONTENT));
      expect((await kindsOf(store)).filter((kind) => kind === 'scheduled')).toHaveLength(1);
    });

    it('changes nothing for mail that never was scheduled, or was canceled', async () => {
      const at = await commitOne(store);
      expect(await move(at.seq, [at.id])).toEqual({ kind: 'not-scheduled' });
      const { seq, id } = await commitOne(store, scheduled());
      await store.cancelQueued({
        messageSeq: seq,
        now: T0 + 1,
        recipients: [{ deliveryId: id, event: event('canceled') }],
      });
      expect(await move(seq, [id])).toEqual({ kind: 'not-scheduled' });
      expect(await textOf(seq)).toBe(new TextDecoder().decode(CONTENT));
      await expect(move(999_999, [id])).rejects.toThrow();
    });
  });

  describe('quotas', () => {
    const limits = { minute: null, hour: 3, day: 5 };
    const send = (count: number, now: number, domain = 'example.com', key?: string) =>
      store.commitAccepted({
        messages: [message({ domain })],
        epoch: 1,
        quotas: [{ domain, count, limits, now }],
        idempotency: key === undefined ? null : idempotency({ key, createdAt: now }),
      });
    const used = async (now: number, domain = 'example.com') =>
      (await store.quotaUses({ domains: [domain], now })).flat().map((use) => [use.period, use.used]);
    const usedByAll = async (domains: readonly string[], now: number) =>
      (await store.quotaUses({ domains, now })).map((uses) => uses.map((use) => use.used));
    const hour = Math.ceil(T0 / (24 * HOUR)) * 24 * HOUR;

    it('are charged with the messages or not at all, window by window, over a reopening', async () => {
      expect((await send(2, hour)).kind).toBe('committed');
      expect(await send(2, hour + 1, 'example.com', 'k')).toEqual({
        kind: 'quota-exceeded',
        domain: 'example.com',
        period: 'hour',
        max: 3,
        left: 1,
        resetAt: hour + HOUR,
      });
      expect(await messagesOf(store, { limit: 10 })).toHaveLength(1);
      expect((await send(1, hour + 2, 'example.com', 'k')).kind).toBe('committed');
      expect(await usedByAll(['none.example', 'example.com'], hour + 2)).toEqual([
        [0, 0, 0],
        [0, 3, 3],
      ]);
      await reopen();
      expect((await send(1, hour + HOUR - 1)).kind).toBe('quota-exceeded');
      expect((await send(2, hour + HOUR)).kind).toBe('committed');
      expect(await send(1, hour + 2 * HOUR)).toMatchObject({
        period: 'day',
        left: 0,
        resetAt: hour + 24 * HOUR,
      });
      expect(await used(hour + HOUR)).toEqual([
        ['minute', 0],
        ['hour', 2],
        ['day', 5],
      ]);
      expect((await send(3, hour + 2, 'other.example')).kind).toBe('committed');
      expect((await send(3, hour + 24 * HOUR)).kind).toBe('committed');
    });

    it('are exact where many arrive at once, of several domains, some of them for the second time', async () => {
      await send(1, hour, 'example.com', 'early');
      const asked = [
        ...['early', 'a', 'b', 'c', 'd'].map((key) => send(1, hour, 'example.com', key)),
        ...['a', 'b'].map((key) => send(1, hour, 'example.com', key)),
        ...['x', 'y', 'z', 'v', 'w'].map((key) => send(1, hour, 'other.example', key)),
        send(4, hour, 'third.example', 't'),
      ];
      const kinds = (await Promise.all(asked)).map(({ kind }) => kind);
      const count = (from: number, to: number, kind: string) =>
        kinds.slice(from, to).filter((one) => one === kind).length;
      expect(kinds[0]).toBe('replay');
      expect(count(1, 7, 'committed')).toBe(2);
      expect(count(7, 12, 'committed')).toBe(3);
      expect(count(7, 12, 'quota-exceeded')).toBe(2);
      expect(kinds[12]).toBe('quota-exceeded');
      expect(await usedByAll(['example.com', 'other.example', 'third.example'], hour)).toEqual([
        [0, 3, 3],
        [0, 3, 3],
        [0, 0, 0],
      ]);
      expect(await messagesOf(store, { limit: 20 })).toHaveLength(6);
    });

    it('go on in the latest window where the clock was set back, and forget nothing for a replay', async () => {
      expect((await send(3, hour + HOUR, 'example.com', 'k')).kind).toBe('committed');
      expect((await send(1, hour)).kind).toBe('quota-exceeded');
      expect((await send(3, hour + HOUR + 1, 'example.com', 'k')).kind).toBe('replay');
      expect(await used(hour + HOUR)).toContainEqual(['hour', 3]);
      expect(await used(hour, 'nobody.example')).toContainEqual(['day', 0]);
    });
  });

  describe('searching by metadata', () => {
    it('finds what holds every pair, exactly, newest first and page by page', async () => {
      const put = async (domain: string, metadata: Record<string, string>) =>
        (await commitOne(store, { domain, metadata })).seq;
      const own = JSON.parse('{"__proto__":"x","k":"v"}') as Record<string, string>;
      const a = await put('example.com', { order: '7', kind: 'receipt' });
      const b = await put('example.com', { order: '7' });
      const c = await put('other.example', { order: '7', kind: 'receipt' });
      const d = await put('example.com', own);
      await put('example.com', { order: '77', Kind: 'receipt' });
      await put('example.com', {});
      const find = async (pairs: [string, string][], more: object = {}) =>
        (await messagesOf(store, { metadata: pairs, limit: 10, ...more })).map((row) => row.seq);
      expect(await find([['order', '7']])).toEqual([c, b, a]);
      expect(await find([['order', '7']], { domains: ['example.com'] })).toEqual([b, a]);
      expect(await find([['order', '7']], { domains: ['example.com'], beforeSeq: b })).toEqual([a]);
      expect(await find([['order', '7']], { limit: 1 })).toEqual([c]);
      const both: [string, string][] = [
        ['order', '7'],
        ['kind', 'receipt'],
      ];
      expect(await find(both)).toEqual([c, a]);
      expect(await find(both, { domains: ['example.com'], tag: 'none' })).toEqual([]);
      expect(await find([['__proto__', 'x']])).toEqual([d]);
      expect(await find([['order', '']])).toEqual([]);
      expect(await find([['order', '7']], { domains: ['nobody.example'] })).toEqual([]);
    });
  });
}
