/**
 * Where a message ends and what of it is kept: every short mix of CR, LF and dots against a second, slower rule, and the
 * tricks by which a second message was smuggled past other servers.
 */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createByteBudget } from '../lib/byte-budget.ts';
import { createDataReader, type DataFault } from './server-data.ts';

interface Read {
  /** Offset after the end, -1 = not ended. */
  end: number;
  fault: DataFault | null;
  text: string;
}

const LIMITS = { maxBytes: 1000, maxLineBytes: 998 };

function read(input: string, cuts: readonly number[] = [], limits = LIMITS): Read {
  const bytes = Buffer.from(input, 'latin1');
  const reader = createDataReader(limits, 0);
  const edges = [
    0,
    ...cuts.filter((cut) => cut > 0 && cut < bytes.length).sort((a, b) => a - b),
    bytes.length,
  ];
  for (let i = 1; i < edges.length; i += 1) {
    const [from = 0, to = 0] = [edges[i - 1], edges[i]];
    const end = reader.read(bytes.subarray(from, to), 0);
    if (end !== -1) {
      return { end: from + end, fault: reader.fault(), text: Buffer.from(reader.bytes()).toString('latin1') };
    }
  }
  return { end: -1, fault: reader.fault(), text: '' };
}

/** The rule again, slowly and in other words. */
function oracle(input: string): Read {
  const at = `\r\n${input}`.indexOf('\r\n.\r\n');
  if (at === -1) return { end: -1, fault: null, text: '' };
  const stuffed = `\r\n${input}`.slice(0, at);
  const body = stuffed.replaceAll('\r\n.', '\r\n');
  const bare = stuffed.replaceAll('\r\n', '');
  // Of a dot line with a bare CR, the CR stays in `bare` as well.
  const fault = /[\r\n]/.test(bare) ? 'bare-line-end' : bare.includes('\0') ? 'nul' : null;
  const text = body === '' ? '' : `${body.slice(2)}\r\n`;
  return { end: at + 3, fault, text: fault === null ? text : '' };
}

function* sequences(alphabet: readonly string[], length: number): Generator<string> {
  if (length === 0) {
    yield '';
    return;
  }
  for (const rest of sequences(alphabet, length - 1)) for (const one of alphabet) yield one + rest;
}

