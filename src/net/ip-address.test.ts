import { isIP, SocketAddress } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatIp, inNetwork, parseIp, parseNetwork, reverseName } from './ip-address.ts';

describe('reading and writing addresses', () => {
  it('writes the canonical form of RFC 5952', () => {
    const cases = [
      ['2001:DB8:0:0:1:0:0:1', '2001:db8::1:0:0:1'],
      ['2001:db8:0:1:1:1:1:1', '2001:db8:0:1:1:1:1:1'],
      ['0:0:0:0:0:0:0:0', '::'],
      ['::1', '::1'],
      ['1::', '1::'],
      ['0:0:1:0:0:0:1:0', '0:0:1::1:0'],
      ['::ffff:1.2.3.4', '::ffff:102:304'],
      ['001.2.3.4', undefined],
      ['1.2.3.4', '1.2.3.4'],
    ];
    for (const [text = '', canonical] of cases) {
      const ip = parseIp(text);
      expect(ip && formatIp(ip.bytes)).toBe(canonical);
    }
  });

  it('agrees with Node on what is an address, except for zones', () => {
    const piece = fc.constantFrom('0', '1', 'ff', 'abcd', '::', ':', '.', '255', '256', '00', 'g', '1.2.3.4');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.ipV4(),
          fc.ipV6(),
          fc.array(piece, { maxLength: 16 }).map((all) => all.join('')),
        ),
        (text) => {
          expect(parseIp(text)?.family ?? 0).toBe(isIP(text));
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('gives back any bytes it wrote, as Node reads them too', () => {
    fc.assert(
      fc.property(fc.uint8Array({ minLength: 16, maxLength: 16 }), (bytes) => {
        const text = formatIp(bytes);
        expect(parseIp(text)?.bytes).toEqual(bytes);
        const mixed = Uint8Array.from(bytes, (byte) => (byte < 180 ? 0 : byte));
        const sparse = formatIp(mixed);
        expect(parseIp(sparse)?.bytes).toEqual(mixed);
        expect(new SocketAddress({ address: sparse, family: 'ipv6' }).family).toBe('ipv6');
      }),
    );
  });

  it('finds the prefix of an address and nothing beyond it', () => {
    fc.assert(
      fc.property(fc.ipV6(), fc.integer({ min: 1, max: 128 }), (text, prefixBits) => {
        const ip = parseIp(text);
        if (!ip) throw new Error(text);
        const network = { ...ip, prefixBits };
        expect(inNetwork(ip, network)).toBe(true);
        const flipped = Uint8Array.from(ip.bytes);
        const bit = prefixBits - 1;
        flipped[bit >> 3] = (flipped[bit >> 3] ?? 0) ^ (0x80 >> (bit & 7));
        expect(inNetwork({ family: 6, bytes: flipped }, network)).toBe(false);
        const behind = ip.bytes.map((byte, i) =>
          i === prefixBits >> 3 ? byte ^ (0x80 >> (prefixBits & 7)) : byte,
        );
        expect(inNetwork({ family: 6, bytes: behind }, network)).toBe(true);
      }),
    );
    expect(parseNetwork('0.0.0.0/0')).toMatchObject({ kind: 'network', network: { prefixBits: 0 } });
  });

  it('gives the name for a reverse look-up', () => {
    expect(reverseName('192.0.2.5')).toBe('5.2.0.192.in-addr.arpa');
    expect(reverseName('2001:db8::567:89ab')).toBe(
      'b.a.9.8.7.6.5.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.8.b.d.0.1.0.0.2.ip6.arpa',
    );
    expect(reverseName('mail.test')).toBeUndefined();
  });
});
