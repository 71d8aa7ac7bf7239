/** A path's share in a warm-up: mail that never reached the provider does not count. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { systemClock } from '../../../lib/clock.ts';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import { soleLease } from '../../../model/node.ts';
import { createWarmup } from '../../../policy/limits/warmup/warmup.ts';
import { T0 } from '../../../store/conformance/fixtures.ts';
import { openTestStore } from '../../../store/sqlite/test-support.ts';
import type { Store } from '../../../store/store.ts';
import { createPathWarmup } from './warmup.ts';

let store: Store;

beforeAll(async () => {
  store = await openTestStore(systemClock);
});

afterAll(async () => {
  await store.close();
});

it('gives back what was taken for recipients that the far end had no say about', async () => {
  const clock = createVirtualClock(T0);
  const log = { debug() {}, info() {}, warn() {}, error() {} };
  const warmup = createWarmup({ store, node: soleLease(1), clock, log }, { sources: ['fresh'] });
  await warmup.start();
  const written = new Promise<void>((wake) => {
    const path = createPathWarmup(
      { warmup, name: 'path', now: clock.now, wake },
      { source: 'fresh', provider: 'yahoo' },
    );
    expect(path.mayGo('normal')).toBe(false);
  });
  await written;
  const path = createPathWarmup(
    { warmup, name: 'path', now: clock.now, wake() {} },
    { source: 'fresh', provider: 'yahoo' },
  );
  const used = () => warmup.list()[0]?.used;
  expect(path.mayGo('normal')).toBe(true);
  path.went('normal');
  expect(used()).toBe(1);
  path.cameBack(1);
  expect(used()).toBe(0);
  expect(path.mayGo('normal')).toBe(true);
  path.release();
  await warmup.stop();
});
