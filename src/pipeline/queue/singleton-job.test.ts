/** A job of one node: what a lease does that comes and goes while the job is being stopped. */
import { expect, it } from 'vitest';
import { silentLogger } from '../../lib/log.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { LeaseListener } from './leases.ts';
import { createSingletonJob } from './singleton-job.ts';

it('does not start again for a lease that comes back while it stops', async () => {
  let running = 0;
  let ended = () => {};
  const service = {
    async start() {
      running += 1;
    },
    async stop() {
      await new Promise<void>((resolve) => {
        ended = resolve;
      });
      running -= 1;
    },
  };
  let listener: LeaseListener = { changed() {} };
  const membership = {
    want(_name: string, given: LeaseListener) {
      listener = given;
      return { state: () => 'held' as const, end() {} };
    },
  };
  const job = createSingletonJob({ membership, clock: createVirtualClock(), log: silentLogger }, 'job', [
    service,
  ]);
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  await job.start();
  listener.changed('held', null);
  await turn();
  expect(running).toBe(1);
  const stopped = job.stop(0);
  await turn();
  listener.changed('asking', 100);
  listener.changed('held', null);
  ended();
  await stopped;
  await turn();
  expect(running).toBe(0);
});
