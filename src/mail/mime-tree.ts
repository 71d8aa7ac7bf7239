/**
 * The parts of a received message (RFC 2045, RFC 2046) as offsets into its octets; nothing is copied or decoded. Takes
 * any octets; returns the message as the outermost part. Never fails: lines that are not fields are skipped, and a part
 * without closing boundary ends with the part around it, or with the text. Lines end with CRLF or a bare LF. Depth and
 * number of parts are limited, and a part that lost inner parts by this is marked `cut`. One pass, with the same work
 * for each octet whatever the boundaries; a large message can be read in steps.
 */
import { asBuffer } from '../lib/as-buffer.ts';
import { inOneGo } from '../lib/turns.ts';
import { readType } from './content-type.ts';
import { createOpenBoundaries, MAX_BOUNDARIES } from './open-boundaries.ts';
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

export const MAX_DEPTH = MAX_BOUNDARIES;
export const MAX_PARTS = 1000;
/** In the headers of all parts; those of the last part are read although they exceed it. */
const MAX_FIELDS = 20_000;
/** RFC 2046 §5.1.1 allows 70 characters. */
const MAX_BOUNDARY_CHARS = 200;
const MAX_VALUE_CHARS = 8 * 1024;
const MESSAGE_TYPES: ReadonlySet<string> = new Set(['message/rfc822', 'message/global']);
const HYPHENS = Buffer.from('--', 'latin1');
const LF = 10;
const CR = 13;
const HYPHEN = 45;
/** Octets read in one step: about a millisecond. */
const STEP_OCTETS = 128 * 1024;
/** So far it is faster to look at each octet than to call `indexOf`. */
const NEAR_OCTETS = 64;

type OpenPart = { -readonly [Key in keyof MimePart]: MimePart[Key] } & { parts: OpenPart[] };

/** The parts of the message `bytes`. */
export function readMime(bytes: Uint8Array): MimePart {
  return inOneGo(readMimeInSteps(bytes));
}

/** The same in steps of about a millisecond. */
export function* readMimeInSteps(bytes: Uint8Array): Generator<void, MimePart, void> {
  const source = asBuffer(bytes);
  /** From the message itself to the part that is being read. */
  const open: OpenPart[] = [];
  const boundaries = createOpenBoundaries(source);
  let count = 0;
  let fields = 0;
  /** The default type of the part that begins at `at`; null inside a body. */
  let begins = begin(0, 'text/plain');
  const root = innermost();
  let at = root.bodyStart;

  /** The source up to the end of this step, and the octet after it. */
  let near = source.subarray(0, 0);
  while (begins !== null || boundaries.count() > 0) {
    if (at >= near.length - 1 && near.length < source.length) {
      yield;
      near = source.subarray(0, at + STEP_OCTETS + 1);
    }
    if (begins !== null) {
      begins = begin(at, begins);
      at = innermost().bodyStart;
      continue;
    }
    const hyphens = nextHyphens(near, at);
    if (hyphens === -1) {
      if (near.length === source.length) break;
      at = near.length - 1;
      continue;
    }
    at = hyphens;
    const found = source[at - 1] === LF ? boundaries.delimiterAt(at) : null;
    if (found === null) {
      at += 1;
      continue;
    }
    const { boundary, isClosing, next } = found;
    endDownTo(boundary.depth, source[at - 2] === CR ? at - 2 : at - 1);
    at = next;
    if (isClosing) boundaries.pop();
    else if (isFull()) innermost().cut = true;
    else begins = boundary.partType;
  }
  endDownTo(0, source.length);
  return root;

  /** Reads the header of a part; returns the default type of the message that begins with its body, or null. */
  function begin(start: number, defaultType: string): string | null {
    const header = readHeaderLines(source, start, (lineStart) => boundaries.delimiterAt(lineStart) !== null);
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
    fields += header.fields.length;
    open.at(-1)?.parts.push(part);
    open.push(part);
    const boundary = part.type.startsWith('multipart/') ? (part.parameters.get('boundary') ?? '') : '';
    const isMultipart = boundary !== '' && boundary.length <= MAX_BOUNDARY_CHARS;
    const isMessage = MESSAGE_TYPES.has(part.type) && IDENTITY_ENCODINGS.has(part.encoding);
    if (!isMultipart && !isMessage) return null;
    if (open.length > MAX_DEPTH || isFull()) part.cut = true;
    else if (isMessage) return 'text/plain';
    else {
      const partType = part.type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
      boundaries.push(boundary, { depth: open.length, partType });
    }
    return null;
  }

  /** No further part is read. */
  function isFull(): boolean {
    return count >= MAX_PARTS || fields >= MAX_FIELDS;
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
    while ((boundaries.innermost()?.depth ?? 0) > depth) boundaries.pop();
  }
}

/**
 * The next `--` at or after `from` that may begin a line, or -1. Encoded files contain hardly any hyphens, but many line
 * ends.
 */
function nextHyphens(source: Buffer, from: number): number {
  const near = Math.min(source.length - 1, from + NEAR_OCTETS);
  for (let at = from; at < near; at += 1)
    if (source[at] === HYPHEN && source[at + 1] === HYPHEN && source[at - 1] === LF) return at;
  return source.indexOf(HYPHENS, near);
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
