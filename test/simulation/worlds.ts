/**
 * A share of the simulated worlds as tests: so many seeds in a row, some at a time. Split over several files, because
 * files run beside each other. A seed that breaks a promise is named with the command that plays it again.
 */
import { describe, expect, it } from 'vitest';
import { runSeed } from './world.ts';

const RUNS_A_TEST = 50;

export function describeWorlds(first: number, runs: number): void {
  describe('the delivery engine, simulated', () => {
    for (let seed = first; seed < first + runs; seed += RUNS_A_TEST) {
      it(`keeps its promises in the worlds ${seed} to ${seed + RUNS_A_TEST - 1}`, async () => {
        const broken: string[] = [];
        let transactions = 0;
        for (let i = seed; i < seed + RUNS_A_TEST; i++) {
          const result = await runSeed(i);
          transactions += result.transactions;
          if (result.wrong.length === 0) continue;
          broken.push(`again with: npm run simulate -- --runs 1 --seed ${i}`, ...result.wrong);
        }
        expect(broken).toEqual([]);
        expect(transactions).toBeGreaterThan(RUNS_A_TEST);
      });
    }
  });
}
