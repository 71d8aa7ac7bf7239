/** How many messages may be in flight: by distance, rate and connections, and which message goes alone. */
import { describe, expect, it } from 'vitest';
import { createInFlight } from './in-flight.ts';
import type { Link } from './links.ts';

interface Case {
  roundTripMs?: number;
  perSecond?: number | null;
  connections?: number;
  limit?: number;
  trusted?: number;
  takesWhole?: boolean;
  isQuick?: boolean;
  chunking?: boolean;
  pipelining?: boolean;
  transactions?: number;
  lane?: 'critical' | 'normal' | 'bulk';
  octets?: number;
  atMostOnce?: boolean;
  ofPath?: number;
}

function most(one: Case): { most: number; follows: boolean } {
  const { chunking = true, pipelining = true, octets = 5_000 } = one;
  const inFlight = createInFlight({
    capacity: {
      gates: {
        effective: () => ({
          limits: { transactionsInFlight: one.limit ?? 16 },
        }),
        perSecond: () => one.perSecond ?? 4_000,
      },
      cap: () => one.connections ?? 20,
    } as never,
    life: { inFlight: one.ofPath ?? 0 },
  });
  const link = {
    session: {
      capabilities: { chunking, pipelining },
      transactions: () => one.transactions ?? 1,
      maySendWhole: (allowed: number) => allowed > 0,
    },
    farEnd: {
      roundTripMs: () => one.roundTripMs ?? 100,
      takesWhole: one.takesWhole ?? true,
      isQuick: () => one.isQuick ?? true,
      trusted: () => one.trusted ?? 16,
    },
  } as unknown as Link;
  const prepared = {
    item: { delivery: { lane: one.lane ?? 'normal' } },
    prefix: new Uint8Array(0),
    content: new Uint8Array(octets),
    atMostOnce: one.atMostOnce ?? false,
  } as never;
  return { most: inFlight.most(link, prepared), follows: inFlight.mayFollow(link, prepared) };
}

describe('messages in flight on a connection', () => {
  it.each<[string, Case, number]>([
    ['what the rate of one process needs at 20 ms', { roundTripMs: 20 }, 4],
    ['16 at most', { roundTripMs: 200 }, 16],
    ['fewer on more connections', { connections: 80 }, 5],
    ['what the limit of the path needs', { perSecond: 1_000 }, 5],
    ['what the operator allows', { limit: 3 }, 3],
    ['what the far end is trusted with', { trusted: 1 }, 1],
  ])('are %s', (_, one, expected) => {
    expect(most(one).most).toBe(expected);
  });

  it.each<[string, Case]>([
    ['a far end is near', { roundTripMs: 4 }],
    ['the far end takes a second for a message', { isQuick: false }],
    ['the path is slow by its limits', { perSecond: 20 }],
    ['the operator wants one at a time', { limit: 1 }],
    ['CHUNKING is not offered', { chunking: false }],
    ['PIPELINING is not offered', { pipelining: false }],
    ['the far end was out of step', { takesWhole: false }],
    ['it is the first message of the connection', { transactions: 0 }],
    ['it is critical', { lane: 'critical' }],
    ['its sender domain sends at most once', { atMostOnce: true }],
    ['it is large', { octets: 65_537 }],
  ])('are none, because %s', (_, one) => {
    expect(most(one).most).toBe(0);
  });

  it('are at most a thousand of one path', () => {
    expect(most({ ofPath: 999 }).follows).toBe(true);
    expect(most({ ofPath: 1_000 }).follows).toBe(false);
  });
});
