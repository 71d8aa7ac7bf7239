import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { compareKey, parseDkimRecord } from './dkim-record.ts';

const KEY = 'MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA+/==';

describe('compareKey', () => {
  it.each([
    [`v=DKIM1; k=rsa; p=${KEY}`],
    [`v=DKIM1;k=rsa;p=${KEY};`],
    [`p=${KEY}`],
    [` v = DKIM1 ;\tk = RSA ; p = ${KEY.slice(0, 9)} ${KEY.slice(9)}\r\n `],
    [`v=DKIM1; h=sha1:sha256; s=email; n=a note; t=s; p=${KEY}; q`],
    [`v=DKIM1; s=*; p=${KEY}; p=other`],
  ])('finds our key in %j', (text) => {
    expect(compareKey(text, KEY)).toEqual({ kind: 'match', testing: false });
  });

  it.each([
    [`v=DKIM1; t=y; p=${KEY}`, { kind: 'match', testing: true }],
    [`v=DKIM1; t=s:y; p=${KEY}`, { kind: 'match', testing: true }],
    ['v=DKIM1; p=', { kind: 'revoked' }],
    ['v=DKIM1; p= ;', { kind: 'revoked' }],
    ['v=spf1 -all', { kind: 'not-a-key' }],
    ['', { kind: 'not-a-key' }],
    [`v=DKIM2; p=${KEY}`, { kind: 'not-a-key' }],
    [`v=DKIM1\\; k=rsa\\; p=${KEY}`, { kind: 'escaped' }],
    [`"v=DKIM1; p=${KEY}"`, { kind: 'escaped' }],
    [`k=ed25519; p=${KEY}`, { kind: 'unusable', tag: 'k' }],
    [`h=sha1; p=${KEY}`, { kind: 'unusable', tag: 'h' }],
    [`s=tlsrpt; p=${KEY}`, { kind: 'unusable', tag: 's' }],
    [
      `p=${KEY.slice(0, 20)}`,
      { kind: 'different', foundLength: 20, ourLength: KEY.length, truncated: true, otherCase: false },
    ],
    [
      'p=AAAA',
      { kind: 'different', foundLength: 4, ourLength: KEY.length, truncated: false, otherCase: false },
    ],
  ])('says of %j how it differs', (text, expected) => {
    expect(compareKey(text, KEY)).toEqual(expected);
  });

  it('reads any text, however long, without throwing', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => void compareKey(text, KEY)));
    for (const unit of [';', '=', ' ', 'p=', 'v=DKIM1;', '\\', '"', 'p=\t']) {
      compareKey(unit.repeat(2_000_000), KEY);
    }
    expect(parseDkimRecord(`__proto__=1; p=${KEY}`).publicKey).toBe(KEY);
  });
});
