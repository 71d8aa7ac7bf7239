import { describe, expect, it } from 'vitest';
import type { PathSnapshot } from '../pipeline/deliver/path/state.ts';
import type { SimulationPlan } from './plan/plan.ts';
import { createWaits } from './waits.ts';

const PLAN = { mail: [{ recipients: 10_000 }] } as unknown as SimulationPlan;
const GROUP = { provider: 'google', lane: 'bulk', deferred: 0, deferredBy: '' } as const;

function path(
  waitsFor: string,
  reason: string | null,
  more: { inMemory?: number; messagesPerSecond?: number } = {},
) {
  const { inMemory = 1, messagesPerSecond = null } = more;
  return {
    waitsFor,
    reason,
    inMemory,
    effective: { limits: { messagesPerSecond } },
  } as unknown as PathSnapshot;
}

describe('what waited', () => {
  it('has the reason of the path with the most mail, from the first look to the last, as it was at its worst', () => {
    const waits = createWaits(PLAN, 1);
    const paths = [path('connections', 'few', { inMemory: 1 }), path('pause', 'much', { inMemory: 9 })];
    for (const [waiting, atMs] of [
      [10, 0],
      [50, 1000],
      [20, 2000],
    ] as const)
      waits.look({ ...GROUP, waiting }, waiting === 20 ? [path('pause', 'little')] : paths, atMs);
    expect(waits.list()).toEqual([
      { place: 'google', lane: 'bulk', reason: 'much', peak: 50, peakAtMs: 1000, fromMs: 0, untilMs: 2000 },
    ]);
  });

  it('is deferred mail, and the rest', () => {
    const waits = createWaits(PLAN, 1);
    waits.look(
      { ...GROUP, waiting: 30, deferred: 10, deferredBy: '451 later' },
      [path('pause', 'closed')],
      0,
    );
    expect(waits.list().map(({ reason, peak }) => [reason, peak])).toEqual([
      ['closed', 20],
      ['tried again later, after: 451 later', 10],
    ]);
    const all = createWaits(PLAN, 1);
    all.look({ ...GROUP, waiting: 10, deferred: 10, deferredBy: '451 later' }, [path('pause', 'closed')], 0);
    expect(all.list()).toHaveLength(1);
  });

  it('is left out where it was on its way, or little', () => {
    const waits = createWaits(PLAN, 1);
    waits.look({ ...GROUP, waiting: 500 }, [path('none', null)], 0);
    waits.look({ ...GROUP, waiting: 500 }, [path('connecting', 'it is being connected to')], 0);
    waits.look({ ...GROUP, lane: 'normal', waiting: 4 }, [path('pause', 'closed')], 0);
    expect(waits.list()).toEqual([]);
    waits.look({ ...GROUP, lane: 'normal', waiting: 5 }, [path('pause', 'closed')], 0);
    expect(waits.list()).toHaveLength(1);
  });

  it('names the rate of the plan, and no instant', () => {
    const reasonOf = (weight: number, reason: string, messagesPerSecond: number) => {
      const waits = createWaits(PLAN, weight);
      waits.look({ ...GROUP, waiting: 50 }, [path('message-rate', reason, { messagesPerSecond })], 0);
      return waits.list()[0]?.reason;
    };
    expect(reasonOf(1, 'rate limit of google: 2/s', 2)).toBe('rate limit of google: 2/s');
    expect(reasonOf(100, 'rate limit of google: 12/min', 0.2)).toBe('rate limit of google: 20/s');
    expect(reasonOf(10, 'rate limit of google: 1/min', 0.02)).toBe('rate limit of google: 12/min');
    const waits = createWaits(PLAN, 1);
    waits.look(
      { ...GROUP, waiting: 50 },
      [path('pause', 'closed until 2027-01-04T08:00:00.000Z: 421 busy')],
      0,
    );
    expect(waits.list()[0]?.reason).toBe('closed: 421 busy');
  });
});
