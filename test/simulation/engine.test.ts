/**
 * The whole delivery engine on a virtual clock, again and again: seeded worlds with far ends in every kind of trouble,
 * operators, crashes, a failing store and a clock that jumps (world.ts). Each run is held against what is promised; a
 * failing one prints the line that plays it again. What is not in these worlds: TLS, relays, warm-up, returned mail, and
 * messages to several recipients in one transaction. Many more runs: `npm run simulate -- --runs 5000`.
 */
import { describe, expect, it } from 'vitest';
import { runSeed } from './world.ts';

const FIRST_SEED = 1;
const RUNS = 100;
const RUNS_A_TEST = 20;

describe('the delivery engine, simulated', () => {
  for (let seed = FIRST_SEED; seed < FIRST_SEED + RUNS; seed += RUNS_A_TEST) {
    it(`keeps its promises in the worlds ${seed} to ${seed + RUNS_A_TEST - 1}`, async () => {
      const broken: string[] = [];
      let recipients = 0;
      for (let i = seed; i < seed + RUNS_A_TEST; i++) {
        const result = await runSeed(i);
        recipients += result.recipients;
        if (result.wrong.length === 0) continue;
        broken.push(`again with: npm run simulate -- --runs 1 --seed ${i}`, ...result.wrong);
      }
      expect(broken).toEqual([]);
      expect(recipients).toBeGreaterThan(RUNS_A_TEST * 10);
    });
  }

  it('makes the same run of the same seed', async () => {
    const [first, second] = [await runSeed(4), await runSeed(4)];
    expect(first.transactions).toBeGreaterThan(0);
    expect(second).toEqual(first);
  });
});
