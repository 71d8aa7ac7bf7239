import { Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import { StoreUnavailable } from '../../store/store.ts';
import { createQueueMetrics } from './queue-metrics.ts';

const T0 = 1_750_000_000_000;
const COUNTED = [
  'postrider_queue_sending',
  'postrider_queue_oldest_due_seconds',
  'postrider_webhook_calls_pending',
  'postrider_queue_waiting',
];

function metricsOf(queueCounts: Parameters<typeof createQueueMetrics>[1]['store']['queueCounts']) {
  const registry = new Registry();
  const queue = { inMemory: () => ({ rows: 3, bytes: 700 }) };
  createQueueMetrics(registry, { store: { queueCounts }, queue, clock: createVirtualClock(T0) });
  /** Name → value of every sample. */
  return async () =>
    Object.fromEntries(
      (await registry.metrics())
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#'))
        .map((line) => line.split(' '))
        .map(([name, value]) => [name, Number(value)]),
    );
}

it('of the database are left out while it cannot be reached, and all others are answered', async () => {
  let isAway = false;
  let asked = 0;
  const read = metricsOf(async () => {
    asked++;
    if (isAway) throw new StoreUnavailable('The store cannot work');
    return { queued: 5, sending: 2, oldestDueAt: T0 - 30_000, pendingCalls: 7 };
  });
  const held = { postrider_window_rows: 3, postrider_window_bytes: 700 };
  const all = { ...held, ...Object.fromEntries(COUNTED.map((name, at) => [name, [2, 30, 7, 5][at]])) };
  // The first answer has them all, from one count.
  expect(await read()).toEqual(all);
  expect(asked).toBe(1);
  isAway = true;
  expect(await read()).toEqual(held);
  isAway = false;
  expect(await read()).toEqual(all);
});

it('fail on a bug', async () => {
  const read = metricsOf(async () => {
    throw new TypeError('not a function');
  });
  await expect(read()).rejects.toThrow('not a function');
});
