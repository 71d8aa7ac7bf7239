/** Conformance: the instance's id, what survives a restart, and closing a store. */
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../store.ts';
import { claim, commitOne, delivered, recipient, type Suite, T0 } from './fixtures.ts';

/** Tests of `instanceId`, `writable`, `onHint`, `hearsHints`, `close`. */
export function describeInstance(suite: Suite): void {
  describe('instance', () => {
    it('keeps the first proposed instance id for good', async () => {
      expect(await suite.store().instanceId({ proposedId: 'one' })).toBe('one');
      expect(await suite.store().instanceId({ proposedId: 'two' })).toBe('one');
      await suite.reopen();
      expect(await suite.store().instanceId({ proposedId: 'three' })).toBe('one');
    });

    it('keeps everything over a restart', async () => {
      const { queueId } = await commitOne(suite.store());
      await suite.reopen();
      expect(await claim(suite.store(), queueId)).toHaveLength(1);
    });

    it('gives no hints of what it has done itself', async () => {
      const told: unknown[] = [];
      const leave = suite.store().onHint(({ queues }) => {
        if (queues !== 'all') told.push(queues);
      });
      await commitOne(suite.store());
      // A message that is on its way arrives before the store is closed.
      const hears = suite.store().hearsHints();
      await suite.reopen();
      expect({ told, hears: typeof hears }).toEqual({ told: [], hears: 'boolean' });
      leave();
    });

    it('is writable from the start and answers nothing once closed', async () => {
      expect(suite.store().writable()).toEqual({ ok: true });
      await suite.store().close();
      await expect(suite.store().beginEpoch({ nodeId: 'a', now: T0 })).rejects.toThrow(StoreUnavailable);
      await expect(suite.store().nextDueAt()).rejects.toThrow(StoreUnavailable);
      await suite.store().close();
    });

    it('answers what was asked before it was closed', async () => {
      const { id } = await commitOne(suite.store(), { recipients: [recipient({ state: 'sending' })] });
      const settled = suite.store().settle({ now: T0, settlements: [delivered(id)] });
      await suite.store().close();
      expect(await settled).toEqual(['settled']);
    });
  });
}
