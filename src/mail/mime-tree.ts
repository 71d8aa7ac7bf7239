/**
 * The parts of a received message (RFC 2045, RFC 2046) as offsets into its octets; nothing is copied or decoded. Takes
 * any octets; returns the message as the outermost part. Never fails: lines that are not fields are skipped, and a part
 * without closing boundary ends with the part around it, or with the text. Lines end with CRLF or a bare LF. Depth and
 * number of parts are limited, and a part that lost inner parts by this is marked `cut`. One pass: a line is compared
 * with at most `MAX_DEPTH` open boundaries.
 */
import { asBuffer } from '../lib/as-buffer.ts';
import { readType } from './content-type.ts';
import { type HeaderLines, rawFieldValue, readHeaderLines } from './raw-header.ts';
import { decodeTransfer, IDENTITY_ENCODINGS } from './transfer-encoding.ts';

export interface MimePart {
  /** The octets that all offsets refer to, also those of header fields. */
  readonly source: Buffer;
  /**
   * First octet of the header, first of the body, and the octet after the body. The line end before a boundary belongs
   * to the boundary.
   */
  readonly start: number;
  readonly bodyStart: number;
  readonly end: number;
  readonly header: HeaderLines;
  /** Lower case `type/subtype`; by default `text/plain`, in a digest `message/rfc822`. */
  readonly type: string;
  /** Names in lower case, quotes removed, of repeated names the first. */
  readonly parameters: ReadonlyMap<string, string>;
  /** Content-Transfer-Encoding in lower case; default `7bit`. */
  readonly encoding: string;
  /** The parts of a multipart; the one message in a message part that is not encoded. */
  readonly parts: readonly MimePart[];
  /** Parts of it were left out: nested too deeply, or too many. */
  readonly cut: boolean;
}

export const MAX_DEPTH = 16;
export const MAX_PARTS = 1000;
/** RFC 2046 §5.1.1 allows 70 characters. */
const MAX_BOUNDARY_CHARS = 200;
const MAX_VALUE_CHARS = 8 * 1024;
const MESSAGE_TYPES: ReadonlySet<string> = new Set(['message/rfc822', 'message/global']);
const HYPHENS = Buffer.from('--', 'latin1');
const TAB = 9;
const LF = 10;
const CR = 13;
const SPACE = 32;
const HYPHEN = 45;

type OpenPart = { -readonly [Key in keyof MimePart]: MimePart[Key] } & { parts: OpenPart[] };

/** A multipart whose closing boundary has not been read yet. */
interface Boundary {
  /** `--` and the boundary. */
  readonly line: Buffer;
  /** How many parts are open when this multipart is the innermost one. */
  readonly depth: number;
  /** The default type of its parts. */
  readonly partType: string;
}

