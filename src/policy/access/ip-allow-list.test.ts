import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIpMatcher, isCidr } from './ip-allow-list.ts';

describe('the address list of a token', () => {
  it('lets everyone in when it is empty', () => {
    expect(createIpMatcher([])('198.51.100.7')).toBe(true);
  });

  it.each([
    ['192.0.2.0/24', '192.0.2.255', true],
    ['192.0.2.0/24', '192.0.3.0', false],
    ['192.0.2.7', '192.0.2.7', true],
    ['192.0.2.7', '192.0.2.8', false],
    ['0.0.0.0/0', '203.0.113.9', true],
    ['0.0.0.0/0', '2001:db8::1', false],
    ['2001:db8::/32', '2001:db8:ffff::1', true],
    ['2001:db8::/32', '2001:db9::1', false],
    ['192.0.2.0/24', '::ffff:192.0.2.9', true],
    ['::ffff:192.0.2.0/120', '192.0.2.9', true],
    ['::1', '::1', true],
  ])('%s and %s: %s', (range, ip, inside) => {
    expect(createIpMatcher([range])(ip)).toBe(inside);
  });

  it.each(['', '192.0.2.0/33', '192.0.2.0/-1', '192.0.2/24', '::/129', 'fe80::1%eth0', 'x', '1.2.3.4/'])(
    'refuses %j as a range, and such a list matches nothing',
    (text) => {
      expect(isCidr(text)).toBe(false);
      expect(createIpMatcher([text])('192.0.2.1')).toBe(false);
    },
  );

  it('matches nothing that is not an address', () => {
    const matches = createIpMatcher(['0.0.0.0/0', '::/0']);
    for (const text of ['', 'localhost', '1.2.3', '999.1.1.1']) expect(matches(text)).toBe(false);
  });

  it('finds every address in a range made from it', () => {
    fc.assert(
      fc.property(fc.ipV4(), fc.integer({ min: 0, max: 32 }), (ip, prefix) => {
        expect(createIpMatcher([`${ip}/${prefix}`])(ip)).toBe(true);
      }),
    );
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 96, max: 128 }), (ip, prefix) => {
        expect(createIpMatcher([`${ip}/${prefix}`])(ip)).toBe(true);
      }),
    );
  });
});
