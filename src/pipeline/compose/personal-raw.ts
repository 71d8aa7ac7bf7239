/**
 * Personal links in a message that somebody else composed: the unsubscribe pair goes on top of the header, and the
 * HTML leaves of the body are rewritten where tracking was asked for. Everything else stays octet for octet: other
 * parts, boundaries, what stands between them, and everything below multipart/signed, multipart/encrypted and
 * message/* (a signature of the author's would break). A changed part travels as quoted-printable.
 *
 * Given wire form (CRLF) and where the body starts; leaves new bytes and the places in them. A structure that cannot
 * be read is left alone, as are links and pixel where the HTML is longer than anybody reads: this runs on the event loop.
 * Depth and number of parts are bounded; linear.
 */
import { readType } from '../../mail/mime-reader.ts';
import { type RawField, rawFieldValue, readRawHeader } from '../../mail/raw-header.ts';
import { encodeWithStretches, quotedPrintableBound } from '../../mail/transfer-encoding.ts';
import { type PersonalOptions, type Place, type Places, placeOctets } from '../../model/personal.ts';
import { decodeLeaf, leafText } from './leaf-text.ts';
import { personalHtml } from './personal-html.ts';
import { unsubscribeHeader } from './unsubscribe-header.ts';

export interface RawParts {
  bytes: Uint8Array;
  bodyOffset: number;
}

const MAX_DEPTH = 10;
const MAX_PARTS = 200;
/** Octets of all HTML parts as they stand: some twenty milliseconds. */
const MAX_HTML_BYTES = 512 * 1024;
/** RFC 2046 §5.1.1. */
const MAX_BOUNDARY = 70;
const OWN_HEADERS = new Set(['list-unsubscribe', 'list-unsubscribe-post']);

/** One part: its header fields and the stretch of its body, without the line end before the next boundary. */
interface Leaf {
  fields: readonly RawField[];
  headerStart: number;
  bodyStart: number;
  bodyEnd: number;
}

/** The message with the links; without `places` where none could be put in. `added`: octets in front of what was first. */
export function personalRaw(
  message: RawParts,
  options: PersonalOptions,
): RawParts & { places?: Places; added: number } {
  const header = readRawHeader(message.bytes);
  const unchanged = { bytes: message.bytes, bodyOffset: message.bodyOffset, added: 0 };
  if (header.kind === 'malformed') return unchanged;
  const hasOwn = header.fields.some(({ name }) => OWN_HEADERS.has(name));
  const top = hasOwn ? null : unsubscribeHeader(options, 0);
  const pieces: Uint8Array[] = [];
  const places: Place[] = [];
  let length = 0;
  const push = (piece: Uint8Array): void => {
    pieces.push(piece);
    length += piece.length;
  };
  if (top !== null) {
    push(Buffer.from(top.lines, 'latin1'));
    places.push(...top.places);
  }
  let copied = 0;
  let bodyShift = length;
  if (options.opens || options.clicks) {
    const whole: Leaf = {
      fields: header.fields,
      headerStart: 0,
      bodyStart: header.bodyOffset,
      bodyEnd: message.bytes.length,
    };
    const leaves = htmlLeaves(message.bytes, whole);
    const octets = leaves.reduce((sum, { bodyStart, bodyEnd }) => sum + bodyEnd - bodyStart, 0);
    for (const leaf of octets > MAX_HTML_BYTES ? [] : leaves) {
      const changed = changeLeaf(message.bytes, leaf, options, places);
      if (changed === null) continue;
      push(message.bytes.subarray(copied, leaf.headerStart));
      push(changed.header);
      if (leaf.bodyStart === message.bodyOffset)
        bodyShift += changed.header.length - (leaf.bodyStart - leaf.headerStart);
      for (const place of changed.places) places.push({ ...place, offset: place.offset + length });
      push(changed.body);
      copied = leaf.bodyEnd;
    }
  }
  if (places.length === 0) return unchanged;
  push(message.bytes.subarray(copied));
  return {
    bytes: Buffer.concat(pieces, length),
    bodyOffset: message.bodyOffset + bodyShift,
    places: { host: options.host, places },
    added: top?.lines.length ?? 0,
  };
}

/** HTML parts that may be rewritten, in order. */
function htmlLeaves(bytes: Uint8Array, whole: Leaf): Leaf[] {
  const found: Leaf[] = [];
  let parts = 0;
  const visit = (part: Leaf, depth: number): void => {
    parts += 1;
    if (parts > MAX_PARTS || depth > MAX_DEPTH) return;
    const { type: media, parameters } = typeOf(bytes, part);
    if (media === 'text/html') {
      const disposition = fieldValue(bytes, part, 'content-disposition') ?? '';
      if (!/^\s*attachment/i.test(disposition)) found.push(part);
      return;
    }
    if (!media.startsWith('multipart/') || media === 'multipart/signed' || media === 'multipart/encrypted')
      return;
    const boundary = parameters.get('boundary') ?? '';
    if (boundary === '' || boundary.length > MAX_BOUNDARY) return;
    for (const child of children(bytes, part, boundary)) visit(child, depth + 1);
  };
  visit(whole, 0);
  return found;
}