describe('the octets of a message', () => {
  it('end with CRLF.CRLF and with no other mix of CR, LF and dots', () => {
    let ended = 0;
    for (let length = 0; length <= 7; length += 1) {
      for (const mix of sequences(['\r', '\n', '.', 'x'], length)) {
        const input = `a${mix}`;
        const expected = oracle(input);
        if (expected.end !== -1) ended += 1;
        const found = read(input);
        expect({ input, ...found }).toEqual({
          input,
          ...expected,
          // Before the end the oracle says nothing about faults.
          fault: expected.end === -1 ? found.fault : expected.fault,
        });
      }
    }
    expect(ended).toBeGreaterThan(50);
  });

  it.each([
    '\n.\n',
    '\r.\r',
    '\n.\r\n',
    '\r\n.\n',
    '\r\n.\r',
    '\r.\r\n',
    '\r\n.\r\r\n',
    '\r\n\0.\r\n',
    '\r\n.\0\r\n',
    '\r\r\n.\r\n',
    '\n\n.\r\n',
  ])('do not become a second message through %j', (trick) => {
    const hidden = `line${trick}MAIL FROM:<evil@example.com>\r\nRCPT TO:<b@example.net>\r\nDATA\r\nx\r\n.\r\n`;
    const found = read(hidden);
    if (trick.endsWith('\r\n.\r\n')) {
      // The dot line is a true end behind a bare CR or LF: the message before it is refused, the rest are commands.
      expect(found.fault).toBe('bare-line-end');
    } else {
      expect(found).toEqual({ end: hidden.length, fault: found.fault, text: '' });
      expect(found.fault).not.toBeNull();
    }
  });

  it('lose one dot where a line begins with one', () => {
    expect(read('..\r\n..a\r\n.b\r\nc.\r\n.\r\n').text).toBe('.\r\n.a\r\nb\r\nc.\r\n');
  });

  it('may be none at all', () => {
    expect(read('.\r\n')).toEqual({ end: 3, fault: null, text: '' });
  });

  it('are the same however they arrive', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('\r\n', '\r', '\n', '.', 'x', '\0', 'é', 'y'.repeat(400)), {
          maxLength: 14,
        }),
        fc.array(fc.nat(4000), { maxLength: 8 }),
        (parts, cuts) => {
          const input = `${parts.join('')}\r\n.\r\nQUIT\r\n`;
          const everyOctet = Array.from({ length: input.length }, (_, i) => i);
          const whole = read(input);
          expect(read(input, cuts)).toEqual(whole);
          expect(read(input, everyOctet)).toEqual(whole);
          expect(whole.end).toBeGreaterThan(0);
        },
      ),
      { numRuns: 500 },
    );
  });

  it('are refused where a line has 999 octets, and not with 998', () => {
    const limits = { ...LIMITS, maxBytes: 5000 };
    expect(read(`${'a'.repeat(998)}\r\n.\r\n`, [], limits).fault).toBeNull();
    expect(read(`.${'a'.repeat(998)}\r\n.\r\n`, [], limits).fault).toBeNull();
    expect(read(`${'a'.repeat(999)}\r\n.\r\n`, [], limits).fault).toBe('long-line');
  });

  it('are counted to the limit exactly, and read to their end beyond it', () => {
    const lines = `${'a'.repeat(98)}\r\n`.repeat(10);
    expect(read(`${lines}.\r\n`)).toMatchObject({ end: 1003, fault: null });
    expect(read(`${lines}b\r\n.\r\n`)).toEqual({ end: 1006, fault: 'too-large', text: '' });
  });

  it('are not believed to be as many as announced', () => {
    const reader = createDataReader({ maxBytes: 100_000_000, maxLineBytes: 998 }, 100_000_000);
    reader.read(Buffer.from('a\r\n.\r\n'), 0);
    expect(reader.bytes().buffer.byteLength).toBeLessThanOrEqual(1024 * 1024);
  });

  it('stay where they are when they become many', () => {
    const line = `${'a'.repeat(998)}\r\n`;
    const reader = createDataReader({ maxBytes: 10_000_000, maxLineBytes: 998 }, 0);
    const buffers = new Set<ArrayBufferLike>();
    for (let n = 0; n < 9000; n += 1) {
      reader.read(Buffer.from(line), 0);
      if (n > 5000) buffers.add(reader.bytes().buffer);
    }
    reader.read(Buffer.from('.\r\n'), 0);
    expect(buffers.size).toBe(1);
    expect(Buffer.compare(reader.bytes(), Buffer.from(line.repeat(9000)))).toBe(0);
  });

  it('take shared memory as they come, and give it all back', () => {
    const memory = createByteBudget(40_000);
    const limits = { maxBytes: 100_000, maxLineBytes: 998 };
    const small = createDataReader(limits, 0, memory.open(['a']));
    small.read(Buffer.from('a\r\n'), 0);
    const large = createDataReader(limits, 0, memory.open(['b']));
    large.read(Buffer.from(`${'a'.repeat(98)}\r\n`.repeat(500)), 0);
    expect(large.fault()).toBe('no-room');
    small.read(Buffer.from('b\r\n.\r\n'), 0);
    expect(Buffer.from(small.bytes()).toString()).toBe('a\r\nb\r\n');
    small.release();
    small.release();
    large.release();
    expect([memory.open(['a']).take(20_000), memory.open(['b']).take(20_000)]).toEqual([true, true]);
  });

  it('say whether one of them is above 127', () => {
    const reader = createDataReader(LIMITS, 0);
    reader.read(Buffer.from('caf\u00e9\r\n.\r\n', 'utf8'), 0);
    expect(reader.isEightBit()).toBe(true);
  });
});
