import { describe, expect, it } from 'vitest';
import { createSharedTurns, createTurns } from './turns.ts';

describe('a turn', () => {
  it('ends only when it has worked long enough, and lets others come first', async () => {
    let nowMs = 0;
    const turn = createTurns({ monotonicMs: () => nowMs });
    const order: string[] = [];
    setImmediate(() => order.push('somebody else'));
    nowMs = 7;
    expect(turn()).toBeUndefined();
    nowMs = 8;
    await turn();
    order.push('the work');
    expect(order).toEqual(['somebody else', 'the work']);
    nowMs = 15;
    expect(turn()).toBeUndefined();
  });
});

describe('shared turns', () => {
  it('begin one after the other, as many at once as fit into a turn of the loop', async () => {
    let nowMs = 0;
    const turn = createSharedTurns({ monotonicMs: () => nowMs });
    let loop = 0;
    const count = () => {
      loop += 1;
      if (loop < 20) setImmediate(count);
    };
    setImmediate(count);
    const began: number[] = [];
    await Promise.all(
      Array.from({ length: 6 }, async () => {
        await turn();
        began.push(loop);
        nowMs += 4;
      }),
    );
    // Two of four milliseconds fit.
    expect(began[1]).toBe(began[0]);
    expect(began[2]).toBeGreaterThan(began[1] ?? 0);
    expect(began[4]).toBeGreaterThan(began[3] ?? 0);
    expect(new Set(began).size).toBe(3);
  });
});
