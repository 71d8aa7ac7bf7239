/** Conformance: waiting mail, queue by queue. */
import { describe, expect, it } from 'vitest';
import { claim, commitOne, delivered, HOUR, only, recipient, type Suite, T0 } from './fixtures.ts';

/** Tests of `waitingQueues`. */
export function describeWaiting({ store }: Suite): void {
  const ask = (more: object = {}) =>
    store.waitingQueues({
      now: T0 + HOUR,
      limit: 10,
      rowsPerQueue: 10,
      ageLimitsMs: [HOUR, 2 * HOUR],
      ...more,
    });
  const due = (dueAt: number, more: Parameters<typeof recipient>[0] = {}) => [recipient({ dueAt, ...more })];

  describe('what waits', () => {
    it('is told queue by queue, the earliest due first, by age and reason', async () => {
      expect(await ask({ now: T0 })).toEqual({ queues: [], more: false });
      await commitOne(store, { recipients: due(T0 + 5) });
      await commitOne(store, {
        createdAt: T0 + 1,
        recipients: due(T0 + 2 * HOUR, { waitReason: 'deferred' }),
      });
      await commitOne(store, { createdAt: T0 - HOUR, recipients: due(T0 + 6) });
      await commitOne(store, {
        lane: 'critical',
        domain: 'example.org',
        recipients: due(T0, { domain: 'other.example' }),
      });
      expect(await ask()).toEqual({
        more: false,
        queues: [
          {
            lane: 'critical',
            senderDomain: 'example.org',
            recipientDomain: 'other.example',
            sandbox: false,
            routeKey: '',
            waiting: 1,
            due: 1,
            oldestCreatedAt: T0,
            nextDueAt: T0,
            byAge: [0, 1, 0],
            reasons: [{ reason: '', count: 1, reply: null }],
            complete: true,
          },
          {
            lane: 'normal',
            senderDomain: 'example.com',
            recipientDomain: 'example.net',
            sandbox: false,
            routeKey: '',
            waiting: 3,
            due: 2,
            oldestCreatedAt: T0 - HOUR,
            nextDueAt: T0 + 5,
            byAge: [1, 1, 1],
            reasons: [
              { reason: '', count: 2, reply: null },
              { reason: 'deferred', count: 1, reply: null },
            ],
            complete: true,
          },
        ],
      });
    });

    it('is told for the given sender domains, and up to the given numbers', async () => {
      for (let i = 0; i < 3; i++) await commitOne(store);
      await commitOne(store, { domain: 'example.org', recipients: due(T0 + 9) });
      const names = async (more: object) => (await ask(more)).queues.map((queue) => queue.senderDomain);
      expect(await names({ domains: ['example.org'] })).toEqual(['example.org']);
      expect(await names({ domains: [] })).toEqual([]);
      expect(await names({ recipientDomains: ['example.net', 'x.example'] })).toEqual([
        'example.com',
        'example.org',
      ]);
      expect(await names({ recipientDomains: ['x.example'] })).toEqual([]);
      expect(await ask({ limit: 1, rowsPerQueue: 2 })).toMatchObject({
        more: true,
        queues: [{ waiting: 2, complete: false }],
      });
      expect(await ask({ limit: 2, rowsPerQueue: 3 })).toMatchObject({
        more: false,
        queues: [{ complete: true }, {}],
      });
    });

    it('is told with what the receiver said to one of those that a reply deferred', async () => {
      const { queueId } = await commitOne(store);
      const row = only(await claim(store, queueId));
      const later = { state: 'queued', dueAt: T0 + HOUR, waitReason: 'deferred' } as const;
      const settlement = { ...delivered(row.id), ...later, lastReply: '451 busy', events: [] };
      await store.settle({ now: T0, settlements: [settlement] });
      expect((await ask()).queues).toMatchObject([
        { reasons: [{ reason: 'deferred', count: 1, reply: '451 busy' }] },
      ]);
    });

    it('is counted queue by queue, for the given sender domains, and up to the given number', async () => {
      const count = (more: object = {}) => store.waitingCounts({ limit: 10, ...more });
      expect(await count()).toEqual({ queues: [], more: false });
      for (let i = 0; i < 3; i++) await commitOne(store);
      await commitOne(store, { domain: 'example.org', recipients: due(T0 + 9) });
      const first = {
        ...{ lane: 'normal', senderDomain: 'example.com', recipientDomain: 'example.net' },
        ...{ routeKey: '', sandbox: false, waiting: 3 },
      };
      expect(await count()).toEqual({
        queues: [first, { ...first, senderDomain: 'example.org', waiting: 1 }],
        more: false,
      });
      expect(await count({ limit: 1 })).toEqual({ queues: [first], more: true });
      expect((await count({ domains: ['example.org'] })).queues).toMatchObject([{ waiting: 1 }]);
      expect((await count({ domains: [] })).queues).toEqual([]);
    });

    it('leaves out what is being sent or is over', async () => {
      const { queueId } = await commitOne(store);
      const row = only(await claim(store, queueId));
      expect((await ask()).queues).toEqual([]);
      await store.settle({ now: T0, settlements: [delivered(row.id)] });
      expect((await ask()).queues).toEqual([]);
    });
  });
}
