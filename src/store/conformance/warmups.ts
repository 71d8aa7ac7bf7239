/** Conformance: warm-up states outlive a restart and replace each other. */
import { describe, expect, it } from 'vitest';
import type { WarmupRow } from '../topics/warmups.ts';
import { type Suite, T0 } from './fixtures.ts';

const STATE = {
  level: 3,
  day: 20_000,
  used: 17,
  deferred: 2,
  blocked: 0,
  lastUsedAt: 1_700_000_000_123,
  paceAt: 1_700_000_000_123.5,
  quarters: [
    [1_888_888, 7],
    [1_888_890, 10],
  ] as [number, number][],
};

/** Tests of `listWarmups`, `saveWarmup`. */
export function describeWarmups({ store, reopen }: Suite): void {
  const save = (row: WarmupRow, epoch = 1) => store.saveWarmup({ ...row, epoch });

  describe('warm-ups', () => {
    it('keeps one state per source and provider, the last one written, over a restart', async () => {
      expect(await store.listWarmups()).toEqual([]);
      await save({ source: 'a', provider: 'google', state: { ...STATE, level: 1 } });
      await save({ source: 'a', provider: 'google', state: STATE });
      await save({ source: 'a', provider: 'yahoo', state: { ...STATE, quarters: [] } });
      await save({ source: 'b', provider: 'google', state: { ...STATE, level: 0 } });
      await reopen();
      const rows = [...(await store.listWarmups())].sort((x, y) =>
        `${x.source}${x.provider}` < `${y.source}${y.provider}` ? -1 : 1,
      );
      expect(rows).toEqual([
        { source: 'a', provider: 'google', state: STATE },
        { source: 'a', provider: 'yahoo', state: { ...STATE, quarters: [] } },
        { source: 'b', provider: 'google', state: { ...STATE, level: 0 } },
      ]);
    });

    it('are not overwritten by a node whose epoch others have ended', async () => {
      const paused = await store.beginEpoch({ nodeId: 'a', now: T0 });
      const successor = await store.beginEpoch({ nodeId: 'b', now: T0 });
      const row = (level: number) => ({ source: 'a', provider: 'google', state: { ...STATE, level } });
      expect(await save(row(1), paused)).toBe(true);
      await store.endEpoch({ epoch: paused, now: T0 });
      expect(await save(row(2), successor)).toBe(true);
      expect(await save(row(1), paused)).toBe(false);
      expect(await store.listWarmups()).toEqual([row(2)]);
    });
  });
}
