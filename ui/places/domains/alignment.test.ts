import { describe, expect, it } from 'vitest';
import { alignmentWords } from './alignment.ts';

const words = (
  dkim: Partial<{ Strict: boolean; Aligns: boolean; Published: boolean }>,
  returnPath: Partial<{ Host: string; Strict: boolean; Aligns: boolean }>,
  spf: 'Ok' | 'Failed' = 'Ok',
) =>
  alignmentWords({
    Domain: 'example.com',
    Alignment: {
      Dkim: { Domain: 'example.com', Strict: false, Aligns: true, Published: true, ...dkim },
      ReturnPath: { Host: 'mail.example.net', Strict: false, Aligns: false, ...returnPath },
    },
    Checks: [{ Name: 'spf', Status: spf }],
  });

describe('alignment', () => {
  it('is not known before the first check', () => {
    expect(alignmentWords({ Domain: 'example.com', Alignment: null, Checks: [] })).toBeNull();
  });

  it('is enough by one of both', () => {
    expect(words({}, {})).toMatchObject({
      passes: true,
      result: expect.stringContaining('signature alone'),
      names: [{ aligns: true }, { aligns: false, why: expect.stringContaining('Another domain') }],
    });
    expect(words({ Published: false }, { Aligns: true })).toMatchObject({
      passes: true,
      result: expect.stringContaining('return path alone'),
    });
    expect(words({}, { Aligns: true })?.result).toContain('both');
  });

  it('is worth nothing where SPF fails', () => {
    expect(words({}, { Aligns: true }, 'Failed')).toMatchObject({
      result: expect.stringContaining('signature alone'),
      names: [{ aligns: true }, { aligns: false, why: expect.stringContaining('SPF record') }],
    });
    expect(words({ Published: false }, { Aligns: true }, 'Failed')?.passes).toBe(false);
  });

  it('says why nothing belongs together', () => {
    const none = words({ Strict: true, Aligns: false }, { Host: 'bounce.example.com', Strict: true });
    expect(none?.passes).toBe(false);
    expect(none?.names.map(({ why }) => why)).toEqual([
      expect.stringContaining('adkim=s'),
      expect.stringContaining('aspf=s'),
    ]);
    expect(words({ Published: false }, {})?.names[0].why).toContain('not published');
  });
});
