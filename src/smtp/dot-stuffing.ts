/**
 * Prepares message bytes for DATA (RFC 5321 §4.5.2): a dot at the start of a line is doubled, the data ends with CRLF,
 * and the terminator follows. Takes chunks with CRLF line ends, divided anywhere; returns the same chunks, uncopied if
 * nothing is doubled (nearly always), and the terminator that fits the end of the data. Only CRLF ends a line; a bare
 * CR or LF is not corrected here, because composed messages have CRLF.
 */
import { asBuffer } from '../lib/as-buffer.ts';

interface DotStuffer {
  /** The chunk itself, or a copy with doubled dots. */
  feed(chunk: Uint8Array): Uint8Array;
  /** The text that ends the data: ".\r\n", after the missing part of a CRLF. */
  terminator(): string;
}

const DOT = 46;
const LF = 10;
const CR = 13;
const LINE_THEN_DOT = Buffer.from('\r\n.');

/** How the bytes so far end. */
type Ending = 'line-start' | 'cr' | 'other';

function endingOf(bytes: Buffer, before: Ending): Ending {
  const last = bytes[bytes.length - 1];
  if (last === CR) return 'cr';
  if (last !== LF) return 'other';
  const afterCr = bytes.length === 1 ? before === 'cr' : bytes[bytes.length - 2] === CR;
  return afterCr ? 'line-start' : 'other';
}

/**
 * The offset of the first dot to double, or -1. `before` matters for a line end that is divided by the chunk boundary.
 */
function firstDot(bytes: Buffer, before: Ending): number {
  if (before === 'line-start' && bytes[0] === DOT) return 0;
  if (before === 'cr' && bytes[0] === LF && bytes[1] === DOT) return 1;
  const found = bytes.indexOf(LINE_THEN_DOT);
  return found === -1 ? -1 : found + 2;
}

function doubled(bytes: Buffer, first: number): Buffer {
  const dots = [first];
  for (let at = bytes.indexOf(LINE_THEN_DOT, first); at !== -1; at = bytes.indexOf(LINE_THEN_DOT, at + 2)) {
    dots.push(at + 2);
  }
  const out = Buffer.allocUnsafe(bytes.length + dots.length);
  let from = 0;
  let to = 0;
  for (const dot of dots) {
    to += bytes.copy(out, to, from, dot);
    out[to] = DOT;
    to += 1;
    from = dot;
  }
  bytes.copy(out, to, from);
  return out;
}

/** A stuffer for one message. */
export function createDotStuffer(): DotStuffer {
  let ending: Ending = 'line-start';
  return {
    feed(chunk) {
      if (chunk.length === 0) return chunk;
      const bytes = asBuffer(chunk);
      const first = firstDot(bytes, ending);
      ending = endingOf(bytes, ending);
      return first === -1 ? chunk : doubled(bytes, first);
    },
    terminator() {
      if (ending === 'line-start') return '.\r\n';
      return ending === 'cr' ? '\n.\r\n' : '\r\n.\r\n';
    },
  };
}
