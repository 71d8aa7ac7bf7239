/**
 * A message with octets above 127 made fit for a server without 8BITMIME (RFC 6152 §3): every part that holds such
 * octets travels as quoted-printable or base64 instead, and says so. What a part says, decoded, stays the same to the octet.
 * Given a whole message with CRLF line ends. Leaves behind another one, or why there is none: what is signed or encrypted
 * as a whole must not be touched, and a header has no other form. It is done before our own signature is made, never after.
 * Input is hostile: depth and number of parts are bounded, every octet is looked at a bounded number of times.
 */
import { parseMediaType } from './content-type.ts';
import { type RawField, rawFieldValue, readRawHeader } from './raw-header.ts';
import {
  base64Size,
  countNonAscii,
  encodeBase64,
  encodeQuotedPrintable,
  quotedPrintableBound,
} from './transfer-encoding.ts';

export type SevenBit =
  /** `bodyOffset`: first octet of the new body. */
  { kind: 'converted'; bytes: Uint8Array; bodyOffset: number } | { kind: 'impossible'; why: string };

const MAX_DEPTH = 16;
const MAX_PARTS = 1000;
/** Above this share of octets beyond ASCII base64 is the shorter one. */
const BASE64_SHARE = 1 / 6;
const QUESTION_MARK = 63;
const IDENTITY = new Set(['7bit', '8bit', 'binary']);

interface Work {
  parts: number;
  why: string;
}

/** Converts `message`. One without octets above 127 comes back as it is. */
export function toSevenBit(message: Uint8Array): SevenBit {
  const work: Work = { parts: 0, why: '' };
  const chunks = entity(work, message, 0, 'text/plain');
  if (chunks === null) return { kind: 'impossible', why: work.why };
  const bytes = Buffer.concat(chunks);
  const header = readRawHeader(bytes);
  if (header.kind === 'malformed') return { kind: 'impossible', why: header.detail };
  return { kind: 'converted', bytes, bodyOffset: header.bodyOffset };
}

/** One header and body, as chunks; null where it cannot be done. */
function entity(work: Work, bytes: Uint8Array, depth: number, defaultType: string): Uint8Array[] | null {
  if (countNonAscii(bytes) === 0) return [bytes];
  work.parts += 1;
  if (depth > MAX_DEPTH || work.parts > MAX_PARTS)
    return give(work, 'its parts are nested too deep, or are too many');
  const header = readRawHeader(bytes);
  if (header.kind === 'malformed') return give(work, header.detail);
  if (header.eightBit) return give(work, 'a header of it has octets above 127');
  const value = (name: string) => {
    const field = header.fields.find((each) => each.name === name);
    return field === undefined ? null : rawFieldValue(bytes, field);
  };
  const encoding = (value('content-transfer-encoding') ?? '7bit').toLowerCase();
  if (!IDENTITY.has(encoding))
    return give(work, `a part that is said to be ${encoding.slice(0, 40)} has octets above 127`);
  const text = value('content-type') ?? defaultType;
  const media = parseMediaType(text);
  const type = media?.type ?? (/^\s*([a-z]+\/)/i.exec(text)?.[1] ?? 'application/').toLowerCase();
  const body = bytes.subarray(header.bodyOffset);
  const isTop = depth === 0;
  const wrap = (name: string, chunks: Uint8Array[] | null) =>
    chunks === null ? null : [...headerWith(bytes, header.fields, header.headerEnd, name, isTop), ...chunks];
  if (type === 'multipart/signed' || type === 'multipart/encrypted') {
    return give(work, 'it is signed or encrypted as it stands');
  }
  if (type.startsWith('multipart/')) {
    const boundary = media?.parameters.find(([name]) => name === 'boundary')?.[1];
    if (boundary === undefined) return give(work, 'a multipart of it has no readable boundary');
    const inner = type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
    return wrap('7bit', multipart(work, body, unquoted(boundary), depth, inner));
  }
  if (type === 'message/rfc822') return wrap('7bit', entity(work, body, depth + 1, 'text/plain'));
  if (type.startsWith('message/')) return give(work, `a part of the type ${type} has octets above 127`);
  const asText = type.startsWith('text/') && countNonAscii(body) <= body.length * BASE64_SHARE;
  return wrap(asText ? 'quoted-printable' : 'base64', [asText ? quotedPrintable(body) : base64(body)]);
}

