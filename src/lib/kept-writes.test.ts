import { describe, expect, it } from 'vitest';
import { createKeptWrites } from './kept-writes.ts';
import { createVirtualClock } from './virtual-clock.ts';

class Away extends Error {}

function world(options: { maxBatch?: number } = {}) {
  const clock = createVirtualClock(0);
  const tried: string[][] = [];
  const told: string[] = [];
  const bad = new Set<string>();
  const state = { away: false, answer: Promise.resolve() };
  const writes = createKeptWrites<string, string>({
    ...options,
    clock,
    retryMs: 100,
    async write(items) {
      tried.push([...items]);
      await state.answer;
      if (state.away) throw new Away();
      if (items.some((item) => bad.has(item))) throw new TypeError();
      return items.map((item) => item.toUpperCase());
    },
    isAway: (cause) => cause instanceof Away,
    written: (item, result) => told.push(`${item}=${result}`),
    refused: (item) => told.push(`${item} refused`),
    away: (_, count) => told.push(`away with ${count}`),
    back: () => told.push('back'),
  });
  return { clock, writes, tried, told, bad, state };
}

describe('what must not get lost', () => {
  it('goes together where it comes in one turn, in portions of at most so many', async () => {
    const { writes, tried, told } = world({ maxBatch: 2 });
    await Promise.all(['a', 'b', 'c'].map((item) => writes.put(item)));
    expect(tried).toEqual([['a', 'b'], ['c']]);
    expect(told).toEqual(['a=A', 'b=B', 'c=C']);
  });

  it('is waited for as far as it was given, however much comes after it', async () => {
    const { writes, tried, state } = world();
    const answers = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    let drained = false;
    for (const [n, { promise }] of answers.entries()) {
      state.answer = promise;
      void writes.put(`${n}`);
      if (n === 0) void writes.drained().then(() => (drained = true));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect([tried, drained]).toEqual([[['0'], ['1'], ['2']], false]);
    answers[0]?.resolve();
    await new Promise((resolve) => setImmediate(resolve));
    expect([writes.size, drained]).toEqual([2, true]);
  });

  it('is kept while nothing can be written, and goes with what came meanwhile, in order', async () => {
    const { clock, writes, tried, told, state } = world();
    state.away = true;
    const stored = [writes.put('a'), writes.put('b')];
    await clock.advance(50);
    expect([writes.paused, writes.size]).toEqual([true, 2]);
    stored.push(writes.put('c'));
    await clock.advance(100);
    state.away = false;
    await clock.advance(100);
    await Promise.all([...stored, writes.drained()]);
    expect(tried).toEqual([
      ['a', 'b'],
      ['a', 'b', 'c'],
      ['a', 'b', 'c'],
    ]);
    expect(told).toEqual(['away with 2', 'a=A', 'b=B', 'c=C', 'back']);
    expect([writes.paused, writes.size]).toEqual([false, 0]);
  });

  it('is not held up by one that is refused for what it is', async () => {
    const { writes, tried, told, bad } = world();
    bad.add('b');
    await Promise.all(['a', 'b', 'c'].map((item) => writes.put(item)));
    expect(tried).toEqual([['a', 'b', 'c'], ['a'], ['b'], ['c']]);
    expect(told.toSorted()).toEqual(['a=A', 'b refused', 'c=C']);
  });

  it('goes on after an outage that ended with a refusal', async () => {
    const { clock, writes, told, bad, state } = world();
    bad.add('b');
    state.away = true;
    void writes.put('b');
    await clock.advance(50);
    state.away = false;
    await clock.advance(100);
    expect(told).toEqual(['away with 1', 'b refused', 'back']);
    await writes.put('c');
    expect(told.at(-1)).toBe('c=C');
  });

  it('stays in order where several batches were under way when it went', async () => {
    const { clock, writes, tried, state } = world({ maxBatch: 1 });
    const { promise, resolve } = Promise.withResolvers<void>();
    Object.assign(state, { away: true, answer: promise });
    for (const item of ['a', 'b', 'c']) void writes.put(item);
    await clock.advance(50);
    resolve();
    await clock.advance(50);
    state.away = false;
    await clock.advance(100);
    await writes.drained();
    expect(tried.slice(-3)).toEqual([['a'], ['b'], ['c']]);
  });

  it('is not offered again after a stop', async () => {
    const { clock, writes, tried, state } = world();
    state.away = true;
    void writes.put('a');
    await clock.advance(50);
    writes.stop();
    await clock.advance(1_000);
    expect(tried).toEqual([['a']]);
  });
});
