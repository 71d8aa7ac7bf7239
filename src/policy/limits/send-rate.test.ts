import { describe, expect, it } from 'vitest';
import { createVirtualClock } from '../../lib/virtual-clock.ts';
import type { Caller } from '../../model/submission.ts';
import type { RateShare } from '../../model/token.ts';
import { createSendRate } from './send-rate.ts';

function caller(owner: string, rateLimit: number | null, rateShares: readonly RateShare[] = []): Caller {
  const bounds = { expiresAt: null, ipAllowList: [], rateShares };
  return {
    tokenId: `${owner}-token`,
    owner,
    domains: ['a.test'],
    scopes: new Set(),
    sandbox: false,
    rateLimit,
    bounds,
  };
}

/** How many sends are taken before the first refusal. */
function taken(rate: ReturnType<typeof createSendRate>, by: Caller): number {
  let count = 0;
  while (rate.take(by)?.refused === null) count += 1;
  return count;
}

describe('the rate of sends', () => {
  it('is shared by a token and all that it makes, however many they are', () => {
    const rate = createSendRate(createVirtualClock(), { perSecond: null });
    const shares = [{ key: 'maker', perSecond: 5 }];
    expect(taken(rate, caller('a', 5, shares))).toBe(10);
    expect(taken(rate, caller('b', 5, shares))).toBe(0);
    expect(taken(rate, caller('maker', 5))).toBe(0);
    expect(taken(rate, caller('else', 5))).toBe(10);
  });

  it('is shared under the rule of the instance too', () => {
    const rate = createSendRate(createVirtualClock(), { perSecond: 3 });
    const shares = [{ key: 'maker', perSecond: null }];
    expect(taken(rate, caller('a', null, shares))).toBe(6);
    expect(taken(rate, caller('b', null, shares))).toBe(0);
  });

  it('lets a narrower token have its own, and says what is left of the tighter one', () => {
    const rate = createSendRate(createVirtualClock(), { perSecond: null });
    const shares = [{ key: 'maker', perSecond: 5 }];
    const narrow = caller('a', 1, shares);
    expect(taken(rate, narrow)).toBe(2);
    expect(rate.take(narrow)?.headers['ratelimit-policy']).toBe('"send";q=2;w=2');
    expect(taken(rate, caller('b', 5, shares))).toBe(8);
  });

  it('is one for tokens that replace one another', () => {
    const rate = createSendRate(createVirtualClock(), { perSecond: null });
    expect(taken(rate, { ...caller('o', 2), tokenId: 'old' })).toBe(4);
    expect(taken(rate, { ...caller('o', 2), tokenId: 'new' })).toBe(0);
  });
});
