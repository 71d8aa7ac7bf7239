/** The test vectors of RFC 4226 appendix D, RFC 6238 appendix B and RFC 4648 §10, and which codes count. */
import { describe, expect, it } from 'vitest';
import { base32, hotp, stepOfCode, totpSecretOf, totpStep, totpUri } from './totp.ts';

const SECRET = new TextEncoder().encode('12345678901234567890');

describe('codes', () => {
  it('are those of RFC 4226', () => {
    const codes = [
      '755224',
      '287082',
      '359152',
      '969429',
      '338314',
      '254676',
      '287922',
      '162583',
      '399871',
      '520489',
    ];
    expect(codes.map((_, counter) => hotp(SECRET, counter))).toEqual(codes);
  });

  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('are those of RFC 6238 at %d s', (seconds, code) => {
    expect(hotp(SECRET, totpStep(seconds * 1000), 8)).toBe(code);
  });

  it('count one step before and after, and not below one that was used', () => {
    const at = 1_000_000_000_000;
    const now = totpStep(at);
    const found = [-2, -1, 0, 1, 2].map((by) => stepOfCode(SECRET, hotp(SECRET, now + by), at, 0));
    expect(found).toEqual([null, now - 1, now, now + 1, null]);
    expect(stepOfCode(SECRET, hotp(SECRET, now), at, now)).toBeNull();
    expect(stepOfCode(SECRET, hotp(SECRET, now + 1), at, now)).toBe(now + 1);
    for (const code of ['', '12345', '1234567', '१२३४५६', ' 12345']) {
      expect(stepOfCode(SECRET, code, at, 0), code).toBeNull();
    }
  });
});

describe('secrets', () => {
  it('are written in base32 as RFC 4648 does', () => {
    const texts = ['', 'f', 'fo', 'foo', 'foob', 'fooba', 'foobar'];
    expect(texts.map((text) => base32(new TextEncoder().encode(text)))).toEqual([
      ...['', 'MY', 'MZXQ', 'MZXW6', 'MZXW6YQ', 'MZXW6YTB', 'MZXW6YTBOI'],
    ]);
  });

  it('come back from their text, in either case and in groups', () => {
    const text = base32(SECRET);
    expect(totpSecretOf(text)).toEqual(SECRET);
    expect(totpSecretOf(text.toLowerCase().replaceAll(/(.{4})/g, '$1 '))).toEqual(SECRET);
    for (const wrong of ['', 'MZXW6YTB', text.replace('G', '1'), `${text}A`])
      expect(totpSecretOf(wrong)).toBeNull();
  });

  it('stand in a URI that apps read', () => {
    expect(totpUri({ secret: 'ABC', account: 'ada+x@example.com', issuer: 'mail.example.com' })).toBe(
      'otpauth://totp/mail.example.com:ada%2Bx%40example.com?secret=ABC&issuer=mail.example.com',
    );
  });
});
