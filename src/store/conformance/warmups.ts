/** Conformance: warm-up states outlive a restart and replace each other. */
import { describe, expect, it } from 'vitest';
import type { Suite } from './fixtures.ts';

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
export function describeWarmups(suite: Suite): void {
  describe('warm-ups', () => {
    it('keeps one state per source and provider, the last one written, over a restart', async () => {
      expect(await suite.store().listWarmups()).toEqual([]);
      await suite.store().saveWarmup({ source: 'a', provider: 'google', state: { ...STATE, level: 1 } });
      await suite.store().saveWarmup({ source: 'a', provider: 'google', state: STATE });
      await suite.store().saveWarmup({ source: 'a', provider: 'yahoo', state: { ...STATE, quarters: [] } });
      await suite.store().saveWarmup({ source: 'b', provider: 'google', state: { ...STATE, level: 0 } });
      await suite.reopen();
      const rows = [...(await suite.store().listWarmups())].sort((x, y) =>
        `${x.source}${x.provider}` < `${y.source}${y.provider}` ? -1 : 1,
      );
      expect(rows).toEqual([
        { source: 'a', provider: 'google', state: STATE },
        { source: 'a', provider: 'yahoo', state: { ...STATE, quarters: [] } },
        { source: 'b', provider: 'google', state: { ...STATE, level: 0 } },
      ]);
    });
  });
}