/** The parts between the delimiters (RFC 2046 §5.1.1); what stands before and after them is nobody's content. */
function multipart(
  work: Work,
  body: Uint8Array,
  boundary: string,
  depth: number,
  defaultType: string,
): Uint8Array[] | null {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const view = Buffer.from(body.buffer, body.byteOffset, body.length);
  const out: Uint8Array[] = [];
  /** Where the current piece began, and whether it is a part. */
  let pieceStart = 0;
  let isPart = false;
  let isOver = false;
  let found = 0;
  for (let at = view.indexOf(delimiter); at !== -1 && !isOver; at = view.indexOf(delimiter, at + 1)) {
    if (at > 0 && view[at - 1] !== 10) continue;
    const lineEnd = lineEndAfter(view, at + delimiter.length);
    if (lineEnd === null) continue;
    // The line break in front of a delimiter belongs to it.
    const pieceEnd = Math.max(pieceStart, at - 2);
    const piece = view.subarray(pieceStart, pieceEnd);
    const converted = isPart ? entity(work, piece, depth + 1, defaultType) : [withoutHighOctets(piece)];
    if (converted === null) return null;
    out.push(...converted, view.subarray(pieceEnd, lineEnd.next));
    pieceStart = lineEnd.next;
    isPart = !lineEnd.isClose;
    isOver = lineEnd.isClose;
    found += 1;
  }
  if (found === 0) return give(work, 'a multipart of it has no parts');
  const rest = view.subarray(pieceStart);
  const last = isPart ? entity(work, rest, depth + 1, defaultType) : [withoutHighOctets(rest)];
  return last === null ? null : [...out, ...last];
}

/** The end of a delimiter line whose boundary ends at `at`; null where the line goes on with something else. */
function lineEndAfter(view: Buffer, at: number): { next: number; isClose: boolean } | null {
  const isClose = view[at] === 45 && view[at + 1] === 45;
  let i = isClose ? at + 2 : at;
  while (view[i] === 32 || view[i] === 9) i += 1;
  if (i >= view.length) return { next: view.length, isClose };
  return view[i] === 13 && view[i + 1] === 10 ? { next: i + 2, isClose } : null;
}

/** The header with its transfer encoding named, and the empty line. Everything else stays as it was. */
function headerWith(
  bytes: Uint8Array,
  fields: readonly RawField[],
  headerEnd: number,
  encoding: string,
  isTop: boolean,
): Uint8Array[] {
  const out: Uint8Array[] = [];
  let from = 0;
  for (const field of fields) {
    if (field.name !== 'content-transfer-encoding') continue;
    out.push(bytes.subarray(from, field.start));
    from = field.end;
  }
  const isMime = !isTop || fields.some(({ name }) => name === 'mime-version');
  const added = `${isMime ? '' : 'MIME-Version: 1.0\r\n'}Content-Transfer-Encoding: ${encoding}\r\n\r\n`;
  return [...out, bytes.subarray(from, headerEnd), Buffer.from(added, 'latin1')];
}

function quotedPrintable(body: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(quotedPrintableBound(body.length));
  return target.subarray(0, encodeQuotedPrintable(body, target, 0));
}

function base64(body: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(base64Size(body.length));
  return target.subarray(0, encodeBase64(body, target, 0));
}

function withoutHighOctets(piece: Uint8Array): Uint8Array {
  return countNonAscii(piece) === 0 ? piece : piece.map((octet) => (octet > 127 ? QUESTION_MARK : octet));
}

function unquoted(value: string): string {
  return value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;
}

function give(work: Work, why: string): null {
  work.why = why;
  return null;
}
