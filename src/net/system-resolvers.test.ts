import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseServers, systemServers } from './system-resolvers.ts';

describe('the text that names DNS servers', () => {
  it('gives addresses and ports, in order, each once', () => {
    expect(
      parseServers('192.0.2.1, 192.0.2.2:5353,[2001:db8::1]:54 ,2001:db8::2,[2001:db8::3],192.0.2.1:53'),
    ).toEqual({
      kind: 'servers',
      servers: [
        { address: '192.0.2.1', port: 53 },
        { address: '192.0.2.2', port: 5353 },
        { address: '2001:db8::1', port: 54 },
        { address: '2001:db8::2', port: 53 },
        { address: '2001:db8::3', port: 53 },
      ],
    });
    expect(parseServers('fe80::1%eth0')).toMatchObject({ servers: [{ address: 'fe80::1%eth0', port: 53 }] });
  });

  it('gives the servers of the system for the word', () => {
    expect(parseServers(' system ')).toEqual({ kind: 'servers', servers: systemServers() });
    expect(systemServers().length).toBeGreaterThan(0);
  });

  it('comes back with the part that cannot be read', () => {
    const bad = ['', 'dns.example', '127.1', '192.0.2.1:', '192.0.2.1:0', '192.0.2.1:65536', '192.0.2.1:5a'];
    const bad6 = [
      '[192.0.2.1]:53',
      '[2001:db8::1',
      '2001:db8::1]:53',
      '[]:53',
      'fe80::1%',
      '192.0.2.1%eth0',
      'system',
    ];
    for (const text of [...bad, ...bad6]) {
      expect(parseServers(`192.0.2.9,${text}`)).toEqual({
        kind: 'invalid',
        text,
        detail: expect.any(String),
      });
    }
  });

  it('of any kind is read or refused', () => {
    fc.assert(fc.property(fc.string(), (text) => ['servers', 'invalid'].includes(parseServers(text).kind)));
  });
});
