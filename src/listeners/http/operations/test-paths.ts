/** A closed path as delivery would show it, for tests. */
import type { PathSnapshot } from '../../../pipeline/deliver/path/state.ts';
import type { World } from '../test-world.ts';

const HOUR = 3_600_000;

export function pathSnapshot(world: World, more: Partial<PathSnapshot> = {}): PathSnapshot {
  const now = world.clock.now();
  return {
    key: '>google',
    source: '',
    site: 'google',
    provider: 'google',
    route: 'mx',
    domains: ['example.net', 'gmail.com'],
    connections: { open: 1, busy: 1, hanging: 0, opening: 0 },
    window: 2,
    effective: world.shaping.limitsFor({ source: '', site: 'google', provider: 'google', route: 'mx' }),
    overrides: world.overrides.of('path', '>google'),
    breaker: { kind: 'open', until: now + HOUR, failures: 2 },
    reason: 'path: 421 4.7.28 too much mail',
    waitsFor: 'breaker',
    withoutDns: false,
    waitsUntil: now + HOUR,
    waiting: { critical: 0, normal: 2, bulk: 5 },
    inMemory: 8,
    inFlight: 1,
    lastSuccess: { at: now - HOUR, text: '250 ok' },
    lastFailure: null,
    ...more,
  };
}
