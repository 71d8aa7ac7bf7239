import { expect, it } from 'vitest';
import { createPlaces } from './places.ts';

it('a domain gets half of the places, and one again for each that it gives back', () => {
  const places = createPlaces(4);
  for (let n = 0; n < 2; n += 1) {
    expect(places.mayTake('a.test')).toBe(true);
    places.take('a.test');
  }
  expect(places.mayTake('a.test')).toBe(false);
  expect(places.mayTake('b.test')).toBe(true);
  places.take('b.test');
  expect(places.mayTake('b.test')).toBe(false);
  places.giveBack('a.test');
  // One of a.test's calls still runs: it counts.
  places.take('c.test');
  expect(places.free()).toBe(1);
  expect(places.mayTake('a.test')).toBe(false);
  expect(places.mayTake('d.test')).toBe(true);
});
