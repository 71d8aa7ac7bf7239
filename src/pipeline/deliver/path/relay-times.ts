/**
 * When a failing relay is tried again, as it is told everywhere: when it is no longer passed over and a path that uses it is
 * open, whichever is later. Given the states of relays and the paths; never a time in the past.
 */
import { siteNames } from '../../../policy/limits/holds.ts';
import type { RelayState } from '../routing/relay-health.ts';
import type { PathRef } from './state.ts';

export function relaysAsTried(
  relays: readonly RelayState[],
  paths: readonly PathRef[],
  now: number,
): readonly RelayState[] {
  if (relays.length === 0) return [];
  const places = paths.map((path) => ({ path, names: siteNames(path.site) }));
  return relays.map((state) => {
    const own = places.filter(({ names }) => names.includes(state.relay));
    const opens = own.map(({ path }) => (path.blocked ? (path.snapshot().waitsUntil ?? 0) : 0));
    return {
      ...state,
      until: Math.max(now, state.until, ...(opens.length === 0 ? [] : [Math.min(...opens)])),
    };
  });
}
