/**
 * Splits bytes into text lines, for the replies of untrusted servers. Takes chunks divided anywhere; returns each line
 * once, without its terminator, independent of the chunks. CRLF and a bare LF both end a line; text is UTF-8 if valid,
 * otherwise Latin-1; control characters become spaces, so that a reply cannot control a terminal or forge log lines. At
 * most `maxLineBytes` of an unfinished line are kept; the rest of that line is counted and dropped.
 */
import { asBuffer } from '../lib/as-buffer.ts';

interface LineReader {
  /**
   * Takes the next bytes. They are read in place: the caller must not reuse the buffer before `next()` has returned
   * null.
   */
  push(chunk: Uint8Array): void;
  /** The next complete line, cut at `maxLineBytes`, or null if more bytes are needed. */
  next(): string | null;
  /** Octets of the last returned line with its terminator, before any cut. */
  lineBytes(): number;
  /** Octets received that belong to no returned line yet, including dropped ones. */
  buffered(): number;
  /** The beginning of the unfinished line, '' if there is none; valid after `next()` returned null. */
  unfinished(): string;
}

const LF = 10;
const CR = 13;
const EMPTY = Buffer.alloc(0);
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const NEEDS_CARE = /[\x00-\x1f\x7f-\x9f\ufffd]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
const CONTROLS = /[\x00-\x1f\x7f-\x9f]/g;

function decode(bytes: Buffer, start: number, end: number): string {
  const text = bytes.toString('utf8', start, end);
  if (!NEEDS_CARE.test(text)) return text;
  const readable = text.includes('\ufffd') ? bytes.toString('latin1', start, end) : text;
  return readable.replace(CONTROLS, ' ');
}

/** A reader that holds at most the unread part of the last chunk plus `maxLineBytes`. */
export function createLineReader(options: { maxLineBytes: number }): LineReader {
  const { maxLineBytes } = options;
  let chunk: Buffer = EMPTY;
  let at = 0;
  // The unfinished line from earlier chunks: the kept bytes, and how many were received.
  let held: Buffer = EMPTY;
  let heldBytes = 0;
  let lineBytes = 0;

  function keepRest(from: number, to: number): void {
    const keep = Math.min(to - from, maxLineBytes - held.length);
    // A copy: a slice would keep the socket's whole read buffer in memory.
    if (keep > 0) held = Buffer.concat([held, chunk.subarray(from, from + keep)]);
    heldBytes += to - from;
  }

  return {
    push(bytes) {
      const next = asBuffer(bytes);
      chunk = at < chunk.length ? Buffer.concat([chunk.subarray(at), next]) : next;
      at = 0;
    },
    next() {
      const lf = chunk.indexOf(LF, at);
      if (lf === -1) {
        if (at < chunk.length) keepRest(at, chunk.length);
        chunk = EMPTY;
        at = 0;
        return null;
      }
      let source = chunk;
      let start = at;
      let end = lf;
      lineBytes = lf + 1 - at + heldBytes;
      if (heldBytes > 0) {
        keepRest(at, lf);
        source = held;
        start = 0;
        end = held.length;
        held = EMPTY;
        heldBytes = 0;
      }
      at = lf + 1;
      end = Math.min(end, start + maxLineBytes);
      while (end > start && source[end - 1] === CR) end -= 1;
      return decode(source, start, end);
    },
    lineBytes: () => lineBytes,
    buffered: () => chunk.length - at + heldBytes,
    unfinished: () => decode(held, 0, held.length),
  };
}
