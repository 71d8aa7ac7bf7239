/** Conformance: the instance's id, what survives a restart, and closing a store. */
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../store.ts';
import { claim, commitOne, delivered, recipient, type Suite, T0 } from './fixtures.ts';

/** Tests of `instanceId`, `databaseUpkeep`, `writable`, `onHint`, `hearsHints`, `close`. */
export function describeInstance({ store, reopen }: Suite): void {
  describe('instance', () => {
    it('keeps the first proposed instance id for good', async () => {
      expect(await store.instanceId({ proposedId: 'one' })).toBe('one');
      expect(await store.instanceId({ proposedId: 'two' })).toBe('one');
      await reopen();
      expect(await store.instanceId({ proposedId: 'three' })).toBe('one');
    });

    it('knows the upkeep of its database, if it needs any', async () => {
      const upkeep = await store.databaseUpkeep({ heldMs: 60_000 });
      if (upkeep === null) return;
      expect(upkeep.oldRows).toBeGreaterThanOrEqual(0);
      expect(upkeep.eventsHeldBy).toBeNull();
      expect(upkeep.numbersUsed).toBeLessThan(0.5);
    });

    it('keeps everything over a restart', async () => {
      const { queueId } = await commitOne(store);
      await reopen();
      expect(await claim(store, queueId)).toHaveLength(1);
    });

    it('gives no hints of what it has done itself', async () => {
      const told: unknown[] = [];
      const leave = store.onHint(({ queues }) => {
        if (queues !== 'all') told.push(queues);
      });
      await commitOne(store);
      // A message that is on its way arrives before the store is closed.
      const hears = store.hearsHints();
      await reopen();
      expect({ told, hears: typeof hears }).toEqual({ told: [], hears: 'boolean' });
      leave();
    });

    it('is writable from the start and answers nothing once closed', async () => {
      expect(store.writable()).toEqual({ ok: true });
      await store.close();
      await expect(store.beginEpoch({ nodeId: 'a', now: T0 })).rejects.toThrow(StoreUnavailable);
      await expect(store.contentBytes()).rejects.toThrow(StoreUnavailable);
      await store.close();
    });

    it('answers what was asked before it was closed', async () => {
      const { id } = await commitOne(store, { recipients: [recipient({ state: 'sending' })] });
      const settled = store.settle({ now: T0, settlements: [delivered(id)] });
      await store.close();
      expect(await settled).toEqual(['settled']);
    });
  });
}
