/**
 * Transfer encodings (RFC 2045 §6.7, §6.8): octets as CRLF lines of at most 76 ASCII characters, and back. Each encoder
 * writes to a buffer that is large enough, and returns the offset after its output. Quoted-printable also normalises
 * line ends: CR, LF and CRLF all become CRLF, so that a lone CR or LF is never sent (RFC 5321 §2.3.8); other control
 * characters and blanks at line ends are encoded. The loops work on bytes, four at a time where that is faster; no
 * strings of whole attachments are built.
 */

/** The encoding of a body: quoted-printable if mostly ASCII, base64 if that is shorter. */
export type TransferEncoding = 'quoted-printable' | 'base64';

const CR = 13;
const LF = 10;
const TAB = 9;
const SPACE = 32;
const EQUALS = 61;
const MAX_COLUMN = 75;
export const BASE64_BYTES_PER_LINE = 57;

/** 1 for a byte that may stay literal; also blanks: the last one of a line is encoded afterwards. */
const QP_LITERAL = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte === TAB || (byte >= SPACE && byte < 127 && byte !== EQUALS) ? 1 : 0,
);
const HEX = Buffer.from('0123456789ABCDEF', 'latin1');
const BASE64 = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/', 'latin1');

/** These encodings change nothing. */
export const IDENTITY_ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);
/** The value of a hexadecimal digit, -1 for other bytes. */
const HEX_VALUE = Int8Array.from({ length: 256 }, (_, byte) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(byte).toLowerCase()),
);

/** Octets that encodeBase64 writes for `length` bytes: lines of 76 with CRLF, including the last one. */
export function base64Size(length: number): number {
  return Math.ceil(length / 3) * 4 + Math.ceil(length / BASE64_BYTES_PER_LINE) * 2;
}

/** The most octets that encodeQuotedPrintable can write for `length` bytes. */
export function quotedPrintableBound(length: number): number {
  // At worst three octets per byte, and a soft line break of three after every 73 octets.
  return 3 * length + Math.ceil((3 * length) / 73) * 3;
}

/** The number of non-ASCII bytes. */
export function countNonAscii(bytes: Uint8Array): number {
  let count = 0;
  for (let i = 0; i < bytes.length; i++) count += (bytes[i] as number) >> 7;
  return count;
}

/** Writes `source` as base64 lines of 76 columns, each with CRLF; returns the index after the last octet. */
export function encodeBase64(source: Uint8Array, target: Uint8Array, offset: number): number {
  const whole = source.length - (source.length % 3);
  let at = offset;
  let i = 0;
  while (i < whole) {
    const lineEnd = Math.min(i + BASE64_BYTES_PER_LINE, whole);
    for (; i < lineEnd; i += 3) {
      const bits =
        ((source[i] as number) << 16) | ((source[i + 1] as number) << 8) | (source[i + 2] as number);
      target[at] = BASE64[bits >> 18] as number;
      target[at + 1] = BASE64[(bits >> 12) & 63] as number;
      target[at + 2] = BASE64[(bits >> 6) & 63] as number;
      target[at + 3] = BASE64[bits & 63] as number;
      at += 4;
    }
    if (i === whole && whole < source.length && whole % BASE64_BYTES_PER_LINE !== 0) break;
    target[at++] = CR;
    target[at++] = LF;
  }
  if (whole === source.length) return at;
  const first = source[whole] as number;
  const second = whole + 1 < source.length ? (source[whole + 1] as number) : 0;
  target[at++] = BASE64[first >> 2] as number;
  target[at++] = BASE64[((first & 3) << 4) | (second >> 4)] as number;
  target[at++] = whole + 1 < source.length ? (BASE64[(second & 15) << 2] as number) : EQUALS;
  target[at++] = EQUALS;
  target[at++] = CR;
  target[at++] = LF;
  return at;
}

/**
 * Writes `source` (UTF-8 text) as quoted-printable; returns the index after the last octet. Lines are at most
 * 76 octets with their `=`. Nothing is added at the end: text without a final line end stays without.
 */
