import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseCapabilities } from './ehlo.ts';
import { createReplyReader, enhancedCodeOf, type ReplyItem } from './reply.ts';

/** Everything a reader says about `bytes` cut at these places. */
function readAll(bytes: Uint8Array, cuts: readonly number[] = []): ReplyItem[] {
  const reader = createReplyReader();
  const items: ReplyItem[] = [];
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b);
  let from = 0;
  for (const to of [...places, bytes.length]) {
    reader.push(Buffer.from(bytes.subarray(from, to)));
    for (let item = reader.next(); item !== null; item = reader.next()) items.push(item);
    from = to;
  }
  return items;
}

function read(text: string | Buffer) {
  const items = readAll(Buffer.from(text as string));
  return items.map((item) => (item.kind === 'reply' ? item.reply : item.detail));
}

describe('replies', () => {
  it('takes the code of the last line, and the enhanced code wherever it stands', () => {
    expect(read('250-5.1.1 one\r\n550-\r\n451\r\n')).toEqual([
      { code: 451, enhanced: '5.1.1', lines: ['5.1.1 one', '', ''], text: '5.1.1 one  ' },
    ]);
    expect(read('250-2.1.0 a\n550 5.1.1 b\n')).toMatchObject([{ code: 550, enhanced: '5.1.1' }]);
  });

  it('reads UTF-8 where it is valid, Latin-1 else, and makes control characters blanks', () => {
    expect(read('550 grün\r\n')).toMatchObject([{ text: 'grün' }]);
    expect(read(Buffer.from('550 gr\xfcn\r\n', 'latin1'))).toMatchObject([{ text: 'grün' }]);
    expect(read('550 a\x1b[2Jb\0c\td\r\r\n')).toMatchObject([{ text: 'a [2Jb c d' }]);
  });

  it('keeps the first lines and the last one of an over-long reply', () => {
    const [reply] = read(`${'550-5.7.1 line\r\n'.repeat(200)}451 the end\r\n`);
    expect(reply).toMatchObject({ code: 451, enhanced: '5.7.1' });
    if (typeof reply !== 'object') throw new Error('no reply');
    expect(reply.lines).toHaveLength(64);
    expect(reply.lines.at(-1)).toBe('the end');
    const [long] = read(`550 ${'x'.repeat(20_000)}\r\n`);
    expect(long).toMatchObject({ code: 550 });
    if (typeof long !== 'object') throw new Error('no reply');
    expect(long.text.length).toBeLessThanOrEqual(8192);
  });

  it.each(['', '2', '25', '25x ok', '150 early', '600 late', '250x', 'HTTP/1.1 200 OK', ' 250 ok'])(
    'takes %j for no reply',
    (line) => {
      expect(read(`${line}\r\n`)).toEqual([expect.stringContaining('not an SMTP reply')]);
    },
  );

  it('stops at a reply without end, with what its code has said', () => {
    for (const endless of ['550-5.7.1 x\r\n'.repeat(20_000), `550-5.7.1 ${'x'.repeat(100_000)}`]) {
      const reader = createReplyReader();
      reader.push(Buffer.from(endless));
      expect(reader.next()).toMatchObject({
        kind: 'reply',
        cut: true,
        reply: { code: 550, enhanced: '5.7.1' },
      });
      reader.push(Buffer.from('\r\n250 ok\r\n'));
      expect(reader.next()).toBeNull();
    }
    const [kept] = read('550-5.7.1 x\r\n'.repeat(20_000));
    if (typeof kept !== 'object') throw new Error('no reply');
    expect(kept.lines.length).toBeLessThanOrEqual(64);
  });

  it('takes no verdict from a reply without end that has said none, or only "go on"', () => {
    expect(read('2'.repeat(100_000))).toEqual(['endless reply']);
    expect(read('x'.repeat(100_000))).toEqual(['endless reply']);
    expect(read('354-go\r\n'.repeat(20_000))).toEqual(['endless reply']);
  });

  it('reads a line of any length that ends, and goes on behind it', () => {
    expect(read(`250 ${'x'.repeat(100_000)}\r\n550 no\r\n`)).toMatchObject([{ code: 250 }, { code: 550 }]);
  });

  it('knows an enhanced code from other numbers', () => {
    for (const [text, code] of [
      ['5.1.1 no', '5.1.1'],
      ['2.0.0', '2.0.0'],
      ['4.7.123 x', '4.7.123'],
      ['5.1.1234 no', null],
      ['5.1 no', null],
      ['3.1.1 no', null],
      ['5.1.1: no', null],
      ['5.1.1.1', null],
      ['', null],
    ] as const) {
      expect(enhancedCodeOf(text)).toBe(code);
    }
  });

  it('reads the same whatever way the bytes are cut', () => {
    const line = fc.tuple(
      fc.constantFrom('250', '354', '451', '550', '2', ''),
      fc.constantFrom(' ', '-', '', 'x'),
      fc.oneof(fc.string({ unit: 'binary', maxLength: 12 }), fc.constantFrom('5.1.1 no', '\xe9', '\r', '\0')),
      fc.constantFrom('\r\n', '\n', '\r\n'),
    );
    const replies = fc.array(line, { maxLength: 12 }).map((lines) => Buffer.from(lines.flat().join('')));
    const bytes = fc.oneof(
      replies,
      fc.uint8Array({ maxLength: 60 }).map((array) => Buffer.from(array)),
    );
    fc.assert(
      fc.property(bytes, fc.array(fc.nat({ max: 400 }), { maxLength: 20 }), (wire, cuts) => {
        const whole = readAll(wire);
        expect(readAll(wire, cuts)).toEqual(whole);
        expect(readAll(wire, [...wire.keys()])).toEqual(whole);
      }),
      { numRuns: 500 },
    );
  });

  it('reads the same over-long line whatever way it is cut', () => {
    const wire = Buffer.from(`550-${'é'.repeat(9_000)}\r\n550 ${'x'.repeat(9_000)}\r\n`);
    for (const every of [1, 7, 4096, 8191]) {
      const cuts = [...wire.keys()].filter((at) => at % every === 0);
      expect(readAll(wire, cuts)).toEqual(readAll(wire));
    }
  });
});

describe('capabilities', () => {
  const capabilitiesOf = (...lines: string[]) => {
    const [reply] = read(
      ['mx.test greets you', ...lines].map((l, i) => `250${i < lines.length ? '-' : ' '}${l}\r\n`).join(''),
    );
    if (typeof reply !== 'object') throw new Error('no reply');
    return parseCapabilities(reply);
  };

  it('never takes the greeting for an extension', () => {
    const [reply] = read('250 STARTTLS\r\n');
    if (typeof reply !== 'object') throw new Error('no reply');
    expect(parseCapabilities(reply)).toMatchObject({ esmtp: true, startTls: false });
  });

  it('takes no limit from SIZE 0, none, nonsense or a number beyond reason', () => {
    for (const line of ['SIZE 0', 'SIZE', 'SIZE -1', 'SIZE 1e9', `SIZE ${'9'.repeat(40)}`]) {
      expect(capabilitiesOf(line)).toMatchObject({ sizeOffered: true, maxSize: null });
    }
    expect(capabilitiesOf('size 35882577')).toMatchObject({ maxSize: 35_882_577 });
  });

  it('collects AUTH mechanisms from both spellings once', () => {
    expect(capabilitiesOf('AUTH PLAIN login', 'AUTH=PLAIN').auth).toEqual(['PLAIN', 'LOGIN']);
  });
});
