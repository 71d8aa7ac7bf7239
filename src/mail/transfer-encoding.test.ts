import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  base64Size,
  encodeBase64,
  encodeQuotedPrintable,
  quotedPrintableBound,
} from './transfer-encoding.ts';

function qp(text: string): string {
  const bytes = Buffer.from(text);
  const target = Buffer.alloc(quotedPrintableBound(bytes.length) + 5);
  return target.toString('latin1', 5, encodeQuotedPrintable(bytes, target, 5));
}

function decodeQp(text: string): Buffer {
  const plain = text
    .replace(/=\r\n/g, '')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(plain, 'latin1');
}

describe('encodeQuotedPrintable', () => {
  it('normalises line ends and encodes blanks at line ends, controls and =', () => {
    expect(qp('a\rb\nc\r\nd\n\r')).toBe('a\r\nb\r\nc\r\nd\r\n\r\n');
    expect(qp('a \nb\t\r\n c =\0\x7fé ')).toBe('a=20\r\nb=09\r\n c =3D=00=7F=C3=A9=20');
    expect(qp('From me\n.\n..x')).toBe('From me\r\n.\r\n..x');
  });

  it('gives the text back from lines of at most 76 octets, within its bound', () => {
    const text = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 500 }),
      fc
        .array(fc.constantFrom('a', ' ', '=', '\n', '\r', 'é', 'x'.repeat(74), '.', '\t'))
        .map((a) => a.join('')),
      fc.constantFrom('='.repeat(5000), '\n'.repeat(500), ' '.repeat(5000)),
    );
    fc.assert(
      fc.property(text, (value) => {
        const encoded = qp(value);
        for (const line of encoded.split('\r\n')) {
          expect(line.length).toBeLessThanOrEqual(76);
          expect(line).toMatch(/^[\x20-\x7e\t]*$/);
          expect(line).not.toMatch(/[ \t]$/);
        }
        expect(encoded.length).toBeLessThanOrEqual(quotedPrintableBound(Buffer.byteLength(value)));
        expect(decodeQp(encoded).toString()).toBe(value.toWellFormed().replace(/\r\n?|\n/g, '\r\n'));
      }),
    );
  });
});

describe('encodeBase64', () => {
  it('writes exactly the lines and the size that it announces, for every length', () => {
    for (let length = 0; length < 240; length++) {
      const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 89 + length) & 255));
      const target = Buffer.alloc(base64Size(length) + 6, '#');
      const end = encodeBase64(bytes, target, 3);
      const expected = bytes.toString('base64').replace(/.{1,76}/g, '$&\r\n');
      expect(target.toString('latin1')).toBe(`###${expected}###`);
      expect(end).toBe(3 + expected.length);
    }
  });
});
