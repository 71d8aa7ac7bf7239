/**
 * Converts a message with octets above 127 for a server without 8BITMIME (RFC 6152 §3): every part with such octets is
 * re-encoded as quoted-printable or base64. The decoded content of each part stays the same octet for octet. Takes a
 * whole message with CRLF line ends; returns another one, or why there is none: what is signed or encrypted as a whole
 * must not be changed, and a header has no other form. It is done before our own signature is made. Every octet is read
 * a limited number of times, as depth and number of parts are limited.
 */
import { isAscii } from 'node:buffer';
import { joinInSteps } from '../lib/join-in-turns.ts';
import { type MimePart, readMimeInSteps } from './mime-tree.ts';
import { readHeaderLines } from './raw-header.ts';
import {
  BASE64_BYTES_PER_LINE,
  base64Size,
  countNonAscii,
  encodeBase64,
  encodeQuotedPrintable,
  IDENTITY_ENCODINGS,
  quotedPrintableBound,
} from './transfer-encoding.ts';

type SevenBit =
  /** `bodyOffset`: first octet of the new body. */
  { kind: 'converted'; bytes: Uint8Array; bodyOffset: number } | { kind: 'impossible'; why: string };

/** Above this share of non-ASCII octets, base64 is shorter. */
const BASE64_SHARE = 1 / 6;
const QUESTION_MARK = 63;
const LF = 10;

/** Octets encoded in one step: some milliseconds. */
const STEP_BYTES = 1_048_576;
/** Whole lines of base64, so that the pieces join to the same result. */
const BASE64_STEP = BASE64_BYTES_PER_LINE * 16_384;

/** Converts `message` in steps, between which other work can run. One without octets above 127 is returned as it is. */
export function* toSevenBitInSteps(message: Uint8Array): Generator<void, SevenBit, void> {
  const chunks: Uint8Array[] = [];
  const why = yield* convert(yield* readMimeInSteps(message), true, chunks);
  if (why !== null) return { kind: 'impossible', why };
  yield;
  const bytes = yield* joinInSteps(chunks);
  return { kind: 'converted', bytes, bodyOffset: readHeaderLines(bytes, 0).bodyOffset };
}

/**
 * Appends the octets of one part, header and body, to `out`; returns the reason if that is impossible, otherwise null.
 */
function* convert(part: MimePart, isTop: boolean, out: Uint8Array[]): Generator<void, string | null, void> {
  const { source, start, bodyStart, end, header, type, encoding, parts } = part;
  const whole = source.subarray(start, end);
  yield;
  if (isAscii(whole)) {
    out.push(whole);
    return null;
  }
  if (part.cut) return 'its parts are nested too deep, or are too many';
  if (header.fault !== null) return 'a part of it has lines in its header that are no fields';
  if (header.eightBit) return 'a header of it has octets above 127';
  if (!IDENTITY_ENCODINGS.has(encoding))
    return `a part that is said to be ${encoding.slice(0, 40)} has octets above 127`;
  if (type === 'multipart/signed' || type === 'multipart/encrypted')
    return 'it is signed or encrypted as it stands';
  const isMultipart = type.startsWith('multipart/');
  if (isMultipart && !part.parameters.has('boundary')) return 'a multipart of it has no readable boundary';
  if (isMultipart && parts.length === 0) return 'a multipart of it has no parts';
  if (isMultipart || type === 'message/rfc822') {
    out.push(...headerWith(part, '7bit', isTop));
    let from = bodyStart;
    for (const child of parts) {
      // Text between the parts is not content.
      out.push(...(yield* withoutHighOctets(source.subarray(from, child.start))));
      const why = yield* convert(child, false, out);
      if (why !== null) return why;
      from = child.end;
    }
    out.push(...(yield* withoutHighOctets(source.subarray(from, end))));
    return null;
  }
  if (type.startsWith('message/')) return `a part of the type ${type} has octets above 127`;
  const body = source.subarray(bodyStart, end);
  const asText = type.startsWith('text/') && (yield* highOctets(body)) <= body.length * BASE64_SHARE;
  out.push(...headerWith(part, asText ? 'quoted-printable' : 'base64', isTop));
  for (let from = 0; from < body.length; ) {
    const to = asText ? textStep(body, from) : Math.min(body.length, from + BASE64_STEP);
    const piece = body.subarray(from, to);
    out.push(asText ? quotedPrintable(piece) : base64(piece));
    from = to;
    yield;
  }
  return null;
}

function* highOctets(body: Uint8Array): Generator<void, number, void> {
  let count = 0;
  for (let from = 0; from < body.length; from += STEP_BYTES) {
    const piece = body.subarray(from, from + STEP_BYTES);
    // Without line ends it is not text, and could not be encoded in pieces.
    if (piece.length === STEP_BYTES && !piece.includes(LF)) return Number.POSITIVE_INFINITY;
    count += countNonAscii(piece);
    yield;
  }
  return count;
}

/** The end of a step that begins at `from`: after the last line end in it, since text can only be divided there. */
function textStep(body: Uint8Array, from: number): number {
  const to = from + STEP_BYTES;
  if (to >= body.length) return body.length;
  const last = body.subarray(from, to).lastIndexOf(LF);
  if (last >= 0) return from + last + 1;
  const next = body.indexOf(LF, to);
  return next < 0 ? body.length : next + 1;
}

/** The header with the new transfer encoding, and the empty line. Everything else stays as it was. */
function headerWith({ source, start, header }: MimePart, encoding: string, isTop: boolean): Uint8Array[] {
  const out: Uint8Array[] = [];
  let from = start;
  for (const field of header.fields) {
    if (field.name !== 'content-transfer-encoding') continue;
    out.push(source.subarray(from, field.start));
    from = field.end;
  }
  const isMime = !isTop || header.fields.some(({ name }) => name === 'mime-version');
  const added = `${isMime ? '' : 'MIME-Version: 1.0\r\n'}Content-Transfer-Encoding: ${encoding}\r\n\r\n`;
  return [...out, source.subarray(from, header.headerEnd), Buffer.from(added, 'latin1')];
}

function quotedPrintable(body: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(quotedPrintableBound(body.length));
  return Buffer.from(target.subarray(0, encodeQuotedPrintable(body, target, 0)));
}

function base64(body: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(base64Size(body.length));
  return target.subarray(0, encodeBase64(body, target, 0));
}

function* withoutHighOctets(text: Uint8Array): Generator<void, Uint8Array[], void> {
  if (isAscii(text)) return [text];
  const pieces: Uint8Array[] = [];
  for (let from = 0; from < text.length; from += STEP_BYTES) {
    const piece = Uint8Array.from(text.subarray(from, from + STEP_BYTES));
    for (let i = 0; i < piece.length; i += 1) if ((piece[i] as number) > 127) piece[i] = QUESTION_MARK;
    pieces.push(piece);
    yield;
  }
  return pieces;
}
