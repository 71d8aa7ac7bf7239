import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMediaType, textParameter, typeFromFilename } from './content-type.ts';

describe('parseMediaType', () => {
  it('reads types and parameters', () => {
    expect(parseMediaType('Text/Calendar; Method=REQUEST;charset="utf-8" ;')).toEqual({
      type: 'text/calendar',
      parameters: [
        ['method', 'REQUEST'],
        ['charset', '"utf-8"'],
      ],
    });
    expect(parseMediaType('image/svg+xml')).toEqual({ type: 'image/svg+xml', parameters: [] });
  });

  it.each([
    '',
    'text',
    'text/',
    '/plain',
    'text/plain/x',
    'text/pl ain',
    'text/plain\r\nBcc: x',
    'text/plain; a',
    'text/plain; a=',
    'text/plain; a="x',
    'text/plain; a="\n"',
    'té/x',
    'text/plain; a=b c',
    `a/${'b'.repeat(254)}`,
  ])('refuses %j', (text) => {
    expect(parseMediaType(text)).toBe(null);
  });
});

describe('typeFromFilename', () => {
  it('knows common extensions in any case', () => {
    expect(typeFromFilename('a.b/Report.PDF')).toBe('application/pdf');
    expect(typeFromFilename('x.jpeg')).toBe('image/jpeg');
    for (const name of ['', 'pdf', 'x.', 'x.unknown', 'x.constructor']) {
      expect(typeFromFilename(name)).toBe('application/octet-stream');
    }
  });
});

describe('textParameter', () => {
  it('writes plain names plainly and others twice', () => {
    expect(textParameter('filename', 'a b.pdf')).toBe(';\r\n filename="a b.pdf"');
    expect(textParameter('filename', 'Résumé.pdf')).toBe(
      `;\r\n filename*=utf-8''R%C3%A9sum%C3%A9.pdf;\r\n filename="Resume.pdf"`,
    );
    expect(textParameter('name', 'a"b\\.txt')).toBe(`;\r\n name*=utf-8''a%22b%5C.txt;\r\n name="a_b_.txt"`);
  });

  it('keeps lines at 76 and ASCII, and the sections give the text back', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'binary', maxLength: 255 }), fc.string({ maxLength: 255 })),
        (value) => {
          const lines = textParameter('filename', value).split(';\r\n').slice(1);
          let decoded = '';
          for (const line of lines) {
            expect(line).toMatch(/^ filename(?:="[\x20-\x7e]*"|(?:\*\d+)?\*=[!-~]+)$/);
            expect(line.length).toBeLessThanOrEqual(75);
            decoded += decodeURIComponent(line.match(/^ filename(?:\*\d+)?\*=(?:utf-8'')?(.*)$/)?.[1] ?? '');
          }
          // biome-ignore lint/suspicious/noControlCharactersInRegex: controls are what is replaced
          const expected = value.toWellFormed().replace(/[\0-\x1f\x7f]/g, ' ');
          if (lines.length > 1) expect(decoded.trim()).toBe(expected.trim());
          else expect([value, expected.trim()].map((v) => ` filename="${v}"`)).toContain(lines[0]);
        },
      ),
      { examples: [['é*=']] },
    );
  });
});
