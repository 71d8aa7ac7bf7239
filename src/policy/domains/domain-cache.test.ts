import { expect, it } from 'vitest';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { Domain } from '../../model/domain.ts';
import { createDomainCache } from './domain-cache.ts';

/** A store that answers when it is told to. */
function slowStore() {
  const clock = createVirtualClock();
  const answers: ((domain: Domain | null) => void)[] = [];
  const getDomain = () => new Promise<Domain | null>((resolve) => answers.push(resolve));
  return { clock, answers, cache: createDomainCache({ store: { getDomain }, clock }) };
}

it('asks a slow store once for all who ask meanwhile, and keeps an answer that took longer than it is kept', async () => {
  const { clock, answers, cache } = slowStore();
  const asked = [1, 2, 3].map(() => cache.lookUp('example.com'));
  await clock.advance(60_000);
  expect(answers).toHaveLength(1);
  for (const answer of answers) answer(null);
  const [first] = await Promise.all(asked);
  expect(cache.known('example.com')).toBe(first);
  await clock.advance(5_000);
  expect(cache.known('example.com')).toBeNull();
});

it('asks again for those who come after a change', async () => {
  for (const change of ['forget', 'readAgain'] as const) {
    const { answers, cache } = slowStore();
    const before = cache.lookUp('example.com');
    cache[change]('example.com');
    const after = cache.lookUp('example.com');
    expect(answers, change).toHaveLength(2);
    for (const answer of answers) answer(null);
    await before;
    expect(cache.known('example.com'), change).toBe(await after);
  }
});

it('asks again after the store has failed', async () => {
  let asked = 0;
  const getDomain = () => {
    asked += 1;
    return Promise.reject(new Error('away'));
  };
  const cache = createDomainCache({ store: { getDomain }, clock: createVirtualClock() });
  for (const times of [1, 2]) {
    await expect(cache.lookUp('example.com')).rejects.toThrow('away');
    expect(asked).toBe(times);
  }
});
