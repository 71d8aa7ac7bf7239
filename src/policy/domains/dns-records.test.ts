import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { domainRecords, quotedStrings, relativeHost, zoneSnippet } from './dns-records.ts';
import { verifyDomain } from './verify.ts';

const PARAMS = {
  domain: 'example.com',
  verifyToken: '0123456789abcdef0123456789abcdef',
  keys: [
    { selector: 'pr1', role: 'active', publicKey: 'A'.repeat(392) },
    { selector: 'pr2', role: 'standby', publicKey: 'BBBB' },
  ],
  bounceDomain: 'bounces.example.net',
  returnPathHost: null,
} as const;
const WHY = expect.stringMatching(/^[A-Z].*\.$/);

describe('domainRecords', () => {
  it('lists ownership, both keys, SPF and DMARC, and why each is needed', () => {
    expect(domainRecords(PARAMS)).toEqual([
      {
        Type: 'TXT',
        Host: '_postrider-verify.example.com',
        Value: 'postrider-verify=0123456789abcdef0123456789abcdef',
        Purpose: 'Ownership',
        Need: 'Optional',
        Why: WHY,
      },
      {
        Type: 'TXT',
        Host: 'pr1._domainkey.example.com',
        Value: `v=DKIM1; k=rsa; p=${'A'.repeat(392)}`,
        Purpose: 'DKIM',
        Need: 'Required',
        Why: WHY,
      },
      {
        Type: 'TXT',
        Host: 'pr2._domainkey.example.com',
        Value: 'v=DKIM1; k=rsa; p=BBBB',
        Purpose: 'DKIM',
        Need: 'Recommended',
        Why: WHY,
      },
      {
        Type: 'TXT',
        Host: 'example.com',
        Value: 'v=spf1 a:bounces.example.net mx:bounces.example.net ~all',
        Purpose: 'SPF',
        Need: 'Optional',
        Why: WHY,
      },
      {
        Type: 'TXT',
        Host: '_dmarc.example.com',
        Value: 'v=DMARC1; p=none',
        Purpose: 'DMARC',
        Need: 'Recommended',
        Why: WHY,
      },
    ]);
  });

  it('calls those records required without which the domain is not verified, and no others', async () => {
    const records = domainRecords({
      ...PARAMS,
      keys: [...PARAMS.keys, { selector: 'pr0', role: 'retired', publicKey: 'CCCC' }],
      returnPathHost: 'b.example.com',
      tracking: { host: 'track.example.com', target: 'mail.example.net' },
    });
    for (const missing of records) {
      const txt = async (name: string) => {
        const texts = records.filter((one) => one !== missing && one.Type === 'TXT' && one.Host === name);
        return texts.length === 0
          ? ({ kind: 'no-name', ttlSeconds: 60, secure: false } as const)
          : ({
              kind: 'found',
              records: texts.map(({ Value }) => Value),
              ttlSeconds: 60,
              secure: false,
            } as const);
      };
      const { verified } = await verifyDomain({ ...PARAMS, resolver: { txt } });
      expect([missing.Host, verified]).toEqual([missing.Host, missing.Need !== 'Required']);
    }
  });

  it('requires nothing of a domain that the operator vouches for', () => {
    const needs = domainRecords({ ...PARAMS, vouched: true }).map(({ Need }) => Need);
    expect(needs).not.toContain('Required');
  });

  it('leads a return path of the domain’s own to the server', () => {
    const records = domainRecords({ ...PARAMS, returnPathHost: 'b.example.com' });
    expect(records.filter((record) => record.Host === 'b.example.com')).toEqual([
      {
        Type: 'MX',
        Host: 'b.example.com',
        Value: '10 bounces.example.net',
        Purpose: 'ReturnPath',
        Need: 'Recommended',
        Why: WHY,
      },
      {
        Type: 'TXT',
        Host: 'b.example.com',
        Value: 'v=spf1 a:bounces.example.net mx:bounces.example.net ~all',
        Purpose: 'SPF',
        Need: 'Recommended',
        Why: WHY,
      },
    ]);
    expect(zoneSnippet(records)).toContain('b.example.com. 3600 IN MX 10 bounces.example.net.\n');
  });

  it('puts the SPF suggestion where return paths are, if that is under the domain', () => {
    const hostFor = (bounceDomain: string): string | undefined =>
      domainRecords({ ...PARAMS, bounceDomain }).find((record) => record.Purpose === 'SPF')?.Host;
    expect(hostFor('bounce.example.com')).toBe('bounce.example.com');
    expect(hostFor('notexample.com')).toBe('example.com');
  });
});

describe('relativeHost', () => {
  it('gives the part before the zone', () => {
    expect(relativeHost('a._domainkey.mail.example.com', 'example.com')).toBe('a._domainkey.mail');
    expect(relativeHost('example.com', 'example.com')).toBe('@');
    expect(relativeHost('notexample.com', 'example.com')).toBe('notexample.com.');
  });
});

describe('zoneSnippet', () => {
  it('cuts long texts into quoted strings of 255 octets', () => {
    const text = zoneSnippet(domainRecords(PARAMS));
    expect(text).toContain(
      '_postrider-verify.example.com. 3600 IN TXT "postrider-verify=0123456789abcdef0123456789abcdef"\n',
    );
    expect(text).toContain(
      `pr1._domainkey.example.com. 3600 IN TXT ( "v=DKIM1; k=rsa; p=${'A'.repeat(237)}" "${'A'.repeat(155)}" )\n`,
    );
  });

  it('loses nothing by quoting and cutting', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 700 }), (text) => {
        const strings = quotedStrings(text).match(/"(?:[^"\\]|\\.)*"/g) ?? [];
        const octets = strings.map((string) =>
          string
            .slice(1, -1)
            .replace(/\\(\d{3}|.)/g, (_, code: string) =>
              code.length === 3 ? String.fromCharCode(Number(code)) : code,
            ),
        );
        for (const string of octets) expect(string.length).toBeLessThanOrEqual(255);
        expect(Buffer.from(octets.join(''), 'latin1').equals(Buffer.from(text))).toBe(true);
      }),
    );
    expect(quotedStrings('')).toBe('""');
  });
});
