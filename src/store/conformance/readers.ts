/** Conformance: token slots of a message, opens and clicks, and unsubscribes. */
import { describe, expect, it } from 'vitest';
import type { TokenSlots } from '../../model/personal.ts';
import type { ReaderFact } from '../topics/readers.ts';
import {
  claim,
  commitOne,
  delivered,
  eraseElsewhere,
  event,
  HOUR,
  newId,
  only,
  recipient,
  type Suite,
  suppressionsOf,
  T0,
} from './fixtures.ts';

const PLACES: TokenSlots = {
  host: 'track.example.com',
  places: [
    { kind: 'unsubscribe', offset: 20, link: 0, digest: '' },
    { kind: 'click', offset: 90, link: 1023, digest: 'abc-_123' },
  ],
};

/** Tests of opens, clicks and unsubscribes. */
export function describeReaders({ store, reopen }: Suite): void {
  const sent = async (more: Parameters<typeof recipient>[0] = {}) => {
    const { id, seq, queueId } = await commitOne(store, {
      recipients: [recipient({ state: 'sending', ...more })],
    });
    await store.settle({ now: T0, settlements: [delivered(id, 1)] });
    return { id, seq, queueId };
  };
  const click = (deliveryId: number, at: number, more: Partial<ReaderFact> = {}): ReaderFact => ({
    ...event('clicked', at, { detail: { url: 'https://x.example/', bot: false, userAgent: 'A' } }),
    deliveryId,
    ...more,
  });
  const details = async (kind: 'opened' | 'clicked' | 'unsubscribed') =>
    (
      await store.findEvents({
        kinds: [kind],
        look: 1000,
        limit: 10,
        newestFirst: false,
      })
    ).events.map(({ detail, recipient: to, domain }) => ({ ...detail, to, domain }));
  const knows = (deliveryId: number) => store.knowsOptOut({ deliveryId });
  const optOut = (deliveryId: number, now = T0) =>
    store.unsubscribe({ deliveryId, event: event('unsubscribed', now), rule: 'one-click', now });

  describe('personal links', () => {
    it('are kept with the message, and say so when it is claimed', async () => {
      const { seq, queueId } = await commitOne(store, { places: PLACES });
      await reopen();
      expect(await store.readTokenSlots({ messageSeq: seq })).toEqual(PLACES);
      expect(only(await claim(store, queueId))).toMatchObject({
        personal: true,
        listUnsubscribe: true,
      });
      const clicksOnly = { ...PLACES, places: PLACES.places.slice(1) };
      const other = await commitOne(store, { places: clicksOnly });
      expect(only(await claim(store, other.queueId))).toMatchObject({
        personal: true,
        listUnsubscribe: false,
      });
    });

    it('cost a message without them nothing', async () => {
      const { seq, queueId } = await commitOne(store);
      expect(await store.readTokenSlots({ messageSeq: seq })).toBeNull();
      const claimed = only(await claim(store, queueId));
      expect([claimed.personal, claimed.listUnsubscribe]).toEqual([undefined, undefined]);
    });
  });

  describe('opens and clicks', () => {
    it('are stored with their delivery, those about others are dropped', async () => {
      const { id } = await sent();
      const facts = [
        { ...event('opened', T0 + HOUR), deliveryId: id },
        click(id, T0 + HOUR),
        click(999_999, T0 + HOUR),
      ];
      expect(await store.appendReaderFacts({ facts, quickMs: 1000 })).toBe(2);
      await reopen();
      expect(await details('clicked')).toEqual([
        {
          url: 'https://x.example/',
          bot: false,
          userAgent: 'A',
          to: 'reader@example.net',
          domain: 'example.com',
        },
      ]);
      expect(await details('opened')).toHaveLength(1);
    });

    it('mark a click at the moment of the delivery, and no later one', async () => {
      const { id } = await sent();
      await store.appendReaderFacts({
        facts: [click(id, T0 + 999), click(id, T0 + 1000), { ...event('opened', T0 + 1), deliveryId: id }],
        quickMs: 1000,
      });
      expect((await details('clicked')).map(({ bot }) => bot)).toEqual([true, false]);
      expect((await details('opened')).map(({ bot }) => bot)).toEqual([undefined]);
    });
  });

  describe('an opt-out', () => {
    it('is one entry and one event, however often it is told', async () => {
      const { id } = await sent();
      expect(await optOut(id)).toEqual({ kind: 'unsubscribed', domain: 'example.com' });
      expect(await optOut(id, T0 + 1)).toEqual({ kind: 'repeated', domain: 'example.com' });
      await reopen();
      const list = await suppressionsOf(store, { now: T0, limit: 10 });
      expect(list.map(({ address, reason }) => [address, reason])).toEqual([
        ['reader@example.net', 'Unsubscribe'],
      ]);
      expect(only(list).source?.rule).toBe('one-click');
      expect(await details('unsubscribed')).toHaveLength(1);
      const addresses = ['Reader@example.net'];
      expect(await store.suppressedAmong({ domain: 'example.com', addresses, now: T0 })).toHaveLength(1);
    });

    it('of a second message is told too, and counts again after it was lifted', async () => {
      const first = await sent();
      const second = await sent();
      await optOut(first.id);
      expect((await optOut(second.id)).kind).toBe('unsubscribed');
      expect((await optOut(second.id)).kind).toBe('repeated');
      const address = 'reader@example.net';
      await store.removeSuppressions({ domain: 'example.com', address, now: T0 });
      expect((await optOut(first.id)).kind).toBe('unsubscribed');
      expect(await suppressionsOf(store, { now: T0, limit: 10 })).toHaveLength(1);
    });

    describe('by the link of a message that is gone', () => {
      const gone = async (more: Parameters<typeof recipient>[0] = {}) => {
        const { id, seq } = await commitOne(store, {
          places: PLACES,
          recipients: [recipient({ state: 'sending', ...more })],
        });
        await store.settle({ now: T0, settlements: [delivered(id, 1)] });
        expect(await store.purgeMessages({ seqs: [seq], maxRows: 100 })).toMatchObject({
          messages: 1,
        });
        return id;
      };

      it('suppresses all the same, once, and its event names the recipient', async () => {
        const id = await gone({ address: 'Reader@example.net' });
        await reopen();
        expect(await knows(id)).toBe(true);
        expect(await optOut(id)).toEqual({ kind: 'unsubscribed', domain: 'example.com' });
        expect(await optOut(id)).toEqual({ kind: 'repeated', domain: 'example.com' });
        const addresses = ['reader@example.net'];
        const found = await store.suppressedAmong({ domain: 'example.com', addresses, now: T0 });
        expect(found.map(({ suppression }) => suppression.reason)).toEqual(['Unsubscribe']);
        expect(await details('unsubscribed')).toMatchObject([
          { to: 'Reader@example.net', domain: 'example.com' },
        ]);
      });

      it('suppresses too where nobody knows whether the mail arrived: its process died while it was sent', async () => {
        const { id, seq, queueId } = await commitOne(store, {
          places: PLACES,
          recipients: [recipient({ state: 'sending' })],
        });
        await store.reclaim({ now: T0, limit: 10 });
        expect(await claim(store, queueId)).toHaveLength(1);
        const expired = delivered(id, 1, { state: 'failed', countAttempt: false, events: [] });
        await store.settle({ now: T0, settlements: [expired] });
        await store.purgeMessages({ seqs: [seq], maxRows: 100 });
        expect((await optOut(id)).kind).toBe('unsubscribed');
      });

      it('leads to nobody where the mail was played or offered nothing', async () => {
        const played = await gone({ sandbox: 'deliver' });
        expect([(await optOut(played)).kind, await knows(played)]).toEqual(['unknown', false]);
        const plain = await sent();
        await store.purgeMessages({ seqs: [plain.seq], maxRows: 100 });
        expect((await optOut(plain.id)).kind).toBe('unknown');
      });

      it('leads to nobody once the reader was erased, nor to the next of that address', async () => {
        const id = await gone();
        await eraseElsewhere(store, {
          address: 'reader@example.net',
          proposedKey: new Uint8Array(32),
        });
        const next = await gone();
        expect([(await optOut(id)).kind, await knows(id)]).toEqual(['unknown', false]);
        expect((await optOut(next)).kind).toBe('unsubscribed');
      });

      it('is forgotten in its time, the oldest first, the reader with the last link', async () => {
        const [first, second] = [await gone(), await gone({ address: 'other@example.net' })];
        const purge = (before: number, limit = 10) => store.purgeOptOuts({ before, limit });
        expect(await purge(T0)).toBe(0);
        expect(await purge(T0 + 1, 1)).toBe(1);
        expect((await optOut(first)).kind).toBe('unknown');
        expect((await optOut(second)).kind).toBe('unsubscribed');
        expect(await purge(T0 + 1)).toBe(3);
        expect(await purge(T0 + 1)).toBe(0);
        expect((await optOut(second)).kind).toBe('unknown');
      });
    });

    it('of the sandbox suppresses nobody, and an unknown delivery nothing', async () => {
      const { id } = await sent({ sandbox: 'deliver' });
      expect((await optOut(id)).kind).toBe('unsubscribed');
      expect((await optOut(id)).kind).toBe('repeated');
      expect((await optOut(12_345)).kind).toBe('unknown');
      expect([await knows(id), await knows(12_345)]).toEqual([true, false]);
      expect(await suppressionsOf(store, { now: T0, limit: 10 })).toEqual([]);
    });
  });

  it('a capture keeps what stood in its places', async () => {
    const { id, seq } = await commitOne(store, {
      places: PLACES,
      recipients: [recipient({ state: 'sending', sandbox: 'deliver' })],
    });
    const capture = {
      id: newId(),
      at: T0,
      envelopeFrom: 'b@example.org',
      inbox: '',
      prefix: new Uint8Array(2),
      fill: ['0123', 'abcd'],
    };
    await store.settle({ now: T0, settlements: [delivered(id, 1, { route: 'sandbox', capture })] });
    const found = only((await store.findCaptures({ limit: 10, look: 100 })).captures);
    expect([found.messageSeq, found.fill]).toEqual([seq, ['0123', 'abcd']]);
  });
}