/** The parts of the message `bytes`. */
export function readMime(bytes: Uint8Array): MimePart {
  const source = asBuffer(bytes);
  /** From the message itself to the part that is being read. */
  const open: OpenPart[] = [];
  const boundaries: Boundary[] = [];
  let count = 0;

  const root = begin(0, 'text/plain');
  let at = innermost().bodyStart;
  while (boundaries.length > 0) {
    // Encoded files contain hardly any hyphens, but many line ends.
    at = source.indexOf(HYPHENS, at);
    if (at === -1) break;
    const found = source[at - 1] === LF ? delimiterAt(at) : null;
    if (found === null) {
      while (source[at] === HYPHEN) at += 1;
      continue;
    }
    const { boundary, isClosing, next } = found;
    endDownTo(boundary.depth, source[at - 2] === CR ? at - 2 : at - 1);
    at = next;
    const multipart = innermost();
    if (isClosing) boundaries.pop();
    else if (count >= MAX_PARTS) multipart.cut = true;
    else {
      begin(next, boundary.partType);
      at = innermost().bodyStart;
    }
  }
  endDownTo(0, source.length);
  return root;

  function begin(start: number, defaultType: string): OpenPart {
    const header = readHeaderLines(source, start, (lineStart) => delimiterAt(lineStart) !== null);
    const value = (name: string) => {
      const field = header.fields.find((each) => each.name === name);
      return field === undefined ? null : rawFieldValue(source, field);
    };
    const part: OpenPart = {
      source,
      start,
      bodyStart: header.bodyOffset,
      end: source.length,
      header,
      ...readType(value('content-type'), defaultType),
      encoding: (value('content-transfer-encoding') ?? '7bit').toLowerCase(),
      parts: [],
      cut: false,
    };
    count += 1;
    open.at(-1)?.parts.push(part);
    open.push(part);
    const boundary = part.type.startsWith('multipart/') ? (part.parameters.get('boundary') ?? '') : '';
    const isMultipart = boundary !== '' && boundary.length <= MAX_BOUNDARY_CHARS;
    const isMessage = MESSAGE_TYPES.has(part.type) && IDENTITY_ENCODINGS.has(part.encoding);
    if (!isMultipart && !isMessage) return part;
    if (open.length > MAX_DEPTH || count >= MAX_PARTS) part.cut = true;
    else if (isMessage) begin(part.bodyStart, 'text/plain');
    else {
      const partType = part.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
      boundaries.push({ line: Buffer.from(`--${boundary}`), depth: open.length, partType });
    }
    return part;
  }

  function innermost(): OpenPart {
    return open.at(-1) as OpenPart;
  }

  /** Ends all parts except the outermost `depth` at `end`, together with their boundaries. */
  function endDownTo(depth: number, end: number): void {
    let last = end;
    while (open.length > depth) {
      const part = open.pop() as OpenPart;
      last = Math.max(part.bodyStart, last);
      part.end = last;
    }
    while ((boundaries.at(-1)?.depth ?? 0) > depth) boundaries.pop();
  }

  /** The boundary line at `lineStart`, and the start of the next line; of several that match, the innermost. */
  function delimiterAt(lineStart: number): { boundary: Boundary; isClosing: boolean; next: number } | null {
    for (let i = boundaries.length - 1; i >= 0; i -= 1) {
      const boundary = boundaries[i] as Boundary;
      const after = lineStart + boundary.line.length;
      if (after > source.length || boundary.line.compare(source, lineStart, after) !== 0) continue;
      const isClosing = source[after] === HYPHEN && source[after + 1] === HYPHEN;
      const next = afterBlankRest(source, isClosing ? after + 2 : after);
      if (next !== -1) return { boundary, isClosing, next };
    }
    return null;
  }
}

/**
 * The start of the next line if only blanks are left on this one, otherwise -1: a longer boundary belongs to another
 * multipart.
 */
function afterBlankRest(source: Buffer, from: number): number {
  let at = from;
  while (source[at] === SPACE || source[at] === TAB) at += 1;
  if (source[at] === CR) at += 1;
  if (at >= source.length) return source.length;
  return source[at] === LF ? at + 1 : -1;
}

/** The part itself and all parts inside, outermost first, in order. */
export function* walkParts(part: MimePart): Generator<MimePart> {
  yield part;
  for (const child of part.parts) yield* walkParts(child);
}

/** The parts of this message itself, not those of a message inside it. */
export function* ownParts(part: MimePart): Generator<MimePart> {
  yield part;
  if (!part.type.startsWith('multipart/')) return;
  for (const child of part.parts) yield* ownParts(child);
}

/** The first field of this (lower-case) name: unfolded, trimmed, at most 8192 characters; null if there is none. */
export function fieldOf({ source, header }: MimePart, name: string): string | null {
  const field = header.fields.find((each) => each.name === name);
  return field === undefined ? null : rawFieldValue(source, field).slice(0, MAX_VALUE_CHARS);
}

/** The body with its transfer encoding decoded; at most `maxOctets` of it are read. */
export function bodyOf({ source, bodyStart, end, encoding }: MimePart, maxOctets: number): Buffer {
  return decodeTransfer(source.subarray(bodyStart, Math.min(end, bodyStart + maxOctets)), encoding).bytes;
}
