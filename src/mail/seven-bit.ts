/**
 * A message with octets above 127 made fit for a server without 8BITMIME (RFC 6152 §3): every part that holds such
 * octets travels as quoted-printable or base64 instead, and says so. What a part says, decoded, stays the same to the octet.
 * Given a whole message with CRLF line ends. Leaves behind another one, or why there is none: what is signed or encrypted
 * as a whole must not be touched, and a header has no other form. It is done before our own signature is made, never after.
 * Every octet is looked at a bounded number of times, as depth and number of parts are bounded.
 */
import { isAscii } from 'node:buffer';
import { type MimePart, readMime } from './mime-tree.ts';
import { readHeaderLines } from './raw-header.ts';
import {
  base64Size,
  countNonAscii,
  encodeBase64,
  encodeQuotedPrintable,
  IDENTITY_ENCODINGS,
  quotedPrintableBound,
} from './transfer-encoding.ts';

export type SevenBit =
  /** `bodyOffset`: first octet of the new body. */
  { kind: 'converted'; bytes: Uint8Array; bodyOffset: number } | { kind: 'impossible'; why: string };

/** Above this share of octets beyond ASCII base64 is the shorter one. */
const BASE64_SHARE = 1 / 6;
const QUESTION_MARK = 63;

/** Converts `message`. One without octets above 127 comes back as it is. */
export function toSevenBit(message: Uint8Array): SevenBit {
  const chunks: Uint8Array[] = [];
  const why = convert(readMime(message), true, chunks);
  if (why !== null) return { kind: 'impossible', why };
  const bytes = Buffer.concat(chunks);
  return { kind: 'converted', bytes, bodyOffset: readHeaderLines(bytes, 0).bodyOffset };
}

/** Adds the octets of one part, header and body, to `out`; why not, or null. */
function convert(part: MimePart, isTop: boolean, out: Uint8Array[]): string | null {
  const { source, start, bodyStart, end, header, type, encoding, parts } = part;
  const whole = source.subarray(start, end);
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
      // What stands between the parts is nobody's content.
      out.push(withoutHighOctets(source.subarray(from, child.start)));
      const why = convert(child, false, out);
      if (why !== null) return why;
      from = child.end;
    }
    out.push(withoutHighOctets(source.subarray(from, end)));
    return null;
  }
  if (type.startsWith('message/')) return `a part of the type ${type} has octets above 127`;
  const body = source.subarray(bodyStart, end);
  const asText = type.startsWith('text/') && countNonAscii(body) <= body.length * BASE64_SHARE;
  out.push(...headerWith(part, asText ? 'quoted-printable' : 'base64', isTop));
  out.push(asText ? quotedPrintable(body) : base64(body));
  return null;
}

/** The header with its transfer encoding named, and the empty line. Everything else stays as it was. */
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
  return target.subarray(0, encodeQuotedPrintable(body, target, 0));
}

function base64(body: Uint8Array): Uint8Array {
  const target = Buffer.allocUnsafe(base64Size(body.length));
  return target.subarray(0, encodeBase64(body, target, 0));
}

function withoutHighOctets(piece: Uint8Array): Uint8Array {
  return isAscii(piece) ? piece : piece.map((octet) => (octet > 127 ? QUESTION_MARK : octet));
}
