import { expect, it } from 'vitest';
import { createSlewedClock } from './slewed-clock.ts';
import { createVirtualClock } from './virtual-clock.ts';

const T0 = 1_790_000_000_000;

it('follows another clock slowly, in both directions, and keeps the distance then', async () => {
  const base = createVirtualClock(T0);
  const clock = createSlewedClock(base);
  expect(clock.now()).toBe(T0);
  clock.follow(1_000);
  expect(clock.now()).toBe(T0);
  await base.advance(10_000);
  expect(clock.now()).toBe(base.now() + 500);
  await base.advance(60_000);
  expect(clock.now()).toBe(base.now() + 1_000);
  // It stays behind its own past nowhere.
  clock.follow(-3_000);
  let before = clock.now();
  for (let i = 0; i < 100; i += 1) {
    await base.advance(1_000);
    expect(clock.now()).toBeGreaterThan(before);
    before = clock.now();
  }
  expect(clock.now()).toBe(base.now() - 2_000);
});

it('takes the other time at once where that is asked', () => {
  const base = createVirtualClock(T0);
  const clock = createSlewedClock(base);
  clock.follow(-30_000, true);
  expect(clock.now()).toBe(T0 - 30_000);
});

it('goes on evenly when the clock of this machine is set while it follows, and says how far that is off', async () => {
  const base = createVirtualClock(T0);
  const clock = createSlewedClock(base);
  clock.follow(0, true);
  for (const [i, wrongMs] of [3_600_000, -3_600_000].entries()) {
    base.jumpWallTo(T0 + 1_000 * i + wrongMs);
    expect(clock.now()).toBe(T0 + 1_000 * i);
    await base.advance(1_000);
    expect(clock.now()).toBe(T0 + 1_000 * (i + 1));
    expect(clock.follow(0)).toBe(-wrongMs);
  }
});

it('takes the other time at once after a suspension, and slowly where this machine disagrees with it', async () => {
  const base = createVirtualClock(T0);
  const clock = createSlewedClock(base);
  clock.follow(0, true);
  base.jumpWallTo(T0 + 3_600_000);
  expect(clock.follow(3_600_000)).toBe(0);
  expect(clock.now()).toBe(base.now());
  expect(clock.follow(3_600_000)).toBe(3_600_000);
  await base.advance(1_000);
  expect(clock.now()).toBe(base.now() + 50);
});
