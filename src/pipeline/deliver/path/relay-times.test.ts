/** The one time at which a failing relay is said to be tried again. */
import { expect, it } from 'vitest';
import { relaysAsTried } from './relay-times.ts';
import type { PathRef, PathSnapshot } from './state.ts';

const NOW = 1_790_000_000_000;
const failing = (until: number) => ({
  relay: 'r.test:25',
  failures: 1,
  until,
  at: 'connect' as const,
  why: 'no',
});
const path = (site: string, waitsUntil: number | null): PathRef => ({
  ...{ key: `>${site}`, site, provider: null, domains: [], elsewhere: false, blocked: waitsUntil !== null },
  snapshot: () => ({ waitsUntil }) as PathSnapshot,
});
const told = (until: number, ...paths: PathRef[]) => relaysAsTried([failing(until)], paths, NOW)[0]?.until;

it('is the later of the relay’s and of its path’s, and never past', () => {
  const site = 'relay:r.test:25';
  expect(told(NOW + 30, path(site, NOW + 50))).toBe(NOW + 50);
  expect(told(NOW + 60, path(site, NOW + 50))).toBe(NOW + 60);
  expect(told(NOW - 10, path(site, null))).toBe(NOW);
  expect(told(NOW - 10)).toBe(NOW);
});

it('is that of the first of its paths that opens, also within a list of relays', () => {
  const list = 'relay:r.test:25|relay:s.test:25';
  expect(told(NOW, path('relay:r.test:25', NOW + 50), path(list, NOW + 20), path('other', NOW + 1))).toBe(
    NOW + 20,
  );
  expect(told(NOW, path('relay:r.test:25', NOW + 50), path(list, null))).toBe(NOW);
});
