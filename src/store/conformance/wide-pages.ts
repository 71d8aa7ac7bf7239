/**
 * Conformance: pages of messages that name very many recipients end early, so that none of them costs the event loop much,
 * and go on where they ended.
 */
import { describe, expect, it } from 'vitest';
import {
  commit,
  delivered,
  everyEvent,
  message,
  newId,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

const MESSAGES = 6;
/** Octets of the addresses of one message. */
const WIDE = 400_000;

/** Tests of `findEvents`, `findCaptures`, `capturesSince` and `listMessages`. */
export function describeWidePages({ store }: Suite): void {
  describe('pages of messages to very many recipients', () => {
    const lists = {
      from: { name: '', address: 'sender@example.com' },
      to: Array.from({ length: 1000 }, (_, i) => ({
        name: 'n'.repeat(WIDE / 1000),
        address: `r${i}@example.net`,
      })),
      cc: [],
      bcc: [],
      replyTo: [],
    };
    /** What one call after the other finds, by page; `next` null ends it. */
    async function pages<Place>(
      first: Place,
      look: (from: Place) => Promise<{ found: readonly number[]; next: Place | null }>,
    ): Promise<readonly (readonly number[])[]> {
      const all: (readonly number[])[] = [];
      for (let from: Place | null = first; from !== null; ) {
        const { found, next }: { found: readonly number[]; next: Place | null } = await look(from);
        all.push(found);
        from = next;
      }
      return all;
    }
    const expectPages = (found: readonly (readonly number[])[], wanted: readonly number[]) => {
      expect(found.flat()).toEqual(wanted);
      expect(found.length).toBeGreaterThan(1);
      expect(Math.max(...found.map((page) => page.length))).toBeLessThan(MESSAGES);
    };

    it('of events, in both directions', async () => {
      for (let n = 0; n < MESSAGES; n += 1) await commit(store, [message({ lists, createdAt: T0 + n })]);
      const all = async (newestFirst: boolean) =>
        pages({ at: newestFirst ? T0 * 2 : 0, seq: newestFirst ? 1e9 : 0 }, async (from) => {
          const { events, next } = await store.findEvents(everyEvent({ newestFirst, from }));
          return { found: events.map(({ seq }) => seq), next };
        });
      const seqs = (await all(false)).flat();
      expect(seqs).toHaveLength(MESSAGES);
      expectPages(
        await all(false),
        seqs.toSorted((a, b) => a - b),
      );
      expectPages(
        await all(true),
        seqs.toSorted((a, b) => b - a),
      );
    });

    it('of events of one message, whose addresses are read once, in one', async () => {
      const recipients = Array.from({ length: 20 }, (_, i) => recipient({ address: `r${i}@example.net` }));
      await commit(store, [message({ lists, recipients })]);
      const { events, next } = await store.findEvents(everyEvent());
      expect([events.length, next]).toEqual([20, null]);
    });

    it('of captures, also those that are followed', async () => {
      for (let n = 0; n < MESSAGES; n += 1) {
        const sending = recipient({ state: 'sending', sandbox: 'deliver' });
        const stored = only(await commit(store, [message({ lists, recipients: [sending] })]));
        const capture = { id: newId(), at: T0, envelopeFrom: '', inbox: 'main', prefix: new Uint8Array() };
        const settlements = [delivered(only(stored.deliveries).id, 1, { capture })];
        await store.settle({ now: T0, settlements });
      }
      const listed = await pages(1e9, async (beforeSeq) => {
        const page = await store.findCaptures({ beforeSeq, limit: 100, look: 100 });
        return { found: page.captures.map(({ seq }) => seq), next: page.nextSeq };
      });
      const followed = await pages(0, async (afterSeq) => {
        const page = await store.capturesSince({ afterSeq, limit: 100, look: 100 });
        return { found: page.captures.map(({ seq }) => seq), next: page.more ? page.lastSeq : null };
      });
      expect(listed.flat()).toHaveLength(MESSAGES);
      expectPages(
        listed,
        listed.flat().toSorted((a, b) => b - a),
      );
      expectPages(
        followed,
        listed.flat().toSorted((a, b) => a - b),
      );
    });

    it('of messages, by the number of their recipients', async () => {
      const recipients = Array.from({ length: 1000 }, (_, i) =>
        recipient({ address: `r${i}@example.net`, events: [] }),
      );
      const seqs: number[] = [];
      for (let n = 0; n < MESSAGES; n += 1)
        seqs.unshift(only(await commit(store, [message({ recipients })])).seq);
      const listed = await pages(1e9, async (beforeSeq) => {
        const page = await store.listMessages({ beforeSeq, limit: 100, look: 100 });
        return { found: page.messages.map(({ seq }) => seq), next: page.nextSeq };
      });
      expectPages(listed, seqs);
    });
  });
}
