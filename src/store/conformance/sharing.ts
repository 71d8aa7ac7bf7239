/**
 * Conformance of several stores over the same data, as the processes of one instance have them: what one writes the
 * others see, nothing is given to two of them, and a reader of events misses none. For engines that can be shared.
 */
import { describe, expect, it } from 'vitest';
import type { Store } from '../store.ts';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  everyEvent,
  message,
  newId,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of two stores at once. */
export function describeSharing({ store, openAnother }: Suite): void {
  const both = async (): Promise<[Store, Store]> => [store, await openAnother()];

  describe('two stores over the same data', () => {
    it('agree on who they are', async () => {
      const ids = (await both()).map((store) => store.instanceId({ proposedId: newId() }));
      expect(new Set(await Promise.all(ids)).size).toBe(1);
    });

    it('have epochs, rows and claims that never overlap', async () => {
      const [one, two] = await both();
      const epochs = await Promise.all([
        one.beginEpoch({ nodeId: 'a', now: T0 }),
        two.beginEpoch({ nodeId: 'b', now: T0 }),
      ]);
      expect(new Set(epochs).size).toBe(2);
      const recipients = () => Array.from({ length: 5 }, () => recipient());
      const made = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          commit(i % 2 === 0 ? one : two, [message({ recipients: recipients() })]),
        ),
      );
      const all = made.flat().flatMap(({ deliveries }) => deliveries);
      const queueId = all[0]?.queueId ?? 0;
      expect(new Set(all.map((row) => row.queueId)).size).toBe(1);
      const claims = await Promise.all(
        Array.from({ length: 20 }, (_, i) =>
          claim(i % 2 === 0 ? one : two, queueId, { epoch: epochs[i % 2] ?? 0, limit: 7 }),
        ),
      );
      const claimed = claims.flat().map(({ id }) => id);
      expect(claimed.toSorted((a, b) => a - b)).toEqual(all.map(({ id }) => id).toSorted((a, b) => a - b));
    });

    it('see what the other changed: webhooks, suppressions, ended epochs', async () => {
      const [one, two] = await both();
      const epoch = await one.beginEpoch({ nodeId: 'a', now: T0 });
      // Now the first store remembers that there are no webhooks, and that its epoch is alive.
      const { queueId } = await commitOne(one, {}, epoch);
      const addresses = ['reader@example.net'];
      const suppressed = () => one.suppressedAmong({ domain: 'example.com', addresses, now: T0 });
      expect(await suppressed()).toEqual([]);
      await createWebhook(two);
      await two.addSuppressions({
        domain: 'example.com',
        now: T0,
        entries: addresses.map((address) => ({
          ...{ address, reason: 'Manual', note: '', expiresAt: null, source: null },
        })),
      });
      expect(await suppressed()).toHaveLength(1);
      await commitOne(one, {}, epoch);
      expect(await claimCalls(one, { epoch })).toHaveLength(1);
      await two.endEpoch({ epoch, now: T0 });
      expect(await claim(one, queueId, { epoch })).toEqual([]);
    });

    it('show whoever follows the events each of them once, in order, while both write', async () => {
      const [one, two] = await both();
      const writing = Promise.all(
        Array.from({ length: 40 }, (_, i) => commitOne(i % 2 === 0 ? one : two)),
      ).then(() => true);
      const seen: number[] = [];
      for (let isOver = false; ; ) {
        const horizon = await one.lastEventSeq();
        const { events } = await one.findEvents(everyEvent({ afterSeq: seen.at(-1) ?? 0 }));
        for (const { seq } of events) {
          expect(seq).toBeGreaterThan(seen.at(-1) ?? 0);
          seen.push(seq);
        }
        // The newest event is there: nothing before it comes later.
        expect(seen.at(-1) ?? 0).toBeGreaterThanOrEqual(horizon);
        if (isOver) break;
        isOver = await Promise.race([writing, Promise.resolve(false)]);
      }
      expect(seen).toHaveLength(40);
    });
  });
}
