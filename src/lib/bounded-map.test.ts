import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { BoundedMap } from './bounded-map.ts';

it('holds the keys that were set last, whatever else is done with it', () => {
  const step = fc.tuple(fc.constantFrom('set', 'get', 'delete'), fc.nat(6));
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 4 }), fc.array(step), (max, steps) => {
      const map = new BoundedMap<number, string>(max);
      let newest: number[] = [];
      for (const [what, key] of steps) {
        map[what](key, 'x');
        if (what !== 'get') newest = newest.filter((each) => each !== key);
        if (what === 'set') newest = [...newest, key].slice(-max);
        expect([...map.keys()]).toEqual(newest);
      }
    }),
  );
});

it('takes a further key as quickly however many it holds', () => {
  const fill = (max: number) => {
    const map = new BoundedMap<number, number>(max);
    for (let i = 0; i < 300_000; i += 1) map.set(i, i);
  };
  const least = (max: number) => Math.min(...[1, 2, 3].map(() => cpuMsOf(() => fill(max))));
  expect(least(50_000)).toBeLessThan(20 * least(500) + 50);
});

it('keeps nothing of what was in it, however often its keys are set', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const map = new BoundedMap<number, object>(2);
  // Full once, so that an old key has gone by its place.
  for (const key of [1, 2, 3]) map.set(key, {});
  const forgotten = Array.from({ length: 10_000 }, (_, i) => {
    const value = {};
    map.set(i % 2, value);
    return new WeakRef(value);
  }).slice(0, -2);
  // What was given to a reference stays until the end of the turn.
  await new Promise(setImmediate);
  collect();
  expect(forgotten.filter((value) => value.deref() !== undefined)).toHaveLength(0);
  expect(map.size).toBe(2);
});
