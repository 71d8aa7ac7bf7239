/** Suppressions that come while mail is on its way into memory. */
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../../test/fakes/thread-cpu.ts';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import { createLateSuppressions } from './late-suppressions.ts';

const to = (address: string) => ({ senderDomain: 'example.com', address }) as ClaimedDelivery;
const added = (key: string) => ({ senderDomain: 'example.com', key, reason: 'Manual' as const });

describe('late suppressions', () => {
  it('reach mail whose claim began before, however long it takes, and no other', async () => {
    const clock = createVirtualClock();
    const sinceMs = clock.monotonicMs();
    const late = createLateSuppressions(clock, () => sinceMs);
    late.add([added('a@x.test')]);
    await clock.advance(600_000);
    late.add([added('b@x.test'), { ...added('a@x.test'), lifted: true }]);
    const [a, b, c] = [to('A@x.test'), to('b@x.test'), to('c@x.test')];
    expect([a, b, c].map((one) => late.note(one, sinceMs))).toEqual([true, true, false]);
    expect([a, b].map(({ suppressedFor }) => suppressedFor)).toEqual([[], ['Manual']]);
    await clock.advance(1);
    expect(late.note(to('b@x.test'), clock.monotonicMs())).toBe(false);
  });

  it('cost as much as there are new ones, however many were imported before', async () => {
    const clock = createVirtualClock();
    const late = createLateSuppressions(clock, () => clock.monotonicMs());
    const cpuMs = cpuMsOf(() => {
      for (let i = 0; i < 1_000; i += 1)
        late.add(Array.from({ length: 50 }, (_, n) => added(`${i}.${n}@x.test`)));
    });
    expect(cpuMs).toBeLessThan(1_500);
  });
});
