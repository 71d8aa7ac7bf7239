import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createDotStuffer } from './dot-stuffing.ts';

function onTheWire(chunks: readonly Uint8Array[]): Buffer {
  const stuffer = createDotStuffer();
  const stuffed = chunks.map((chunk) => stuffer.feed(chunk));
  return Buffer.concat([...stuffed, Buffer.from(stuffer.terminator())]);
}

/** A strict server: lines end at CRLF only, the first lone dot ends the data, and nothing may follow it. */
function received(wire: Buffer): string {
  let out = '';
  let rest = wire.toString('latin1');
  for (;;) {
    const end = rest.indexOf('\r\n');
    if (end === -1) throw new Error('data never ended');
    const line = rest.slice(0, end);
    rest = rest.slice(end + 2);
    if (line === '.') {
      if (rest !== '') throw new Error('bytes behind the end');
      return out;
    }
    out += `${line.startsWith('.') ? line.slice(1) : line}\r\n`;
  }
}

describe('dot-stuffing', () => {
  it('hands the very chunk back where nothing is to double', () => {
    const chunk = Buffer.from('a.b\r\n c.\r\n');
    const stuffer = createDotStuffer();
    expect(stuffer.feed(chunk)).toBe(chunk);
    expect(stuffer.terminator()).toBe('.\r\n');
    const plain = new Uint8Array(chunk);
    expect(createDotStuffer().feed(plain)).toBe(plain);
  });

  it('does not take a bare CR or LF for a line end', () => {
    expect(onTheWire([Buffer.from('a\n.b\r.c\r\n')]).toString()).toBe('a\n.b\r.c\r\n.\r\n');
  });

  it('gives a strict server back what was given, whatever the chunks', () => {
    const piece = fc.constantFrom('.', '..', '\r\n', '\r', '\n', 'a', '.\r\n', '\r\n.\r\n', 'text ');
    const chunk = fc.array(piece, { maxLength: 8 }).map((pieces) => Buffer.from(pieces.join('')));
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 8 }), (chunks) => {
        const text = Buffer.concat(chunks).toString('latin1');
        const missing = text === '' || text.endsWith('\r\n') ? '' : text.endsWith('\r') ? '\n' : '\r\n';
        expect(received(onTheWire(chunks))).toBe(text + missing);
        expect(onTheWire(chunks)).toEqual(onTheWire([Buffer.concat(chunks)]));
      }),
      { numRuns: 1000 },
    );
  });
});
