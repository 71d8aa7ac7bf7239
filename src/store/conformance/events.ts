/** Conformance: the event log: appending facts, and finding them by every filter, in order, page by page. */
import { describe, expect, it } from 'vitest';
import type { EventDetail, EventPlace } from '../topics/events.ts';
import {
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  event,
  everyEvent,
  HOUR,
  kindsOf,
  message,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `appendEvents` and `findEvents`. */
export function describeEvents({ store }: Suite): void {
  describe('appending events', () => {
    it('know the newest of all, whomever it is about', async () => {
      expect(await store.lastEventSeq()).toBe(0);
      await commitOne(store);
      await commitOne(store, { domain: 'example.org' });
      const { events } = await store.findEvents(everyEvent({ afterSeq: 0 }));
      expect(await store.lastEventSeq()).toBe(events.at(-1)?.seq);
    });

    it('attaches a fact to its delivery and message', async () => {
      const { id } = await commitOne(store);
      const opened = event('opened', T0 + 5, { detail: { ipAddress: '192.0.2.1', bot: true } });
      await store.appendEvents({ events: [{ ...opened, domain: 'example.com', deliveryId: id }] });
      const found = only((await store.findEvents(everyEvent({ kinds: ['opened'] }))).events);
      expect(found).toMatchObject({
        id: opened.id,
        at: T0 + 5,
        domain: 'example.com',
        deliveryId: id,
        recipient: 'reader@example.net',
        detail: { ipAddress: '192.0.2.1', bot: true },
      });
      expect(found.message?.subject).toBe('Hello');
    });

    it('stores no half of a character, where a text was cut within one', async () => {
      const detail = { reply: '550 no \ud83d', bounce: { Diagnostic: '\udcec \\ud83d 📬' } } as object;
      const cut = { ...event('domain.failing', T0, { detail }), domain: 'example.org', deliveryId: null };
      await store.appendEvents({ events: [cut] });
      expect(only((await store.findEvents(everyEvent())).events).detail).toEqual({
        reply: '550 no \ufffd',
        bounce: { Diagnostic: '\ufffd \\ud83d 📬' },
      });
    });

    it('takes facts about a domain, which concern no message', async () => {
      await store.appendEvents({
        events: [{ ...event('domain.failing'), domain: 'example.org', deliveryId: null }],
      });
      const found = only((await store.findEvents(everyEvent())).events);
      expect(found).toMatchObject({
        domain: 'example.org',
        message: null,
        recipient: null,
        deliveryId: null,
      });
    });

    it('makes calls for the webhooks that listen, of that domain only', async () => {
      await createWebhook(store, { events: ['open'] });
      await createWebhook(store, { events: ['click'] });
      await createWebhook(store, { events: ['all'], domain: 'example.org' });
      const all = await createWebhook(store, { events: ['all'] });
      const { id } = await commitOne(store, { recipients: [recipient({ events: [] })] });
      const events = [event('opened'), event('auto_reply'), event('complained', T0, { notify: false })];
      await store.appendEvents({
        events: events.map((one) => ({ ...one, domain: 'example.com', deliveryId: id })),
      });
      const calls = await claimCalls(store);
      expect(calls.map((call) => call.event.kind)).toEqual(['opened', 'opened']);
      expect(calls.map((call) => call.webhook.id)).toContain(all);
    });
  });

  describe('finding events', () => {
    it('shows an event with its message', async () => {
      const sent = message({
        tags: ['a', 'b'],
        metadata: { order: '7' },
        sandbox: true,
        recipients: [recipient({ events: [event('accepted', T0, { detail: { route: 'relay' } })] })],
      });
      await commit(store, [sent]);
      const { events } = await store.findEvents(everyEvent());
      expect(only(events)).toMatchObject({
        kind: 'accepted',
        route: 'relay',
        message: {
          id: sent.id,
          lists: sent.lists,
          subject: 'Hello',
          size: sent.content.length,
          tags: ['a', 'b'],
          metadata: { order: '7' },
          sandbox: true,
        },
      });
    });

    it('orders by time and then by arrival, either way', async () => {
      const at = [5, 1, 5, 3];
      const kinds = ['opened', 'clicked', 'complained', 'unsubscribed'] as const;
      await store.appendEvents({
        events: kinds.map((kind, i) => ({
          ...event(kind, T0 + (at[i] ?? 0)),
          domain: 'example.com',
          deliveryId: null,
        })),
      });
      const oldest = ['clicked', 'unsubscribed', 'opened', 'complained'];
      expect(await kindsOf(store)).toEqual(oldest);
      expect(await kindsOf(store, { newestFirst: true })).toEqual([...oldest].reverse());
      expect(await kindsOf(store, { domains: ['example.com'] })).toEqual(oldest);
    });

    it('goes by arrival after a given event, so that a reader misses none', async () => {
      for (const [kind, at] of [
        ['opened', 5],
        ['clicked', 1],
        ['complained', 3],
      ] as const) {
        await store.appendEvents({
          events: [{ ...event(kind, T0 + at), domain: 'a.example', deliveryId: null }],
        });
      }
      const all = await store.findEvents(everyEvent({ afterSeq: 0 }));
      expect(all.events.map((one) => one.kind)).toEqual(['opened', 'clicked', 'complained']);
      const first = all.events[0]?.seq ?? 0;
      expect(await kindsOf(store, { afterSeq: first })).toEqual(['clicked', 'complained']);
      expect(await kindsOf(store, { afterSeq: first, limit: 1 })).toEqual(['clicked']);
      expect(await kindsOf(store, { afterSeq: first, domains: ['b.example'] })).toEqual([]);
    });

    it('filters by domain: none of none, all of undefined', async () => {
      await commitOne(store);
      await commitOne(store, { domain: 'example.org' });
      const count = async (domains?: string[]) =>
        (await kindsOf(store, domains === undefined ? {} : { domains })).length;
      expect(await count()).toBe(2);
      expect(await count(['example.org'])).toBe(1);
      expect(await count(['example.org', 'example.com', 'example.org'])).toBe(2);
      expect(await count(['unknown.example'])).toBe(0);
      expect(await count([])).toBe(0);
    });

    it('filters by kind, time, message, recipient and tag, alone and together', async () => {
      const a = message({ tags: ['news'], recipients: [recipient({ address: 'a@example.net' })] });
      const b = message({
        tags: ['receipt'],
        recipients: [
          recipient({
            address: 'b@example.net',
            events: [event('accepted', T0 + 10), event('deferred', T0 + 20)],
          }),
        ],
      });
      await commit(store, [a, b]);
      expect(await kindsOf(store, { kinds: ['deferred'] })).toEqual(['deferred']);
      expect(await kindsOf(store, { kinds: [] })).toEqual([]);
      expect(await kindsOf(store, { since: T0 + 10 })).toEqual(['accepted', 'deferred']);
      expect(await kindsOf(store, { until: T0 + 10 })).toEqual(['accepted']);
      expect(await kindsOf(store, { since: T0 + 10, until: T0 + 20 })).toEqual(['accepted']);
      expect(await kindsOf(store, { messageId: b.id })).toEqual(['accepted', 'deferred']);
      expect(await kindsOf(store, { messageId: b.id, newestFirst: true })).toEqual(['deferred', 'accepted']);
      expect(await kindsOf(store, { messageId: b.id, kinds: ['deferred'] })).toEqual(['deferred']);
      expect(await kindsOf(store, { messageId: b.id, domains: ['example.org'] })).toEqual([]);
      expect(await kindsOf(store, { messageId: 'no such message' })).toEqual([]);
      expect(await kindsOf(store, { recipient: 'a@example.net' })).toEqual(['accepted']);
      expect(await kindsOf(store, { recipient: 'nobody@example.net' })).toEqual([]);
      expect(await kindsOf(store, { tag: 'receipt' })).toEqual(['accepted', 'deferred']);
      expect(await kindsOf(store, { tag: 'receipt', recipient: 'b@example.net', since: T0 + 15 })).toEqual([
        'deferred',
      ]);
      expect(await kindsOf(store, { tag: 'rec' })).toEqual([]);
    });

    it('finds the deliveries that may have been repeated, in any order and with other filters', async () => {
      const subject = { domain: 'example.com', deliveryId: null };
      const of = (detail: EventDetail | null) => ({ ...event('delivered', T0), ...subject, detail });
      const marked = of({ attempt: 2, possibleDuplicate: true, reply: '250 Ok' });
      const others = [
        of(null),
        of({ possibleDuplicate: false }),
        // A reply that quotes the mark is only text.
        of({ reply: '250 "possibleDuplicate":true' }),
      ];
      await store.appendEvents({ events: [...others, marked] });
      const filters = [{}, { kinds: ['delivered'] as const }, { afterSeq: 0 }, { newestFirst: true }];
      for (const filter of filters) {
        const found = await store.findEvents(everyEvent({ ...filter, possibleDuplicate: true }));
        expect(found.events.map(({ id }) => id)).toEqual([marked.id]);
      }
      expect(await kindsOf(store, { possibleDuplicate: true, kinds: ['bounced'] })).toEqual([]);
    });

    it('pages without gaps or repeats and counts up to the bound', async () => {
      const kinds = ['opened', 'clicked', 'complained'] as const;
      const events = Array.from({ length: 50 }, (_, i) => ({
        ...event(kinds[i % 3] ?? 'opened', T0 + Math.floor(i / 4)),
        domain: i % 2 === 0 ? 'example.com' : 'example.org',
        deliveryId: null,
      }));
      await store.appendEvents({ events });
      for (const newestFirst of [false, true]) {
        const seen: string[] = [];
        let from: EventPlace | null | undefined;
        while (from !== null) {
          const place: { from?: EventPlace } = from === undefined ? {} : { from };
          const page = await store.findEvents(everyEvent({ newestFirst, limit: 7, ...place }));
          seen.push(...page.events.map((one) => one.id));
          from = page.next;
        }
        const ids = events.map((one) => one.id);
        expect(seen).toEqual(newestFirst ? ids.reverse() : ids);
      }
      const count = (upTo: number) => store.countEvents({ newestFirst: true, look: 1000, upTo });
      expect(await count(10_000)).toEqual({ count: 50, next: null });
      const some = await count(20);
      expect(some.count).toBe(20);
      const rest = { newestFirst: true, look: 1000, upTo: 1000, from: some.next ?? { at: 0, seq: 0 } };
      expect(await store.countEvents(rest)).toEqual({ count: 30, next: null });
      expect((await store.findEvents(everyEvent({ limit: 0 }))).events).toEqual([]);
    });

    it('looks at so many at a time, whether they match or not, and goes on', async () => {
      const wanted = { tags: ['wanted'], recipients: [recipient({ address: 'w@example.net' })] };
      await commitOne(store, wanted);
      for (let n = 0; n < 5; n += 1) await commitOne(store);
      const { id } = only((await store.findEvents(everyEvent({ tag: 'wanted' }))).events);
      const questions = [
        { tag: 'wanted' },
        { recipient: 'w@example.net', domains: ['example.com'] },
        { tag: 'wanted', kinds: ['accepted'] as const },
      ];
      for (const question of questions) {
        for (const more of [{ newestFirst: true }, { newestFirst: false, afterSeq: 0 }]) {
          const found: string[] = [];
          let counted = 0;
          let looks = 0;
          let from: EventPlace | null | undefined;
          while (from !== null) {
            const place: { from?: EventPlace } = from === undefined ? {} : { from };
            const asked = { ...question, ...more, ...place, look: 2 };
            const page = await store.findEvents({ ...asked, limit: 10 });
            const { count, next } = await store.countEvents({ ...asked, upTo: 10 });
            expect(next).toEqual(page.next);
            found.push(...page.events.map((one) => one.id));
            counted += count;
            looks += 1;
            from = next;
          }
          expect([found, counted]).toEqual([[id], 1]);
          // An engine may know which messages are to a recipient.
          if (question.recipient === undefined) expect(looks).toBeGreaterThanOrEqual(3);
        }
      }
    });

    it('merges the ranges of very many domains', async () => {
      const events = Array.from({ length: 30 }, (_, i) => ({
        ...event('opened', T0 + ((i * 7) % 30)),
        domain: `d${i}.example`,
        deliveryId: null,
      }));
      await store.appendEvents({ events });
      const { events: found } = await store.findEvents(everyEvent({ newestFirst: true, limit: 10 }));
      expect(found.map((one) => one.at - T0)).toEqual([29, 28, 27, 26, 25, 24, 23, 22, 21, 20]);
      const from = { at: T0 + 4, seq: 0 };
      const { events: later } = await store.findEvents(everyEvent({ newestFirst: true, from, limit: 10 }));
      expect(later.map((one) => one.at - T0)).toEqual([3, 2, 1, 0]);
    });

    it('finds events that were stored long after their time, also in very many domains', async () => {
      const at = (ms: number) => (_: unknown, i: number) => ({
        ...event('opened', T0 + ms),
        domain: `d${i}.example`,
        deliveryId: null,
      });
      const later = Array.from({ length: 150 }, at(24 * HOUR));
      await store.appendEvents({ events: [at(0)(null, 0), ...later, at(1)(null, 1)] });
      const range = { since: T0, until: T0 + HOUR, look: 1_000, limit: 100 };
      for (const order of [
        { newestFirst: true },
        { newestFirst: false },
        { newestFirst: false, afterSeq: 0 },
      ]) {
        const { events } = await store.findEvents({ ...range, ...order });
        expect(events.map((one) => one.at - T0).sort()).toEqual([0, 1]);
      }
    });
  });
}
