/**
 * The simulation itself: one seed makes one run, and the promises that are watched bite. Each mutation breaks the engine
 * in one place, as a bug would; some world among the first must notice, in the words of the promise it breaks. The
 * worlds as they are: worlds-1.test.ts and on. Many more: `npm run simulate -- --runs 5000`.
 */
import { describe, expect, it } from 'vitest';
import { MUTATIONS } from './mutations.ts';
import { runSeed } from './world.ts';

const MOST_SEEDS = 150;

describe('a simulated run', () => {
  it.each([4, 28, 34, 64, 100, 137, 912])('is the same again with seed %i', async (seed) => {
    const [first, second] = [await runSeed(seed), await runSeed(seed)];
    expect(first.transactions).toBeGreaterThan(0);
    expect(second).toEqual(first);
  });

  it('differs with the seed', async () => {
    const digests = [await runSeed(1), await runSeed(2), await runSeed(3)].map(({ digest }) => digest);
    expect(new Set(digests).size).toBe(3);
  });
});

describe('the promises notice', () => {
  it.each(MUTATIONS.map((mutation) => [mutation.name, mutation] as const))('%s', async (_, mutation) => {
    let noticed: readonly string[] = [];
    for (let seed = 1; seed <= MOST_SEEDS && noticed.length === 0; seed++) {
      const { wrong } = await runSeed(seed, mutation);
      noticed = wrong.filter((what) => mutation.notices.test(what));
    }
    expect(noticed).not.toEqual([]);
  });
});
