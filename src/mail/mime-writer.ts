/**
 * Writes MIME (RFC 2045, RFC 2046): a tree of parts becomes the exact bytes of a message. Takes the top headers as
 * finished lines and a tree of text, file and multipart parts; returns CRLF lines, 7-bit below the headers. Text is
 * quoted-printable or base64, files are base64. Boundaries start with `=_`, which neither encoding can produce (RFC
 * 2045 §6.7 rule 1), so they never occur in a part and need not be searched for. The same input gives the same bytes.
 * Fails only without memory.
 */
import {
  base64Size,
  countNonAscii,
  encodeBase64,
  encodeQuotedPrintable,
  encodeWithStretches,
  inOctets,
  normaliseLineEnds,
  quotedPrintableBound,
  type TransferEncoding,
  type UnbrokenStretch,
} from './transfer-encoding.ts';

/** A text body with any line ends. */
export interface TextPart {
  readonly kind: 'text';
  readonly subtype: 'plain' | 'html';
  readonly text: string;
  /**
   * Stretches of letters and digits in `text`, in order, that must be found again in the message: on one line,
   * unencoded.
   */
  readonly places?: readonly UnbrokenStretch[];
}

/** A file: `headers` are its finished lines, each with CRLF, without Content-Transfer-Encoding. */
export interface FilePart {
  readonly kind: 'file';
  readonly headers: string;
  readonly content: Uint8Array;
}

/** A multipart. `label` makes the boundaries of one message different: each multipart needs its own. */
interface MultiPart {
  readonly kind: 'multi';
  readonly subtype: 'mixed' | 'related' | 'alternative';
  readonly label: string;
  readonly parts: readonly MimePart[];
}

/** One node of the tree. */
export type MimePart = TextPart | FilePart | MultiPart;

/** The bytes of a message and the offset of its body, after the empty line. */
interface WrittenMessage {
  readonly bytes: Uint8Array;
  readonly bodyOffset: number;
  /** Offsets of the stretches of all text parts, in order. */
  readonly placeOffsets: readonly number[];
}

/**
 * Writes a message: `headers` (lines with CRLF) first, then the Content-* headers of `root`, an empty line and the
 * body, which always ends with CRLF. `seed` makes the boundaries; its letters, digits and hyphens are used, at most 48.
 */
export function writeMessage(headers: string, root: MimePart, seed: string): WrittenMessage {
  const id = seed.replace(/[^A-Za-z0-9-]/g, '').slice(0, 48);
  const pieces: Piece[] = [];
  let open = headers;
  let bodyHead = -1;
  let room = TEXTS;

  const write = (part: MimePart, inside: boolean): void => {
    if (part.kind === 'multi') {
      const boundary = `=_${part.label}_${id}`;
      open += multipartHeaders(part, boundary);
      open += '\r\n';
      if (bodyHead < 0) bodyHead = Buffer.byteLength(open);
      for (let i = 0; i < part.parts.length; i++) {
        open += `--${boundary}\r\n`;
        write(part.parts[i] as MimePart, true);
      }
      open += `--${boundary}--\r\n`;
      return;
    }
    const piece =
      part.kind === 'file' ? base64Piece(part.headers, part.content) : textPiece(part, !inside, room);
    // The content of the scratch memory is needed until the message is written.
    if (piece.bytes.buffer === TEXTS.buffer) room = room.subarray(piece.bytes.length);
    open += `${piece.headers}Content-Transfer-Encoding: ${piece.encoding}\r\n\r\n`;
    if (bodyHead < 0) bodyHead = Buffer.byteLength(open);
    piece.before = open;
    pieces.push(piece);
    // The CRLF before a boundary belongs to the boundary; base64 lines already end with one.
    open = inside && (piece.encoding !== 'base64' || piece.bytes.length === 0) ? '\r\n' : '';
  };
  write(root, false);

  let bound = open.length * 3 + 2;
  for (const piece of pieces) bound += piece.before.length * 3 + piece.bound;
  const target = bound <= SCRATCH.length ? SCRATCH : Buffer.allocUnsafeSlow(bound);
  const placeOffsets: number[] = [];
  let at = 0;
  for (const piece of pieces) {
    at += target.write(piece.before, at, 'utf8');
    at =
      piece.encoding === 'base64'
        ? encodeBase64(piece.bytes, target, at)
        : piece.stretches === null
          ? encodeQuotedPrintable(piece.bytes, target, at)
          : encodeWithStretches(piece.bytes, target, at, piece.stretches, placeOffsets);
    if (piece.endLine && !(target[at - 1] === 10 && target[at - 2] === 13)) {
      target[at++] = 13;
      target[at++] = 10;
    }
  }
  at += target.write(open, at, 'utf8');
  // Thousands of messages wait in memory: each gets exactly the memory that it needs.
  const slack = target === SCRATCH || bound - at > at >> 3;
  const bytes = slack ? Buffer.allocUnsafeSlow(at) : target.subarray(0, at);
  if (slack) target.copy(bytes, 0, 0, at);
  return { bytes, bodyOffset: bodyHead, placeOffsets };
}