/** The parts of a multipart, up to its closing delimiter (RFC 2046 §5.1.1). */
function* children(bytes: Uint8Array, part: Leaf, boundary: string): Generator<Leaf> {
  const delimiter = Buffer.from(`--${boundary}`, 'latin1');
  const body = Buffer.from(bytes.buffer, bytes.byteOffset, part.bodyEnd);
  let start = -1;
  for (
    let at = body.indexOf(delimiter, part.bodyStart);
    at >= 0;
    at = body.indexOf(delimiter, at + delimiter.length)
  ) {
    if (at !== part.bodyStart && body[at - 1] !== 10) continue;
    const after = at + delimiter.length;
    const isClosing = body[after] === 45 && body[after + 1] === 45;
    const lineEnd = body.indexOf(10, after);
    const rest = body.toString('latin1', isClosing ? after + 2 : after, lineEnd < 0 ? part.bodyEnd : lineEnd);
    // A longer boundary that begins like this one is another's.
    if (rest.trim() !== '') continue;
    if (start >= 0) {
      const child = readPart(bytes, start, at >= start + 2 ? at - 2 : start);
      if (child !== null) yield child;
    }
    if (isClosing || lineEnd < 0) return;
    start = lineEnd + 1;
  }
}

function readPart(bytes: Uint8Array, start: number, end: number): Leaf | null {
  const header = readRawHeader(bytes.subarray(start, end));
  if (header.kind === 'malformed') return null;
  return {
    fields: header.fields.map((field) => ({
      name: field.name,
      start: field.start + start,
      end: field.end + start,
      valueStart: field.valueStart + start,
    })),
    headerStart: start,
    bodyStart: start + header.bodyOffset,
    bodyEnd: end,
  };
}

/** The part rewritten, its places counted from the start of its body; null where nothing in it changes. */
function changeLeaf(
  bytes: Uint8Array,
  leaf: Leaf,
  options: PersonalOptions,
  before: readonly Place[],
): { header: Uint8Array; body: Uint8Array; places: readonly Place[] } | null {
  const encoding = fieldValue(bytes, leaf, 'content-transfer-encoding') ?? '7bit';
  const charset = (typeOf(bytes, leaf).parameters.get('charset') ?? 'us-ascii').toLowerCase();
  const content = decodeLeaf(bytes.subarray(leaf.bodyStart, leaf.bodyEnd), encoding);
  const text = content === null ? null : leafText(content, charset);
  if (text === null) return null;
  const links = before.filter(({ kind }) => kind === 'click').length;
  const hasPixel = before.some(({ kind }) => kind === 'open');
  const personal = personalHtml(text.html, { ...options, opens: options.opens && !hasPixel }, links);
  if (personal.places.length === 0) return null;
  const source = text.encode(personal.text);
  const stretches = text.stretches(
    personal.text,
    personal.places.map(({ kind, offset }) => ({ start: offset, length: placeOctets(kind) })),
  );
  const target = Buffer.allocUnsafe(quotedPrintableBound(source.length) + 3 * stretches.length);
  const offsets: number[] = [];
  const end = encodeWithStretches(source, target, 0, stretches, offsets);
  return {
    header: withEncoding(bytes, leaf),
    body: target.subarray(0, end),
    places: personal.places.map((place, i) => ({ ...place, offset: offsets[i] ?? -1 })),
  };
}

/** The part's header with its transfer encoding replaced, or added as the last field. */
function withEncoding(bytes: Uint8Array, leaf: Leaf): Uint8Array {
  const line = Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n', 'latin1');
  const pieces: Uint8Array[] = [];
  let from = leaf.headerStart;
  let replaced = false;
  for (const field of leaf.fields) {
    if (field.name !== 'content-transfer-encoding') continue;
    pieces.push(bytes.subarray(from, field.start));
    if (!replaced) pieces.push(line);
    replaced = true;
    from = field.end;
  }
  const headerEnd = leaf.fields.at(-1)?.end ?? leaf.headerStart;
  if (replaced) pieces.push(bytes.subarray(from, headerEnd));
  else pieces.push(bytes.subarray(from, headerEnd), line);
  pieces.push(bytes.subarray(headerEnd, leaf.bodyStart));
  return Buffer.concat(pieces);
}

function fieldValue(bytes: Uint8Array, leaf: Leaf, name: string): string | null {
  const field = leaf.fields.find((each) => each.name === name);
  return field === undefined ? null : rawFieldValue(bytes, field);
}

/** Read as everywhere else, so that nothing in quotes is taken for a parameter. */
function typeOf(bytes: Uint8Array, leaf: Leaf): ReturnType<typeof readType> {
  return readType(fieldValue(bytes, leaf, 'content-type'), 'text/plain');
}
