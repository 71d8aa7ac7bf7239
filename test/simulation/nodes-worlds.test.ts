/**
 * Simulated worlds of several nodes on one store (nodes-world.ts), and bugs made on purpose that they must notice. Many
 * more: `npm run simulate -- --nodes --runs 500`, and with `--returns`.
 */
import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/store/store.ts';
import type { ReturnFact } from '../../src/store/topics/returns.ts';
import type { Mutation } from './mutations.ts';
import { runNodesSeed } from './nodes-world.ts';

const RUNS_A_TEST = 10;
const MOST_SEEDS = 40;

describe.each([
  ['several nodes, simulated', '--nodes', 40, false],
  ['several nodes to which mail returns, simulated', '--returns', 20, true],
] as const)('%s', (_, flag, runs, withReturns) => {
  for (let seed = 1; seed <= runs; seed += RUNS_A_TEST) {
    it(`keep their promises in the worlds ${seed} to ${seed + RUNS_A_TEST - 1}`, async () => {
      const broken: string[] = [];
      let transactions = 0;
      for (let i = seed; i < seed + RUNS_A_TEST; i++) {
        const result = await runNodesSeed(i, null, withReturns);
        transactions += result.transactions;
        if (result.wrong.length === 0) continue;
        broken.push(`again with: npm run simulate -- ${flag} --runs 1 --seed ${i}`, ...result.wrong);
      }
      expect(broken).toEqual([]);
      expect(transactions).toBeGreaterThan(RUNS_A_TEST);
    });
  }

  it('are the same again with the same seed', async () => {
    const run = () => runNodesSeed(8, null, withReturns);
    expect(await run()).toEqual(await run());
  });
});

const MUTATIONS: readonly Mutation[] = [
  {
    name: 'a lease that every node gets',
    notices: /beside another's/,
    store: (store) => ({ ...store, takeLeases: async ({ names }) => [...names] }),
  },
  {
    name: 'mail that was taken over and is not marked',
    notices: /arrived \d times, and its event does not say so|nothing says that it may have arrived/,
    store: (store) => ({
      ...store,
      async claimDue(params) {
        const rows = await store.claimDue(params);
        return rows.map((row) => ({ ...row, mayBeDuplicate: false }));
      },
    }),
  },
];

const MUTATIONS_OF_RETURNS: readonly Mutation[] = [
  {
    name: 'a report that is recorded for another recipient',
    notices: /has 0 events complained instead of 1/,
    store: withFacts((fact) => ({ ...fact, deliveryId: fact.deliveryId + 1 })),
  },
  {
    name: 'a bounce that comes before its delivery is stored, and is dropped',
    notices: /is delivered, and a .*bounce came back/,
    store: withFacts((fact) => (fact.kind === 'bounce' ? { ...fact, mayWait: false } : fact)),
  },
  {
    name: 'a bounce after which the address is written to again',
    notices: /Bounce is not on the list/,
    store: withFacts((fact) => (fact.kind === 'bounce' ? { ...fact, suppress: null } : fact)),
  },
  {
    name: 'an opt-out that counts only the first time',
    notices: /Unsubscribe is not on the list/,
    store(store) {
      const known = new Set<number>();
      return {
        ...store,
        async unsubscribe(params) {
          if (known.has(params.deliveryId)) return { kind: 'repeated', domain: '' };
          known.add(params.deliveryId);
          return store.unsubscribe(params);
        },
      };
    },
  },
  {
    name: 'a report that is read as one about the next recipient',
    notices: /is not on the list|is on the list, and nothing bounced|has bounced, and nothing came back/,
    store: (store) => ({
      ...store,
      returnSubjects: (params) =>
        store.returnSubjects('deliveryId' in params ? { deliveryId: params.deliveryId + 1 } : params),
    }),
  },
];

function withFacts(change: (fact: ReturnFact) => ReturnFact): (store: Store) => Store {
  return (store) => ({
    ...store,
    recordReturn: ({ fact, now }) => store.recordReturn({ fact: change(fact), now }),
  });
}

describe('the promises of several nodes notice', () => {
  it.each([
    ...MUTATIONS.map((mutation) => [mutation.name, mutation, false] as const),
    ...MUTATIONS_OF_RETURNS.map((mutation) => [mutation.name, mutation, true] as const),
  ])('%s', async (_, mutation, withReturns) => {
    let noticed: readonly string[] = [];
    for (let seed = 1; seed <= MOST_SEEDS && noticed.length === 0; seed++) {
      const { wrong } = await runNodesSeed(seed, mutation, withReturns);
      noticed = wrong.filter((what) => mutation.notices.test(what));
    }
    expect(noticed).not.toEqual([]);
  });
});
