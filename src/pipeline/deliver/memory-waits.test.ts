import { expect, it } from 'vitest';
import { testItem } from '../queue/test-items.ts';
import { createMemoryWaits } from './memory-waits.ts';

it('finds out why mail waits only of the mail that is asked for', () => {
  const asked: string[] = [];
  const items = ['a.example', 'b.example', 'a.example'].map((senderDomain, i) =>
    testItem({ id: i + 1, senderDomain, queueId: senderDomain === 'a.example' ? 1 : 2, createdAt: i }),
  );
  const waits = createMemoryWaits({
    queue: { items: () => items.values(), itemOf: () => null },
    gate: {
      mail: ({ senderDomain }) => {
        asked.push(senderDomain);
        return { reason: 'held: by hand', until: null };
      },
    },
    sites: { siteNamed: () => null },
    paths: { known: () => undefined },
  });
  expect(waits.queues(({ senderDomain }) => senderDomain === 'b.example')).toMatchObject([
    { senderDomain: 'b.example', reason: 'held: by hand', createdAt: [1] },
  ]);
  expect(asked).toEqual(['b.example']);
  expect(waits.queues(() => true).map(({ createdAt }) => createdAt)).toEqual([[0, 2], [1]]);
});
