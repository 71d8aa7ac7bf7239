/** Conformance: queues with different route keys, and moving waiting rows to other queues. */
import { describe, expect, it } from 'vitest';
import { routeKeyOf } from '../../model/route-key.ts';
import { claim, commitOne, delivered, only, recipient, type Suite, T0 } from './fixtures.ts';

/** Tests of `refile` and of `routeKey` in `commitAccepted`, `dueQueues`, `claimDue`, `waitingQueues`, `getMessage`. */
export function describeRouteKeys({ store, reopen }: Suite): void {
  const news = routeKeyOf({ tags: ['news'], place: 2 });
  const hints = async () =>
    (await store.dueQueues({ dueBefore: T0 + 9, limit: 10 })).map(({ queueId, routeKey }) => ({
      queueId,
      routeKey,
    }));
  const refileAll = async (tags: readonly string[], limit = 100) => {
    for (let moved = 0; ; ) {
      const step = await store.refile({ tags, limit });
      moved += step.moved;
      if (step.done) return moved;
    }
  };

  describe('a route key', () => {
    it('makes a queue of its own, which is claimed and shown with it', async () => {
      const plain = await commitOne(store);
      const keyed = await commitOne(store, {
        recipients: [recipient({ dueAt: T0 + 1, routeKey: news })],
      });
      expect(await hints()).toEqual([
        { queueId: plain.queueId, routeKey: undefined },
        { queueId: keyed.queueId, routeKey: news },
      ]);
      const { queues } = await store.waitingQueues({ now: T0, limit: 10, rowsPerQueue: 10, ageLimitsMs: [] });
      expect(queues.map(({ routeKey, waiting }) => ({ routeKey, waiting }))).toEqual([
        { routeKey: '', waiting: 1 },
        { routeKey: news, waiting: 1 },
      ]);
      const [row] = await claim(store, keyed.queueId, { now: T0 + 1 });
      expect(row?.routeKey).toBe(news);
      const shown = await store.getMessage({ id: row?.messageId ?? '' });
      expect(only(shown?.recipients ?? []).routeKey).toBe(news);
      expect(only(await claim(store, plain.queueId)).routeKey).toBeUndefined();
    });

    it('follows the tags that routes name when these change; places stay', async () => {
      const tagged = { tags: ['news', 'receipt'] };
      const place = routeKeyOf({ tags: [], place: 2 });
      for (let i = 0; i < 5; i++)
        await commitOne(store, { ...tagged, recipients: [recipient({ routeKey: place })] });
      const untagged = await commitOne(store);
      // No route named a tag before, so there is nothing to do.
      expect(await refileAll([])).toBe(0);
      expect(await refileAll(['news', 'other'], 2)).toBe(5);
      expect(await hints()).toContainEqual({ queueId: expect.any(Number), routeKey: news });
      expect(await hints()).toHaveLength(2);
      // The same tags in another order are the same tags.
      expect(await refileAll(['other', 'news'])).toBe(0);
      expect(await refileAll(['receipt', 'news'])).toBe(5);
      expect(await refileAll([])).toBe(5);
      const left = await hints();
      expect(left.map(({ routeKey }) => routeKey).sort()).toEqual([place, undefined]);
      expect(left).toContainEqual({ queueId: untagged.queueId, routeKey: undefined });
    });

    it('is left alone where a recipient is being sent or is done', async () => {
      const { queueId } = await commitOne(store, { tags: ['news'] });
      const [row] = await claim(store, queueId);
      expect(await refileAll(['news'])).toBe(0);
      if (row === undefined) throw new Error('Nothing was claimed');
      await store.settle({ settlements: [delivered(row.id)], now: T0 });
      expect(await refileAll([])).toBe(0);
    });

    it('is worked out to the end after a start that was broken off', async () => {
      for (let i = 0; i < 4; i++) await commitOne(store, { tags: ['news'] });
      expect(await store.refile({ tags: ['news'], limit: 2 })).toEqual({ done: false, moved: 2 });
      await reopen();
      expect(await refileAll(['news'], 2)).toBe(2);
      await reopen();
      expect(await refileAll(['news'])).toBe(0);
      expect(await hints()).toHaveLength(1);
    });

    it('is looked at again where a start for other tags was broken off, even if the tags are those of before', async () => {
      for (let i = 0; i < 4; i++)
        await commitOne(store, { tags: ['news'], recipients: [recipient({ routeKey: news })] });
      await refileAll(['news']);
      expect(await store.refile({ tags: [], limit: 2 })).toEqual({ done: false, moved: 2 });
      expect(await refileAll(['news'])).toBe(2);
      expect(await hints()).toEqual([{ queueId: expect.any(Number), routeKey: news }]);
    });
  });
}
