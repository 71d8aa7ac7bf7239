import { describe, expect, it } from 'vitest';
import { createTurns } from './turns.ts';

describe('a turn', () => {
  it('ends only when it has worked long enough, and lets others come first', async () => {
    let nowMs = 0;
    const turn = createTurns({ monotonicMs: () => nowMs }, 8);
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
