/**
 * The capacity run at a hundredth of its size: three providers that misbehave for hours do not slow the others, and cost
 * a bounded number of rows. At full size: `npm run simulate -- --capacity`.
 */
import { expect, it } from 'vitest';
import { runCapacity } from './capacity.ts';

const SIZE = { sites: 100, recipients: 10_000, seed: 1 };

it('sends past a throttling, a tarpitting and a blocking provider, as if they were not there', async () => {
  const troubled = await runCapacity({ ...SIZE, troubled: true });
  expect(troubled.wrong).toEqual([]);
  expect(troubled.states).toEqual({ delivered: SIZE.recipients });
  const quiet = await runCapacity({ ...SIZE, troubled: false });
  expect(quiet.wrong).toEqual([]);
  expect(troubled.good.p99).toBeLessThanOrEqual(quiet.good.p99 * 1.1);
  for (const { name, recipients, deferred, givenBack } of troubled.bad) {
    // What waits for a provider is not touched: only what was in memory, at each try.
    expect(deferred + givenBack, name).toBeLessThan(recipients);
  }
}, 300_000);
