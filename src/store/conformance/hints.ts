/**
 * Conformance of engines whose stores tell each other what they have changed, so that nodes need not search for it every
 * second.
 */
import { describe, expect, it } from 'vitest';
import type { Hint } from '../topics/hints.ts';
import { claim, commitOne, newId, type Suite, T0 } from './fixtures.ts';

/** Tests of `onHint` and `hearsHints`. */
export function describeHints({ store, openAnother }: Suite): void {
  const queuesOf = (hints: readonly Hint[]) =>
    hints.flatMap(({ queues }) => (queues === 'all' ? [] : [...queues]));

  describe('two stores over the same data', () => {
    it('tell each other soon of queues, calls and settings that they have changed', async () => {
      const [one, two] = [store, await openAnother()];
      const told: Hint[] = [];
      const own: Hint[] = [];
      two.onHint((hint) => told.push(hint));
      const leave = one.onHint((hint) => own.push(hint));
      await expect.poll(() => one.hearsHints() && two.hearsHints()).toBe(true);
      await expect.poll(() => told.length).toBeGreaterThan(0);
      // What it had missed before it heard, which is everything.
      expect(told.splice(0)[0]).toEqual({ queues: 'all', calls: true, settings: true, suppressions: true });
      own.splice(0);
      const { queueId, id } = await commitOne(one);
      await expect.poll(() => queuesOf(told.splice(0))).toContain(queueId);
      const epoch = await one.beginEpoch({ nodeId: 'a', now: T0 });
      await claim(one, queueId, { epoch });
      await one.release({ deliveryIds: [id], epoch, dueAt: T0, waitReason: null });
      await expect.poll(() => queuesOf(told.splice(0))).toContain(queueId);
      await one.addHold({
        hold: {
          ...{ id: newId(), senderDomain: 'example.com', recipientDomain: null, site: null, lane: null },
          ...{ reason: 'by hand', until: null, createdAt: T0, createdBy: newId() },
        },
      });
      await expect.poll(() => told.splice(0).some(({ settings }) => settings)).toBe(true);
      const suppressed: string[] = [];
      two.onSuppressed((changes) => suppressed.push(...changes.map(({ key }) => key)));
      const addresses = Array.from({ length: 300 }, (_, i) => `ünknown${i}@example.net`);
      await one.addSuppressions({
        domain: 'example.com',
        entries: addresses.map((address) => ({
          ...{ address, reason: 'Manual' as const, note: '', expiresAt: null, source: null },
        })),
        now: T0,
      });
      await expect.poll(() => suppressed.length).toBe(addresses.length);
      expect(new Set(suppressed)).toEqual(new Set(addresses));
      // Nobody is told what it has done itself.
      expect(own).toEqual([]);
      leave();
    });
  });
}