/**
 * Messages of up to about 150 KB of text are written here before their length is known: the bound is three times the
 * text, and allocating that much for every message fragmented the heap of malloc and made V8 collect more often. Holds
 * nothing between calls; the system provides memory only as far as messages were long.
 */
const SCRATCH = Buffer.allocUnsafeSlow(512 * 1024);

/** Texts are converted to UTF-8 here before they are encoded, for the same reason. */
const TEXTS: Buffer = Buffer.allocUnsafeSlow(192 * 1024);

interface Piece {
  headers: string;
  encoding: TransferEncoding;
  bytes: Uint8Array;
  bound: number;
  endLine: boolean;
  before: string;
  /** In `bytes`; null = none. */
  stretches: readonly UnbrokenStretch[] | null;
}

function base64Piece(headers: string, bytes: Uint8Array, endLine = false): Piece {
  const bound = base64Size(bytes.length);
  return { headers, encoding: 'base64', bytes, bound, endLine, before: '', stretches: null };
}

function textPiece({ subtype, text, places = [] }: TextPart, endLine: boolean, room: Buffer): Piece {
  const headers = `Content-Type: text/${subtype}; charset=utf-8\r\n`;
  const bytes = utf8Of(text, room);
  const ascii = bytes.length === text.length;
  const isPersonal = places.length > 0;
  // Quoted-printable adds two octets per non-ASCII byte, base64 one third of everything. With places it is never base64,
  // even with much non-ASCII text: a stretch must be found again octet for octet.
  if (!isPersonal && !ascii && countNonAscii(bytes) * 6 > bytes.length)
    return base64Piece(headers, Buffer.from(normaliseLineEnds(text), 'utf8'), endLine);
  return {
    headers,
    encoding: 'quoted-printable',
    bytes,
    bound: quotedPrintableBound(bytes.length) + 3 * places.length,
    endLine,
    before: '',
    stretches: !isPersonal ? null : ascii ? places : inOctets(text, places),
  };
}

/** The text's octets: at the beginning of `room` if they fit, otherwise in new memory. */
function utf8Of(text: string, room: Buffer): Buffer {
  if (text.length > room.length) return Buffer.from(text, 'utf8');
  const octets = room.write(text, 0, 'utf8');
  // Only whole characters are written, so a write that lacked room stopped within the last three octets.
  const fits = text.length * 3 <= room.length || octets <= room.length - 4;
  return fits ? room.subarray(0, octets) : Buffer.from(text, 'utf8');
}

function multipartHeaders(part: MultiPart, boundary: string): string {
  const type = part.subtype === 'related' ? `related; type="text/html"` : part.subtype;
  return `Content-Type: multipart/${type};\r\n boundary="${boundary}"\r\n`;
}
