import { describe, expect, it } from 'vitest';
import { AppError } from '../../../lib/errors.ts';
import type { Caller } from '../../../model/submission.ts';
import { createSlots } from './slots.ts';

function caller(tokenId: string, domains: readonly string[], maker?: string): Caller {
  const rateShares = maker === undefined ? [] : [{ key: maker, perSecond: null }];
  const bounds = { expiresAt: null, ipAllowList: [], rateShares };
  return { tokenId, owner: tokenId, domains, scopes: new Set(), sandbox: false, rateLimit: null, bounds };
}

/** How many of these find a place. */
function places(slots: ReturnType<typeof createSlots>, callers: Caller[]): (() => void)[] {
  return callers.flatMap((each) => {
    try {
      return [slots(each)];
    } catch (error) {
      expect(error).toBeInstanceOf(AppError);
      return [];
    }
  });
}
const many = (make: (i: number) => Caller) => Array.from({ length: 500 }, (_, i) => make(i));
const open = () => createSlots({ perToken: 10, perTenant: 25, total: 100, what: 'streams are open' });

describe('places of one tenant', () => {
  it('are bounded whatever tokens it makes, and others find theirs', () => {
    const slots = open();
    // One maker with many domains, a token for each.
    expect(
      places(
        slots,
        many((i) => caller(`t${i}`, [`d${i}.test`], 'maker')),
      ),
    ).toHaveLength(25);
    // Many tokens of one domain that the operator made.
    expect(
      places(
        slots,
        many((i) => caller(`u${i}`, ['one.test'])),
      ),
    ).toHaveLength(25);
    expect(
      places(
        slots,
        many(() => caller('other', ['other.test'])),
      ),
    ).toHaveLength(10);
  });

  it('are given back, once each', () => {
    const slots = open();
    for (let round = 0; round < 3; round += 1) {
      const held = places(
        slots,
        many((i) => caller(`t${i}`, ['one.test', 'two.test'], 'maker')),
      );
      expect(held).toHaveLength(25);
      for (const leave of [...held, ...held]) leave();
    }
  });

  it('do not bound the operator, beyond one token and the whole', () => {
    expect(
      places(
        open(),
        many((i) => caller(`t${i}`, ['*'])),
      ),
    ).toHaveLength(100);
  });
});
