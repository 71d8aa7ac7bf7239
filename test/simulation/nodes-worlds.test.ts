/**
 * Simulated worlds of several nodes on one store (nodes-world.ts), and bugs made on purpose that they must notice. Many
 * more: `npm run simulate -- --nodes --runs 500`.
 */
import { describe, expect, it } from 'vitest';
import type { Mutation } from './mutations.ts';
import { runNodesSeed } from './nodes-world.ts';

const RUNS_A_TEST = 10;
const RUNS = 40;
const MOST_SEEDS = 40;

describe('several nodes, simulated', () => {
  for (let seed = 1; seed <= RUNS; seed += RUNS_A_TEST) {
    it(`keep their promises in the worlds ${seed} to ${seed + RUNS_A_TEST - 1}`, async () => {
      const broken: string[] = [];
      let transactions = 0;
      for (let i = seed; i < seed + RUNS_A_TEST; i++) {
        const result = await runNodesSeed(i);
        transactions += result.transactions;
        if (result.wrong.length === 0) continue;
        broken.push(`again with: npm run simulate -- --nodes --runs 1 --seed ${i}`, ...result.wrong);
      }
      expect(broken).toEqual([]);
      expect(transactions).toBeGreaterThan(RUNS_A_TEST);
    });
  }

  it('are the same again with the same seed', async () => {
    expect(await runNodesSeed(8)).toEqual(await runNodesSeed(8));
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

describe('the promises of several nodes notice', () => {
  it.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))('%s', async (_, mutation) => {
    let noticed: readonly string[] = [];
    for (let seed = 1; seed <= MOST_SEEDS && noticed.length === 0; seed++) {
      const { wrong } = await runNodesSeed(seed, mutation);
      noticed = wrong.filter((what) => mutation.notices.test(what));
    }
    expect(noticed).not.toEqual([]);
  });
});