export function encodeQuotedPrintable(source: Uint8Array, target: Uint8Array, offset: number): number {
  return encodeFrom(source, target, offset, offset);
}

/** A stretch of literal octets that must stay on one line: its start in the source. */
export interface UnbrokenStretch {
  readonly start: number;
  /** At most 75 octets, all literal in quoted-printable (such as letters and digits). */
  readonly length: number;
}

/** Converts offsets in the text to offsets in its UTF-8, in one pass. */
export function inOctets(text: string, places: readonly UnbrokenStretch[]): readonly UnbrokenStretch[] {
  let octets = 0;
  let from = 0;
  return places.map(({ start, length }) => {
    octets += Buffer.byteLength(text.slice(from, start));
    from = start;
    return { start: octets, length };
  });
}

/**
 * As `encodeQuotedPrintable`, with stretches (in order) that no soft line break divides; `found` gets the offset of
 * each in `target`. Room: `quotedPrintableBound`, and three octets for each stretch.
 */
export function encodeWithStretches(
  source: Uint8Array,
  target: Uint8Array,
  offset: number,
  stretches: readonly UnbrokenStretch[],
  found: number[],
): number {
  let at = offset;
  let from = 0;
  let lineStart = offset;
  for (const { start, length } of stretches) {
    at = encodeFrom(source.subarray(from, start), target, at, lineStart);
    lineStart = lineStartOf(target, offset, at);
    if (at - lineStart + length > MAX_COLUMN) {
      at = softBreak(target, at);
      lineStart = at;
    }
    found.push(at);
    for (let i = 0; i < length; i++) target[at++] = source[start + i] as number;
    from = start + length;
  }
  return encodeFrom(source.subarray(from), target, at, lineStart);
}

function lineStartOf(target: Uint8Array, offset: number, at: number): number {
  for (let i = at; i > offset; i--) if (target[i - 1] === LF) return i;
  return offset;
}

/** `lineOffset`: the start of the line that is being continued. */
function encodeFrom(source: Uint8Array, target: Uint8Array, offset: number, lineOffset: number): number {
  const length = source.length;
  const from = new DataView(source.buffer, source.byteOffset, length);
  const to = new DataView(target.buffer, target.byteOffset, target.length);
  let at = offset;
  let lineStart = lineOffset;
  let i = 0;
  while (i < length) {
    // Nearly everything is literal: four bytes at a time, then single bytes near the line limit.
    const stop = Math.min(length, i + MAX_COLUMN - (at - lineStart));
    let special = 0;
    while (i + 4 <= stop && special === 0) {
      const four = from.getInt32(i, true);
      to.setInt32(at, four, true);
      special = specialBits(four);
      const literals = special === 0 ? 4 : (31 - Math.clz32(special & -special)) >> 3;
      at += literals;
      i += literals;
    }
    if (special === 0) {
      while (i < stop && QP_LITERAL[source[i] as number] === 1) target[at++] = source[i++] as number;
    }
    if (i === length) break;
    if (i === stop && !isLineEnd(source[i] as number)) {
      at = softBreak(target, at);
      lineStart = at;
      continue;
    }
    const byte = source[i++] as number;
    if (isLineEnd(byte)) {
      if (byte === CR && source[i] === LF) i++;
      at = encodeFinalBlank(target, lineStart, at);
      target[at] = CR;
      target[at + 1] = LF;
      at += 2;
      lineStart = at;
    } else {
      if (at - lineStart > MAX_COLUMN - 3) {
        at = softBreak(target, at);
        lineStart = at;
      }
      at = writeEncoded(target, at, byte);
    }
  }
  return encodeFinalBlank(target, lineStart, at);
}

/**
 * The top bit of each of four bytes that is a control character, `=`, DEL or non-ASCII; 0 if all are literal. Only the
 * lowest set bit is exact: a borrow from a special byte can mark the ones above it, which the caller checks again.
 */
