/** Conformance: the instance's id, epochs, what outlives a restart, leases of dead epochs, and the end of a store. */
import { describe, expect, it } from 'vitest';
import { StoreUnavailable } from '../store.ts';
import {
  claim,
  claimCalls,
  commit,
  commitOne,
  createWebhook,
  delivered,
  message,
  only,
  recipient,
  type Suite,
  T0,
} from './fixtures.ts';

/** Tests of `instanceId`, `beginEpoch`, `reclaim`, `writable`, `close`. */
export function describeInstance(suite: Suite): void {
  describe('instance and nodes', () => {
    it('keeps the first proposed instance id for good', async () => {
      expect(await suite.store().instanceId({ proposedId: 'one' })).toBe('one');
      expect(await suite.store().instanceId({ proposedId: 'two' })).toBe('one');
      await suite.reopen();
      expect(await suite.store().instanceId({ proposedId: 'three' })).toBe('one');
    });

    it('gives every start a greater epoch, also after a restart', async () => {
      const first = await suite.store().beginEpoch({ nodeId: 'a', now: T0 });
      const second = await suite.store().beginEpoch({ nodeId: 'a', now: T0 });
      await suite.reopen();
      const third = await suite.store().beginEpoch({ nodeId: 'b', now: T0 });
      expect(first).toBeGreaterThan(0);
      expect(second).toBeGreaterThan(first);
      expect(third).toBeGreaterThan(second);
    });

    it('keeps everything over a restart', async () => {
      const { queueId } = await commitOne(suite.store());
      await suite.reopen();
      expect(await claim(suite.store(), queueId)).toHaveLength(1);
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

  describe('reclaiming leases of dead epochs', () => {
    it('gives rows of older epochs back, due now and marked as possible duplicates', async () => {
      const { id, queueId } = await commitOne(
        suite.store(),
        { recipients: [recipient({ state: 'sending' })] },
        1,
      );
      expect(await suite.store().reclaim({ epoch: 2, now: T0 + 5, limit: 10 })).toBe(1);
      expect(await suite.store().nextDueAt()).toBe(T0 + 5);
      const again = only(await claim(suite.store(), queueId, { epoch: 2, now: T0 + 5 }));
      expect(again).toMatchObject({ id, mayBeDuplicate: true, attempts: 0 });
    });

    it('leaves leases of this and later epochs alone', async () => {
      await commitOne(suite.store(), { recipients: [recipient({ state: 'sending' })] }, 2);
      await commitOne(suite.store(), { recipients: [recipient({ state: 'sending' })] }, 3);
      expect(await suite.store().reclaim({ epoch: 2, now: T0, limit: 10 })).toBe(0);
    });

    it('gives calls back too, and no more rows than the limit at a time', async () => {
      await createWebhook(suite.store());
      const sending = recipient({ state: 'sending' });
      await commit(
        suite.store(),
        [message({ recipients: [sending] }), message({ recipients: [sending] })],
        1,
      );
      expect(await claimCalls(suite.store(), { epoch: 1 })).toHaveLength(2);
      expect(await suite.store().reclaim({ epoch: 2, now: T0, limit: 3 })).toBe(3);
      expect(await suite.store().reclaim({ epoch: 2, now: T0, limit: 3 })).toBe(1);
      expect(await suite.store().reclaim({ epoch: 2, now: T0, limit: 3 })).toBe(0);
      expect(await claimCalls(suite.store(), { epoch: 2, now: T0 })).toHaveLength(2);
    });

    it('fences an outcome of the epoch that lost the row', async () => {
      const { id } = await commitOne(suite.store(), { recipients: [recipient({ state: 'sending' })] }, 1);
      await suite.store().reclaim({ epoch: 2, now: T0, limit: 10 });
      expect(await suite.store().settle({ now: T0, settlements: [delivered(id, 1)] })).toEqual(['fenced']);
    });
  });
}
