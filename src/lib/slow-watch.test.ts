import { expect, it } from 'vitest';
import { createSlowWatch } from './slow-watch.ts';
import { createVirtualClock } from './virtual-clock.ts';

it('says that something is slow while all of the last five took long, and forgets it after a minute', async () => {
  const clock = createVirtualClock();
  const watch = createSlowWatch(clock);
  const took = (...durations: number[]) => {
    for (const each of durations) watch.took('commits', each);
    watch.took('reads', 3);
    return watch.slow();
  };
  expect(took(1_500, 1_500, 1_500, 1_500)).toBeNull();
  expect(took(2_340)).toBe('the last 5 commits took a second or longer each, up to 2.3 s');
  expect(took(40)).toBeNull();
  expect(took(1_500, 1_500, 1_500, 1_500)).toBeNull();
  expect(took(1_500)).not.toBeNull();
  await clock.advance(60_000);
  expect(watch.slow()).toBeNull();
});
