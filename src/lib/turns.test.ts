import { describe, expect, it } from 'vitest';
import { createFairTurns, createSharedTurns, createTurns } from './turns.ts';

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

  it('is followed by the given rest, which is no part of the next one', async () => {
    let nowMs = 8;
    const rest = async () => {
      nowMs += 24;
    };
    const turn = createTurns({ monotonicMs: () => nowMs }, rest);
    expect(turn()).toBeUndefined();
    nowMs = 16;
    await turn();
    expect(nowMs).toBe(40);
    nowMs = 47;
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

describe('fair turns', () => {
  it('begin at once while a turn of the loop lasts, then one piece of each owner after the other', async () => {
    let nowMs = 0;
    const turns = createFairTurns({ monotonicMs: () => nowMs });
    const began: string[] = [];
    const piece = (owner: string) => () => {
      began.push(owner);
      // What follows from a piece counts as its work.
      void Promise.resolve().then(() => {
        nowMs += 4;
      });
      nowMs += 4;
    };
    for (let i = 0; i < 4; i++) turns('flood', piece('flood'));
    turns('a', piece('a'));
    turns('b', piece('b'));
    expect(began).toEqual(['flood', 'flood']);
    let loops = 0;
    const seen: number[] = [];
    while (began.length < 6 && loops < 20) {
      await new Promise((resolve) => setImmediate(resolve));
      loops++;
      seen.push(began.length);
    }
    expect(began).toEqual(['flood', 'flood', 'flood', 'a', 'b', 'flood']);
    for (const n of [3, 4, 5, 6]) expect(seen).toContain(n);
  });

  it('look for further connections before they work on, once for each millisecond that they have worked', async () => {
    let nowMs = 0;
    const turns = createFairTurns({ monotonicMs: () => nowMs });
    const began: string[] = [];
    const arrive = async (many: number) => {
      for (let i = 0; i < many; i++) {
        turns.arrived();
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const work = (owner: string, ms: number) =>
      turns(owner, () => {
        began.push(owner);
        nowMs += ms;
      });
    for (const owner of ['a', 'b', 'c']) work(owner, 8);
    await arrive(8);
    // However long the look takes.
    nowMs += 50;
    work('d', 8);
    expect(began).toEqual(['a']);
    await arrive(1);
    expect(began).toEqual(['a', 'b']);
    await arrive(1);
    expect(began).toEqual(['a', 'b']);
    // Nobody came since.
    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    expect(began).toEqual(['a', 'b', 'c', 'd']);

    for (let i = 0; i < 3; i++) await new Promise((resolve) => setImmediate(resolve));
    work('short', 1);
    await arrive(1);
    work('next', 1);
    expect(began).not.toContain('next');
    await arrive(1);
    expect(began).toContain('next');
  });
});
