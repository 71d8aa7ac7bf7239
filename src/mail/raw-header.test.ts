/** The header of a message: the offsets of its fields, and what is not a header. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { rawFieldValue, readHeaderLines, readHeaderToSend, readRawHeader } from './raw-header.ts';

const latin1 = (text: string) => Buffer.from(text, 'latin1');

function read(text: string) {
  const message = latin1(text);
  const header = readRawHeader(message);
  if (header.kind === 'malformed') return header.detail;
  return {
    fields: header.fields.map((field) => [
      field.name,
      rawFieldValue(message, field),
      text.slice(field.start, field.end),
    ]),
    body: text.slice(header.bodyOffset),
    eightBit: header.eightBit,
  };
}

describe('a header', () => {
  it('is fields, folded or not, up to the empty line', () => {
    expect(read('From: a\r\nSUBJECT : b\r\n\tc\r\n  d \r\nX:\r\n\r\nbody: x\r\n')).toEqual({
      fields: [
        ['from', 'a', 'From: a\r\n'],
        ['subject', 'b\tc  d', 'SUBJECT : b\r\n\tc\r\n  d \r\n'],
        ['x', '', 'X:\r\n'],
      ],
      body: 'body: x\r\n',
      eightBit: false,
    });
  });

  it('may be all there is, or nothing', () => {
    expect(read('From: a\r\n')).toMatchObject({ body: '' });
    expect(read('\r\nbody')).toEqual({ fields: [], body: 'body', eightBit: false });
    expect(read('')).toEqual({ fields: [], body: '', eightBit: false });
  });

  it('may be in UTF-8 or in Latin-1, and says so', () => {
    expect(read('Subject: caf\u00e9\r\n\r\n')).toMatchObject({
      fields: [['subject', 'café', expect.anything()]],
      eightBit: true,
    });
    const utf8 = Buffer.from('Subject: café\r\n\r\n');
    const header = readRawHeader(utf8);
    expect(header.kind === 'header' && header.fields.map((field) => rawFieldValue(utf8, field))).toEqual([
      'café',
    ]);
    expect(read('From: a\r\n\r\n\u00e9')).toMatchObject({ eightBit: false });
  });

  it.each([
    'nonsense\r\n\r\n',
    ' From: a\r\n',
    ': a\r\n',
    'From a@example.com Sat\r\nFrom: a\r\n',
    'Fr\u00f6m: a\r\n',
    'a b: c\r\n',
  ])('is none: %j', (text) => {
    expect(read(text)).toMatch(/line 1 is no header field/);
  });

  it('that is to be sent has no blank before a colon', () => {
    expect(readHeaderToSend(latin1('From: a\r\nX:\r\n\r\nb : c\r\n'))).toMatchObject({ kind: 'header' });
    for (const blank of [' ', '\t', '  '])
      expect(readHeaderToSend(latin1(`From: a\r\n b\r\nDate${blank}: c\r\n\r\n`))).toEqual({
        kind: 'malformed',
        detail: 'line 3 has a blank before its colon',
      });
  });

  it('has an end', () => {
    expect(read('X: y\r\n'.repeat(2001))).toBe('the header is too large');
    expect(read(`X: ${' y\r\n '.repeat(100_000)}`)).toBe('the header is too large');
  });

  it('has an end where a part of a message is read: of a field, a line, a name and a value', () => {
    const most = 256 * 1024;
    const fields = (text: string) => {
      const source = latin1(text);
      const { fields: found, headerEnd, eightBit, fault } = readHeaderLines(source, 0);
      const values = found.map((field) => rawFieldValue(source, field).length);
      return { values, headerEnd, eightBit, isTooLarge: fault?.tooLarge === true };
    };
    const folded = fields(`A: b\r\n${' c\r\n'.repeat(most)}\r\nx`);
    expect(folded).toMatchObject({ eightBit: false, isTooLarge: true });
    expect(folded.headerEnd).toBeLessThan(most + 10);
    const long = 'x'.repeat(2 * most);
    expect(fields(`A: ${long}\u00e9\r\n\r\nx`)).toEqual({
      values: [most - 1],
      headerEnd: 2 * most + 6,
      eightBit: true,
      isTooLarge: true,
    });
    expect(fields(`${long}: b\r\n\r\n`)).toMatchObject({ values: [], headerEnd: 2 * most + 5 });
    expect(fields(`A${' '.repeat(2 * most)}: b\r\n\r\n`)).toMatchObject({ values: [] });
  });

  it.each([0, 1, 254, 255, 256, 257, 1000])('shows an octet above 127 after %i others', (count) => {
    for (const end of ['\r\n', '\n', ''])
      for (const before of ['', 'A: b\r\n', 'A: b\r\n c\r\n'])
        expect(readHeaderLines(latin1(`${before}B:${'x'.repeat(count)}\u00e9${end}`), 0).eightBit).toBe(true);
    expect(readHeaderLines(latin1(`B:${'x'.repeat(count)}\n\n\u00e9`), 0).eightBit).toBe(false);
  });

  it('covers the message exactly, whatever it is', () => {
    const part = fc.constantFrom('a: b\r\n', ' c\r\n', '\r\n', 'x', ':', '\t', '\u00ff');
    fc.assert(
      fc.property(fc.array(part, { maxLength: 20 }), (parts) => {
        const message = latin1(parts.join(''));
        const header = readRawHeader(message);
        if (header.kind === 'malformed') return;
        let at = 0;
        for (const field of header.fields) {
          expect(field.start).toBe(at);
          at = field.end;
        }
        expect(header.headerEnd).toBe(at);
        expect(header.bodyOffset - at).toBe(at === message.length ? 0 : 2);
      }),
    );
  });
});
