import fc from 'fast-check';
import { decodeWords } from 'postal-mime';
import { describe, expect, it } from 'vitest';
import { encodeWords } from './encoded-word.ts';

describe('encodeWords', () => {
  it('takes Q for mostly ASCII and B for the rest', () => {
    expect(encodeWords('Grüße an die Nachbarn')).toEqual(['=?utf-8?Q?Gr=C3=BC=C3=9Fe_an_die_Nachbarn?=']);
    expect(encodeWords('日本語')).toEqual(['=?utf-8?B?5pel5pys6Kqe?=']);
    expect(encodeWords('')).toEqual([]);
  });

  it('keeps every word whole, within 75 octets, and decodable by a foreign reader', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.integer({ min: 0, max: 80 }),
        (raw, room) => {
          const text = raw.toWellFormed();
          const words = encodeWords(raw, room);
          expect((words[0] ?? '').length).toBeLessThanOrEqual(Math.max(24, Math.min(75, room)));
          for (const word of words) {
            expect(word.length).toBeLessThanOrEqual(75);
            expect(word).toMatch(/^=\?utf-8\?(?:Q\?[A-Za-z0-9!*+\-/=_]+|B\?[A-Za-z0-9+/=]+)\?=$/);
            expect(decodeWords(word)).not.toMatch(text.includes('\ufffd') ? /\0\0\0\0\0/ : /\ufffd/);
          }
          expect(words.map((word) => decodeEach(word)).join('')).toBe(text);
        },
      ),
    );
  });
});

/** Decodes one word by hand, so that a leading U+FEFF is not lost in a reader's byte order mark handling. */
function decodeEach(word: string): string {
  const payload = word.slice(10, -2);
  if (word[8] === 'B') return Buffer.from(payload, 'base64').toString('utf8');
  const bytes = payload
    .replace(/_/g, ' ')
    .replace(/=([0-9A-F]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)));
  return Buffer.from(bytes, 'latin1').toString('utf8');
}
