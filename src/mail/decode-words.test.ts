/** Encoded words (RFC 2047): those found in real mail, and malformed ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cpuMsOf } from '../../test/fakes/thread-cpu.ts';
import { decodeWords } from './decode-words.ts';
import { encodeWords } from './encoded-word.ts';

describe('encoded words', () => {
  it.each([
    ['plain', 'plain'],
    ['=?utf-8?q?caf=C3=A9_au_lait?=', 'café au lait'],
    ['=?UTF-8?B?Y2Fmw6k=?= and =?iso-8859-1?Q?caf=E9?=', 'café and café'],
    ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
    ['=?utf-8?q?a?= x =?utf-8?q?b?=', 'a x b'],
    ['=?utf-8?b?w6==?==?utf-8?b?qQ==?=', 'é'],
    ['=?ISO-2022-JP?B?GyRCJUYlOSVIGyhC?=', 'テスト'],
    ['=?utf-8*en?q?a?=', 'a'],
    ['=?no-such-charset?q?a?= =?utf-8?q?b?=', '=?no-such-charset?q?a?= b'],
    ['=?utf-8?x?a?=', '=?utf-8?x?a?='],
    ['=?utf-8?q?=0D=0AX:_y?=', '  X: y'],
    ['a\u0000b\u001b[31m', 'a b [31m'],
  ])('%j reads %j', (value, expected) => {
    expect(decodeWords(value)).toBe(expected);
  });

  it('give back what encodeWords wrote', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', minLength: 1, maxLength: 60 }), (text) => {
        const clean = [...text].every((char) => char >= ' ' && !/[\u007f-\u009f]/.test(char));
        if (clean) expect(decodeWords(encodeWords(text).join(' '))).toBe(text);
      }),
    );
  });

  it('never throw, and never take long', () => {
    fc.assert(fc.property(fc.string({ maxLength: 300 }), (text) => void decodeWords(text)));
    const ms = cpuMsOf(() => {
      for (const unit of ['=?', '=?a?q?', '?=', '=?utf-8?q?=?= ', '=']) decodeWords(unit.repeat(20_000));
    });
    expect(ms).toBeLessThan(1000);
  });
});
