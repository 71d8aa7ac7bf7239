/** Conformance: a person's address is masked everywhere, and stays suppressed. */
import { describe, expect, it } from 'vitest';
import { KEPT_TEXTS } from '../shared/rows/messages.ts';
import type { LooseEventPlace } from '../topics/erasing.ts';
import type { ReturnFact } from '../topics/returns.ts';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  eraseElsewhere,
  event,
  everyEvent,
  HOUR,
  idempotency,
  keptSamples,
  message,
  messagesOf,
  only,
  recipient,
  type Suite,
  signal,
  suppressionsOf,
  T0,
} from './fixtures.ts';

const PERSON = 'Ann.Reader@example.net';

/** Tests of `findMentions`, `eraseMessages`, `eraseElsewhere`, `eraseLooseEvents`, `scrub`. */
export function describeErasing({ store }: Suite): void {
  describe('erasing', () => {
    const to = (...addresses: string[]) => ({
      lists: {
        from: { name: '', address: 'sender@example.com' },
        to: addresses.map((address) => ({ name: 'Somebody', address })),
        cc: [],
        bcc: [],
        replyTo: [],
      },
      recipients: addresses.map((address) => recipient({ address, state: 'sending' })),
    });
    async function send(...addresses: string[]) {
      const { seq, deliveries } = only(await commit(store, [message(to(...addresses))]));
      return { seq, ids: deliveries.map((row) => row.id) };
    }
    const find = () => store.findMentions({ address: PERSON.toLowerCase(), afterSeq: 0, limit: 100 });
    const erase = (seqs: readonly number[]) => store.eraseMessages({ address: PERSON, seqs });
    const everything = async () =>
      JSON.stringify([
        await messagesOf(store, { limit: 100 }),
        (await store.findEvents(everyEvent())).events,
        await suppressionsOf(store, { now: T0, limit: 100 }),
      ]).toLowerCase();

    it('masks the person in messages, recipients and events, and nobody whose address only ends alike', async () => {
      const own = await send(PERSON, 'other@example.net');
      const alike = await send(`jo${PERSON}`);
      const said = delivered(own.ids[0] ?? 0, 1, {
        lastReply: `250 <${PERSON.toUpperCase()}> ok`,
        events: [event('delivered', T0, { detail: { reason: `"${PERSON}" took it` } })],
      });
      await store.settle({ now: T0, settlements: [said, delivered(own.ids[1] ?? 0)] });
      await store.settle({ now: T0, settlements: [delivered(alike.ids[0] ?? 0)] });
      const found = await find();
      expect(found).toEqual({ seqs: [own.seq, alike.seq], waiting: [], nextSeq: null, lastSeq: alike.seq });
      expect(await erase(found.seqs)).toMatchObject({ messages: 1, events: 1, pending: 0, done: 2 });
      expect(await store.readContent({ messageSeq: own.seq })).toBeNull();
      expect(await store.readContent({ messageSeq: alike.seq })).not.toBeNull();
      const left = await everything();
      expect(left.replaceAll(`jo${PERSON}`.toLowerCase(), '')).not.toContain(PERSON.toLowerCase());
      expect(left).toContain('other@example.net');
      expect(await erase(found.seqs)).toMatchObject({ messages: 0, events: 0, pending: 0 });
    });

    it('sends nothing again to a recipient who was erased while another still waits', async () => {
      const { seq, ids } = await send(PERSON, 'other@example.net');
      const [deliveryId = 0] = ids;
      await store.settle({ now: T0, settlements: [delivered(deliveryId, 1, { state: 'bounced' })] });
      expect(await erase([seq])).toMatchObject({ messages: 1, pending: 1 });
      const recipients = [{ deliveryId, event: event('requeued') }];
      const again = { messageSeq: seq, now: T0, expiresAt: T0 + HOUR, recipients };
      expect(await store.requeue(again)).toEqual({ kind: 'requeued', count: 0 });
    });

    it('takes nothing more of a recipient who was erased, and of the others as before', async () => {
      const { seq, ids } = await send(PERSON, 'other@example.net');
      const [erased = 0, other = 0] = ids;
      await store.settle({ now: T0, settlements: ids.map((id) => delivered(id)) });
      expect(await erase([seq])).toMatchObject({ messages: 1, pending: 0 });
      const before = await everything();
      const returned = (deliveryId: number): ReturnFact[] => [
        {
          ...{ kind: 'bounce', deliveryId, class: 'recipient_invalid', lastReply: PERSON, lastCode: 550 },
          ...{ event: event('bounced'), note: event('return_noted'), suppress: signal() },
          ...{ shared: false, mayWait: true },
        },
        { kind: 'note', deliveryId, class: 'auto_reply', event: event('return_noted') },
        { kind: 'complaint', deliveryId, event: event('complained'), suppress: signal() },
      ];
      for (const fact of returned(erased))
        expect(await store.recordReturn({ fact, now: T0 })).toBe('nothing');
      const wish = (deliveryId: number) =>
        store.unsubscribe({ deliveryId, event: event('unsubscribed'), rule: 'one-click', now: T0 });
      expect(await wish(erased)).toEqual({ kind: 'unknown' });
      expect(await store.knowsOptOut({ deliveryId: erased })).toBe(false);
      const read = (deliveryId: number) =>
        store.appendReaderFacts({ facts: [{ ...event('opened'), deliveryId }], quickMs: 0 });
      expect(await read(erased)).toBe(0);
      expect(await store.returnSubjects({ deliveryId: erased })).toEqual([]);
      // Of a message it is still known how many it went to.
      expect(await store.returnSubjects({ messageSeq: seq })).toHaveLength(2);
      expect(await everything()).toBe(before);
      expect(await read(other)).toBe(1);
      expect(await wish(other)).toMatchObject({ kind: 'unsubscribed' });
      for (const fact of returned(other))
        expect(await store.recordReturn({ fact, now: T0 })).toBe('recorded');
    });

    it.each(KEPT_TEXTS)('masks the person in $member of a message to others', async ({ member }) => {
      const { seq } = await commitOne(store, {
        ...to('other@example.net'),
        [member]: keptSamples(`Dear ${PERSON}`)[member],
      });
      expect((await find()).seqs).toEqual([seq]);
      expect(await erase([seq])).toMatchObject({ messages: 1, done: 1 });
      expect(await everything()).not.toContain(PERSON.toLowerCase());
      expect((await find()).seqs).toEqual([]);
    });

    it('masks the person behind a line break or a tab, which JSON writes with a letter', async () => {
      const { seq } = await commitOne(store, {
        ...to('other@example.net'),
        metadata: { [`to\t${PERSON}`]: `one\n${PERSON}\u0001${PERSON}`, path: `C:\\n${PERSON}` },
      });
      expect(await erase([seq])).toMatchObject({ messages: 1 });
      expect(only(await messagesOf(store, { limit: 1 })).metadata).toEqual({
        'to\terased@erased.invalid': 'one\nerased@erased.invalid\u0001erased@erased.invalid',
        path: `C:\\n${PERSON}`,
      });
    });

    it('masks the person in a URL', async () => {
      const encoded = encodeURIComponent(PERSON);
      const { seq } = await commitOne(store, {
        ...to(PERSON),
        metadata: {
          page: `https://x.example/?a=${encoded}&b=%3C${encoded}%3E&c=jo${encoded}&d=x%2B${encoded}`,
        },
      });
      expect(await erase([seq])).toMatchObject({ messages: 1 });
      const masked = 'erased@erased.invalid';
      expect(only(await messagesOf(store, { limit: 1 })).metadata).toEqual({
        page: `https://x.example/?a=${masked}&b=%3C${masked}%3E&c=jo${encoded}&d=x%2B${encoded}`,
      });
    });

    it('goes through very many events in portions, wherever the person stands in them', async () => {
      const own = await send('other@example.net');
      const [deliveryId = 0] = own.ids;
      await store.settle({ now: T0, settlements: [delivered(deliveryId)] });
      for (let n = 0; n < 12; n += 1) {
        const facts = Array.from({ length: 100 }, (_, i) => {
          const reason = i === 99 ? `read by ${PERSON}` : 'read';
          return { ...event('opened', T0, { detail: { reason } }), deliveryId };
        });
        await store.appendReaderFacts({ facts, quickMs: 0 });
      }
      const found = await find();
      expect(found.seqs).toEqual([own.seq]);
      let masked = 0;
      let portions = 0;
      for (let done = 0, afterEvent: number | null = null; done === 0; portions += 1) {
        const step = await store.eraseMessages({
          address: PERSON,
          seqs: [own.seq],
          ...(afterEvent === null ? {} : { afterEvent }),
        });
        masked += step.events;
        ({ done, afterEvent } = step);
      }
      expect(masked).toBe(12);
      expect(portions).toBeGreaterThan(2);
      const { events } = await store.findEvents(everyEvent({ limit: 2000 }));
      expect(events).toHaveLength(1202);
      expect(JSON.stringify(events).toLowerCase()).not.toContain(PERSON.toLowerCase());
    });

    it('names what may wait, and leaves what is under way until it is final', async () => {
      const own = await send(PERSON, 'other@example.net');
      const queued = only(
        await commit(store, [message({ ...to(PERSON), recipients: [recipient({ address: PERSON })] })]),
      );
      // A leased row may be waiting too: the node that has it knows.
      expect((await find()).waiting.map(({ messageSeq }) => messageSeq)).toEqual([own.seq, queued.seq]);
      expect(await erase([own.seq])).toMatchObject({ pending: 1 });
      expect(await store.readContent({ messageSeq: own.seq })).not.toBeNull();
      await store.settle({ now: T0, settlements: own.ids.map((id) => delivered(id)) });
      expect(await store.readContent({ messageSeq: own.seq })).toBeNull();
      expect(await erase([own.seq])).toMatchObject({ messages: 1, pending: 0 });
    });

    it('keeps stopping mail to the person, without saying whom, until that is lifted', async () => {
      await store.addSuppressions({
        domain: 'example.com',
        now: T0,
        entries: [
          { address: PERSON, reason: 'Manual', note: `asked by ${PERSON}`, expiresAt: null, source: null },
        ],
      });
      expect(
        await eraseElsewhere(store, { address: PERSON, proposedKey: new Uint8Array(32).fill(5) }),
      ).toEqual({ suppressions: 1 });
      expect(await everything()).not.toContain(PERSON.toLowerCase());
      const among = (address: string) =>
        store.suppressedAmong({ domain: 'example.com', addresses: [address], now: T0 });
      expect(await among(PERSON.toUpperCase())).toHaveLength(1);
      expect(await among('other@example.net')).toEqual([]);
      const waits = only(await commit(store, [message({ recipients: [recipient({ address: PERSON })] })]));
      const claimed = await claim(store, only(waits.deliveries).queueId);
      expect(only(claimed).suppressedFor).toEqual(['Manual']);
      expect(
        await eraseElsewhere(store, { address: PERSON, proposedKey: new Uint8Array(32).fill(5) }),
      ).toMatchObject({ suppressions: 0 });
      expect(await store.removeSuppressions({ domain: 'example.com', address: PERSON, now: T0 })).toBe(1);
      expect(await among(PERSON)).toEqual([]);
    });

    it('masks what is kept beside messages: what far ends said of a cause, and answers kept for a key', async () => {
      const own = await send(PERSON);
      const reply = `550 5.7.1 <${PERSON}>: Relay access denied`;
      const cause = {
        category: 'relay_denied',
        scope: 'domain',
        site: 'example.net',
        senderDomain: '',
      } as const;
      const failed = delivered(own.ids[0] ?? 0, 1, {
        state: 'bounced',
        cause: { ...cause, shape: '550 5.7.1 <address> relay access denied', reply },
      });
      await store.settle({ now: T0, settlements: [failed] });
      const kept = idempotency({
        body: JSON.stringify({ Results: [{ Errors: [`${PERSON} is on the list`, 'and so on'] }] }),
      });
      await store.addSuppressions({ domain: 'example.com', now: T0, entries: [], idempotency: kept });
      await erase([own.seq]);
      await eraseElsewhere(store, { address: PERSON, proposedKey: new Uint8Array(32).fill(5) });
      const { owner, operation, key } = kept;
      const answer = await store.findIdempotent({ owner, operation, key, expiresBefore: 0 });
      const causes = await store.listCauses({ limit: 10, countUpTo: 10 });
      expect(causes).toHaveLength(1);
      expect(JSON.stringify([answer?.body, causes]).toLowerCase()).not.toContain(PERSON.toLowerCase());
    });

    it('masks what receivers of webhook calls answered', async () => {
      const webhookId = await createWebhook(store);
      await commitOne(store);
      const call = only(await claimCalls(store));
      const tried = {
        state: 'failed',
        tryNumber: 1,
        at: T0,
        responseCode: 500,
        latencyMs: 1,
        blocked: false,
      } as const;
      const said = { responseBody: `no ${PERSON} here`, error: `refused ${PERSON}` };
      await store.settleCalls({ settlements: [{ callId: call.id, epoch: 1, webhookId, ...tried, ...said }] });
      await eraseElsewhere(store, { address: PERSON, proposedKey: new Uint8Array(32).fill(5) });
      const kept = JSON.stringify([
        await store.getCall({ webhookId, callId: call.id }),
        await store.getWebhook({ id: webhookId }),
      ]);
      expect(kept.toLowerCase()).not.toContain(PERSON.toLowerCase());
      expect(kept).toContain('here');
    });

    it('masks events of no message a portion at a time, each once, and those of messages not with them', async () => {
      const own = await send(PERSON);
      const reason = `"${PERSON}" asked`;
      const loose = (at: number, said: string) => ({
        ...event('unsubscribed', at, { detail: { reason: said } }),
        domain: 'example.com' as const,
        deliveryId: null,
      });
      // Two with the same time: a portion may end between them.
      const events = [T0, T0 + 1, T0 + 1, T0 + 2].map((at) => loose(at, reason));
      await store.appendEvents({ events: [...events, loose(T0 + 3, `jo${PERSON} asked`)] });
      const told = delivered(own.ids[0] ?? 0, 1, {
        events: [event('delivered', T0, { detail: { reason } })],
      });
      await store.settle({ now: T0, settlements: [told] });
      const counts: number[] = [];
      for (let after: LooseEventPlace | null = null; ; ) {
        const done = await store.eraseLooseEvents({ address: PERSON, after, limit: 2 });
        counts.push(done.events);
        if (done.next === null) break;
        after = done.next;
      }
      expect(counts).toEqual([2, 2, 0]);
      const reasons = (await store.findEvents(everyEvent())).events.map(({ detail }) => detail?.reason);
      expect(reasons.filter((text) => text === `"erased@erased.invalid" asked`)).toHaveLength(4);
      expect(reasons.filter((text) => text === reason)).toHaveLength(1);
      expect(reasons).toContain(`jo${PERSON} asked`);
    });

    it('overwrites what is free to an end, and nothing that is kept', async () => {
      const [own, other] = [await send(PERSON), await send('other@example.net')];
      const ids = [...own.ids, ...other.ids];
      await store.settle({ now: T0, settlements: ids.map((id) => delivered(id)) });
      await erase([own.seq]);
      while (await store.scrub({ bytes: 524_288 }));
      expect(await store.readContent({ messageSeq: other.seq })).not.toBeNull();
    });
  });
}
