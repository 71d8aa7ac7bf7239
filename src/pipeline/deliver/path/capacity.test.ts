/** What a path may do at its start, by what is stored about it. */
import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../../lib/virtual-clock.ts';
import type { RememberedPath } from '../../../policy/limits/shaping/path-memory.ts';
import { createShaping } from '../../../policy/limits/shaping/shaping.ts';
import { createCapacity } from './capacity.ts';
import { createConnectionTotal } from './connection-total.ts';
import { createPathStates } from './states.ts';

const T0 = 1_790_000_000_000;
const PATH = { source: 'a', site: 'mx.example.net', route: 'mx' } as const;

function capacityOf(
  fingerprint: string,
  stored: Partial<RememberedPath> = {},
  provider: string | null = null,
) {
  const clock = createVirtualClock(T0);
  const memory = {
    recall: () => ({
      ...{ ...PATH, blockedUntil: null, reason: '', failures: 0, asked: false, fingerprint: 'before' },
      ...{ concurrency: 5, day: 0, sent: 0, sentBefore: 0, updatedAt: T0, ...stored },
    }),
    remember() {},
    blocked: () => [],
  };
  const states = createPathStates({ clock, memory, overrides: { list: () => [], suspended: () => null } });
  const state = states.of(PATH.source, PATH.site, fingerprint);
  const shaping = createShaping({ of: () => [] }, { maxConnections: null, sourceIds: new Set(['a']) });
  const total = createConnectionTotal(1_000);
  const deps = { clock, shaping, state, providerGate: null, total };
  return createCapacity(deps, { ...PATH, provider }, { maxConnections: 100 });
}

describe('a path that is made', () => {
  it('begins with more connections where it worked within a day, by the same route', () => {
    expect(capacityOf('before', {}, 'big').usable()).toBe(5);
    expect(capacityOf('other', {}, 'big').usable()).toBe(2);
  });

  it('has the limits of a site that gets as much mail as it got by the same route', () => {
    const today = { day: Math.floor(T0 / 86_400_000), sent: 1_000_000 };
    const small = capacityOf('before').limitsOf();
    expect(capacityOf('before', today).limitsOf()).not.toEqual(small);
    expect(capacityOf('other', today).limitsOf()).toEqual(small);
  });
});
