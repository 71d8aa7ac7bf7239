import { expect, it } from 'vitest';
import { sweepSome } from './sweep-some.ts';

it('looks at a few entries a call, at each in turn, and removes the unused', () => {
  const map = new Map(Array.from({ length: 10 }, (_, n) => [n, n % 3 === 0 ? 'unused' : 'used']));
  const looked: number[] = [];
  const sweep = (looks: number) =>
    sweepSome(map, looks, (value, key) => looked.push(key) > 0 && value === 'unused').map(([key]) => key);
  expect(sweep(4)).toEqual([0, 3]);
  expect(sweep(4)).toEqual([6]);
  expect(looked).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
  expect(sweep(4)).toEqual([9]);
  expect(looked.slice(8)).toEqual([8, 9, 1, 2]);
  expect([...map.values()]).toEqual(Array.from({ length: 6 }, () => 'used'));
});

it('looks at each entry once where there are fewer than looks', () => {
  const map = new Map([['a', 1]]);
  let looks = 0;
  expect(sweepSome(map, 5, () => ++looks > 1)).toEqual([]);
  expect(looks).toBe(1);
  expect(sweepSome(new Map(), 5, () => true)).toEqual([]);
  expect(sweepSome(map, 0, () => true)).toEqual([]);
});
