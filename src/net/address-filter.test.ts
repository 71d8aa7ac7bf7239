import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type AddressCheck, createAddressFilter } from './address-filter.ts';

function filterFor(allowNetworks: string[] = [], own: string[] = []): AddressCheck {
  const filter = createAddressFilter({ allowNetworks, own });
  if (filter.kind !== 'filter') throw new Error(`${filter.text}: ${filter.detail}`);
  return filter;
}

/** First, last and something between of every network that must not be reached, with the reason given. */
const REFUSED: readonly (readonly [address: string, reason: string])[] = [
  ['0.0.0.0', 'unspecified'],
  ['0.255.255.255', 'this network'],
  ['10.0.0.0', 'private'],
  ['10.255.255.255', 'private'],
  ['100.64.0.0', 'CGNAT'],
  ['100.127.255.255', 'CGNAT'],
  ['100.100.100.200', 'metadata'],
  ['127.0.0.0', 'loopback'],
  ['127.255.255.255', 'loopback'],
  ['168.63.129.16', 'metadata'],
  ['169.254.0.0', 'link-local'],
  ['169.254.169.254', 'metadata'],
  ['169.254.170.2', 'metadata'],
  ['172.16.0.0', 'private'],
  ['172.31.255.255', 'private'],
  ['192.0.0.1', 'reserved'],
  ['192.0.0.192', 'metadata'],
  ['192.0.2.255', 'documentation'],
  ['192.88.99.1', '6to4'],
  ['192.168.255.255', 'private'],
  ['198.18.0.0', 'benchmarking'],
  ['198.19.255.255', 'benchmarking'],
  ['198.51.100.1', 'documentation'],
  ['203.0.113.255', 'documentation'],
  ['224.0.0.0', 'multicast'],
  ['239.255.255.255', 'multicast'],
  ['240.0.0.0', 'reserved'],
  ['255.255.255.254', 'reserved'],
  ['255.255.255.255', 'broadcast'],
  ['::', 'unspecified'],
  ['::1', 'loopback'],
  ['::2', 'IPv4-compatible'],
  ['::8.8.8.8', 'IPv4-compatible'],
  ['::ffff:8.8.8.8', 'IPv4-mapped'],
  ['::ffff:10.0.0.1', 'IPv4-mapped of an address that is private'],
  ['::ffff:0:8.8.8.8', 'IPv4-translated'],
  ['64:ff9b::8.8.8.8', 'NAT64'],
  ['64:ff9b::7f00:1', 'NAT64 of an address that is loopback'],
  ['64:ff9b::a9fe:a9fe', 'NAT64 of an address that is cloud metadata'],
  ['64:ff9b:1::1', 'NAT64'],
  ['64:ff9b:1:ffff:ffff:ffff:ffff:ffff', 'NAT64'],
  ['100::1', 'discard'],
  ['2001:0:4136:e378:8000:63bf:3fff:fdd2', 'Teredo'],
  ['2001:2::1', 'benchmarking'],
  ['2001:10::1', 'ORCHID'],
  ['2001:2f:ffff::1', 'ORCHIDv2'],
  ['2001:1ff::1', 'reserved'],
  ['2001:db8:ffff::1', 'documentation'],
  ['2002:808:808::1', '6to4'],
  ['2002:7f00:1::', '6to4 of an address that is loopback'],
  ['3fff:fff::1', 'documentation'],
  ['4000::1', 'reserved'],
  ['5f00::1', 'segment routing'],
  ['fc00::', 'unique local'],
  ['fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'unique local'],
  ['fd00:ec2::254', 'metadata'],
  ['fe80::1', 'link-local'],
  ['febf:ffff::1', 'link-local'],
  ['fec0::1', 'site-local'],
  ['feff:ffff::1', 'site-local'],
  ['ff02::1', 'multicast'],
  ['ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff', 'multicast'],
  ['2606:4700::5efe:10.0.0.1', 'ISATAP'],
  ['2606:4700::200:5efe:8.8.8.8', 'ISATAP'],
];

const PUBLIC: readonly string[] = [
  '1.0.0.1',
  '8.8.8.8',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '126.255.255.255',
  '128.0.0.1',
  '169.253.255.255',
  '169.255.0.0',
  '172.15.255.255',
  '172.32.0.0',
  '192.0.1.1',
  '192.167.255.255',
  '192.169.0.0',
  '198.17.255.255',
  '198.20.0.0',
  '223.255.255.255',
  '2001:200::1',
  '2001:4860:4860::8888',
  '2003::1',
  '2606:4700::1111',
  '3ffe::1',
];

const NOT_ADDRESSES: readonly string[] = [
  '',
  'localhost',
  '127.1',
  '2130706433',
  '0x7f.0.0.1',
  '0177.0.0.1',
  '08.8.8.8',
  '8.8.8.8.',
  ' 8.8.8.8',
  '8.8.8.8/32',
  '256.8.8.8',
  '[2606:4700::1]',
  'fe80::1%eth0',
  '2606:4700::1%eth0',
  '2606::4700::1',
  ':::',
  '1:2:3:4:5:6:7',
  '1:2:3:4:5:6:7:8:9',
  '1:2:3:4:5:6:7::8',
  '2606:4700::12345',
  '2606:4700:8.8.8.8::',
];

describe('an address', () => {
  it.each(REFUSED)('%s is refused as %s', (address, reason) => {
    const verdict = filterFor().check(address);
    expect(verdict).toEqual({ allowed: false, reason: expect.stringContaining(reason) });
  });

  it.each(PUBLIC)('%s is allowed', (address) => {
    expect(filterFor().check(address)).toEqual({ allowed: true, listed: false });
  });

  it.each(NOT_ADDRESSES)('%j is none and refused, whatever is allowed', (text) => {
    expect(filterFor(['0.0.0.0/0', '::/0']).check(text)).toEqual({
      allowed: false,
      reason: 'not an IP address',
    });
  });

  it('of IPv4 that is refused stays so in every IPv6 form', () => {
    const filter = filterFor();
    fc.assert(
      fc.property(fc.ipV4(), (address) => {
        const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
        const hex = (high: number, low: number) => ((high << 8) | low).toString(16);
        const forms = [
          `::ffff:${address}`,
          `::${address}`,
          `::ffff:0:${address}`,
          `64:ff9b::${address}`,
          `64:ff9b:1:${hex(a, b)}:${hex(0, c)}:${hex(d, 0)}::`,
          `2002:${hex(a, b)}:${hex(c, d)}::1`,
          `2001:0:4136:e378:8000:63bf:${hex(a ^ 255, b ^ 255)}:${hex(c ^ 255, d ^ 255)}`,
        ];
        for (const form of forms) expect(filter.check(form).allowed).toBe(false);
        // Listing the translation itself opens it for public addresses only.
        const listed = filterFor([
          '::/96',
          '::ffff:0:0/96',
          '::ffff:0:0:0/96',
          '64:ff9b::/32',
          '2002::/16',
          '2001::/32',
        ]);
        const isPublic = filter.check(address).allowed;
        for (const form of forms) {
          if (form === '::0.0.0.0' || form === '::0.0.0.1') continue;
          expect([form, listed.check(form).allowed]).toEqual([form, isPublic]);
        }
      }),
      { numRuns: 300 },
    );
  });
});

describe('networks the operator lists', () => {
  it('are allowed, and known as listed', () => {
    const filter = filterFor(['10.1.0.0/16', '192.168.7.9', 'fd00:1::/32', '8.8.8.0/24']);
    expect(filter.check('10.1.255.255')).toEqual({ allowed: true, listed: true });
    expect(filter.check('192.168.7.9')).toEqual({ allowed: true, listed: true });
    expect(filter.check('fd00:1:ffff::1')).toEqual({ allowed: true, listed: true });
    expect(filter.check('8.8.8.8')).toEqual({ allowed: true, listed: true });
    for (const address of ['10.2.0.0', '10.0.255.255', '192.168.7.8', 'fd00:2::1', '127.0.0.1']) {
      expect(filter.check(address).allowed).toBe(false);
    }
  });

  it('cover the mapped form of their addresses, but not what stands behind a translator', () => {
    const filter = filterFor(['127.0.0.0/8']);
    expect(filter.check('::ffff:127.0.0.1')).toEqual({ allowed: true, listed: true });
    for (const address of ['64:ff9b::127.0.0.1', '2002:7f00:1::', '::127.0.0.1', '::1']) {
      expect(filter.check(address).allowed).toBe(false);
    }
  });

  it('win over our own addresses, which are refused otherwise, mapped too', () => {
    const filter = filterFor([], ['8.8.4.4', '2606:4700::/48']);
    for (const address of ['8.8.4.4', '2606:4700::1']) {
      expect(filter.check(address)).toEqual({ allowed: false, reason: 'our own address', isOwn: true });
    }
    expect(filter.check('::ffff:8.8.4.4').allowed).toBe(false);
    expect(filter.check('8.8.4.5').allowed).toBe(true);
    expect(filterFor(['8.8.4.0/24'], ['8.8.4.4']).check('8.8.4.4')).toEqual({ allowed: true, listed: true });
  });

  it('that cannot be read come back with the bad text', () => {
    const bad = [
      '',
      'lan',
      '10.0.0.0/33',
      '10.0.0.0/',
      '10.0.0.0/-1',
      '10.0.0.0/08',
      '10.0.0.1/8',
      '10.0.0/8',
    ];
    const bad6 = ['fd00::/129', 'fd00::1/64', 'fd00::/8/8', ':ffff', '0x0a.0.0.0/8', '10.0.0.0/1e1'];
    for (const text of [...bad, ...bad6]) {
      const shape = { kind: 'invalid', text, detail: expect.any(String) };
      expect(createAddressFilter({ allowNetworks: ['10.0.0.0/8', text] })).toEqual(shape);
      expect(createAddressFilter({ allowNetworks: [], own: [text] })).toEqual(shape);
    }
  });
});