function specialBits(four: number): number {
  const equals = four ^ 0x3d3d3d3d;
  const control = four - 0x20202020;
  const equal = (equals - 0x01010101) & ~equals;
  const del = four + 0x01010101;
  return (four | control | equal | del) & 0x80808080;
}

/** Encodes a blank that was written at the end of a line (RFC 2045 §6.7 rule 3). */
function encodeFinalBlank(target: Uint8Array, lineStart: number, end: number): number {
  const last = target[end - 1] as number;
  if (end === lineStart || (last !== SPACE && last !== TAB)) return end;
  const at = end - 1;
  return writeEncoded(target, at - lineStart > MAX_COLUMN - 2 ? softBreak(target, at) : at, last);
}

function writeEncoded(target: Uint8Array, at: number, byte: number): number {
  target[at] = EQUALS;
  target[at + 1] = HEX[byte >> 4] as number;
  target[at + 2] = HEX[byte & 15] as number;
  return at + 3;
}

function isLineEnd(byte: number): boolean {
  return byte === LF || byte === CR;
}

/** CR, LF and CRLF as CRLF, for text in base64. */
export function normaliseLineEnds(text: string): string {
  return text.replace(/\r\n?|\n/g, '\r\n');
}

function softBreak(target: Uint8Array, at: number): number {
  target[at] = EQUALS;
  target[at + 1] = CR;
  target[at + 2] = LF;
  return at + 3;
}

/**
 * The octets encoded by a transfer encoding (lower case). `exact` is false if the encoding is unknown, so that they are
 * returned unchanged, or broken, so that they are the best guess and another program may read it differently.
 */
export function decodeTransfer(body: Buffer, encoding: string): { bytes: Buffer; exact: boolean } {
  if (encoding === 'quoted-printable') return decodeQuotedPrintable(body);
  if (encoding !== 'base64') return { bytes: body, exact: IDENTITY_ENCODINGS.has(encoding) };
  const text = body.toString('latin1').replace(/[\r\n\t ]+/g, '');
  const exact = text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
  return { bytes: Buffer.from(text, 'base64'), exact };
}

/** Decodes quoted-printable (RFC 2045 §6.7); an invalid escape stays as written. */
export function decodeQuotedPrintable(body: Buffer): { bytes: Buffer; exact: boolean } {
  const out = Buffer.allocUnsafe(body.length);
  let exact = true;
  let at = 0;
  // Blanks after this offset were literal: at the end of a line they were added in transport and are dropped.
  let kept = 0;
  for (let i = 0; i < body.length; i += 1) {
    const byte = body[i] as number;
    if (byte === EQUALS) {
      const high = HEX_VALUE[body[i + 1] ?? 0] as number;
      const low = HEX_VALUE[body[i + 2] ?? 0] as number;
      if (high >= 0 && low >= 0) {
        out[at++] = (high << 4) | low;
        i += 2;
      } else {
        const lineEnd = softBreakEnd(body, i + 1);
        if (lineEnd === -1) {
          exact = false;
          out[at++] = byte;
        } else i = lineEnd - 1;
      }
      kept = at;
    } else if (byte === LF || (byte === CR && body[i + 1] === LF)) {
      at = kept;
      out[at++] = byte;
      if (byte === CR) out[at++] = body[++i] as number;
      kept = at;
    } else {
      out[at++] = byte;
      if (byte !== SPACE && byte !== TAB) kept = at;
    }
  }
  return { bytes: out.subarray(0, kept), exact };
}

/**
 * The offset after the line end that follows `from` with only blanks before it, or the end; -1 if something else
 * follows.
 */
function softBreakEnd(body: Buffer, from: number): number {
  let at = from;
  while (body[at] === SPACE || body[at] === TAB) at += 1;
  if (body[at] === CR && body[at + 1] === LF) return at + 2;
  if (body[at] === LF) return at + 1;
  return at === body.length ? at : -1;
}
