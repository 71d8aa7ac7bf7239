import { expect, it } from 'vitest';
import { paced } from './paced.ts';
import { createVirtualClock } from './virtual-clock.ts';

it('works at once, then once for all that is asked meanwhile', async () => {
  const clock = createVirtualClock();
  let done = 0;
  const ask = paced(clock, 1_000, () => {
    done += 1;
  });
  for (let i = 0; i < 5; i += 1) ask();
  expect(done).toBe(1);
  await clock.advance(1_000);
  expect(done).toBe(2);
  await clock.advance(5_000);
  expect(done).toBe(2);
  ask();
  expect(done).toBe(3);
});
