/**
 * Adds personal links to a message that was composed elsewhere: the unsubscribe fields go to the top of the header, and
 * the HTML parts of the body are changed if tracking was requested. Everything else stays the same octet for octet:
 * other parts, boundaries, the text between them, and everything in multipart/signed, multipart/encrypted and message/*
 * (the author's signature would break). A changed part is sent as quoted-printable.
 *
 * Takes a message with CRLF and the offset of its body; returns the new one and its token slots. A structure that
 * cannot be read is left unchanged, and so are links and pixel if the HTML is very long, because this runs on the event
 * loop: the message is read in steps, but an HTML part is changed in one.
 */
import { fieldOf, type MimePart, readMimeInSteps } from '../../mail/mime-tree.ts';
import { readRawHeader } from '../../mail/raw-header.ts';
import { decodeTransfer, encodeWithStretches, quotedPrintableBound } from '../../mail/transfer-encoding.ts';
import { type PersonalOptions, slotOctets, type TokenSlot, type TokenSlots } from '../../model/personal.ts';
import { leafText } from './leaf-text.ts';
import { personalHtml } from './personal-html.ts';
import { tokenSlots, unsubscribeHeader } from './unsubscribe-header.ts';

interface Raw {
  bytes: Uint8Array;
  bodyOffset: number;
}

interface PersonalRaw {
  /** The message in stretches, most of them of the original. */
  parts: readonly Uint8Array[];
  bodyOffset: number;
  places: TokenSlots;
  /** Octets inserted before its original beginning. */
  added: number;
}

/** Octets of all HTML parts: about twenty milliseconds. */
const MAX_HTML_BYTES = 512 * 1024;
const UNTOUCHED = new Set(['multipart/signed', 'multipart/encrypted']);

/** The message with the links; null if none could be added. In steps, between which other work can run. */
export function* personalRaw(
  message: Raw,
  options: PersonalOptions,
): Generator<void, PersonalRaw | null, void> {
  const header = readRawHeader(message.bytes);
  if (header.kind === 'malformed') return null;
  const names = header.fields.map(({ name }) => name);
  const top = names.includes('list-unsubscribe') ? null : unsubscribeHeader(options, 0, names);
  const pieces: Uint8Array[] = [];
  const places: TokenSlot[] = [];
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
    const leaves = [...htmlLeaves(yield* readMimeInSteps(message.bytes))];
    const octets = leaves.reduce((sum, { bodyStart, end }) => sum + end - bodyStart, 0);
    for (const leaf of octets > MAX_HTML_BYTES ? [] : leaves) {
      const { start, bodyStart, end } = leaf;
      const changed = changeLeaf(leaf, options, places);
      if (changed === null) continue;
      push(message.bytes.subarray(copied, start));
      push(changed.header);
      if (bodyStart === message.bodyOffset) bodyShift += changed.header.length - (bodyStart - start);
      for (const place of changed.places) places.push({ ...place, offset: place.offset + length });
      push(changed.body);
      copied = end;
    }
  }
  const slots = tokenSlots(options.host, places, top);
  if (slots === null) return null;
  push(message.bytes.subarray(copied));
  return {
    parts: pieces,
    bodyOffset: message.bodyOffset + bodyShift,
    places: slots,
    added: top?.lines.length ?? 0,
  };
}

/** HTML parts that may be changed, in order; none whose header is ambiguous or unfinished. */
function* htmlLeaves(part: MimePart): Generator<MimePart> {
  const { type, header, bodyStart, parts } = part;
  if (header.fault !== null || UNTOUCHED.has(type)) return;
  if (type.startsWith('multipart/')) for (const child of parts) yield* htmlLeaves(child);
  if (type !== 'text/html' || bodyStart === header.headerEnd) return;
  if (!/^attachment/i.test(fieldOf(part, 'content-disposition') ?? '')) yield part;
}

/** The changed part, with slots counted from the start of its body; null if nothing in it changes. */
function changeLeaf(
  leaf: MimePart,
  options: PersonalOptions,
  before: readonly TokenSlot[],
): { header: Uint8Array; body: Uint8Array; places: readonly TokenSlot[] } | null {
  const { source, bodyStart, end, encoding, parameters } = leaf;
  const { bytes: content, exact } = decodeTransfer(source.subarray(bodyStart, end), encoding);
  const charset = (parameters.get('charset') ?? 'us-ascii').toLowerCase();
  const text = exact ? leafText(content, charset) : null;
  if (text === null) return null;
  const links = before.filter(({ kind }) => kind === 'click').length;
  const hasPixel = before.some(({ kind }) => kind === 'open');
  const wanted = { ...options, opens: options.opens && !hasPixel };
  const personal = personalHtml(text.html, wanted, links, text.inOctets);
  if (personal.places.length === 0) return null;
  const octets = text.encode(personal.text);
  const stretches = text.stretches(
    personal.text,
    personal.places.map(({ kind, offset }) => ({ start: offset, length: slotOctets(kind) })),
  );
  const target = Buffer.allocUnsafe(quotedPrintableBound(octets.length) + 3 * stretches.length);
  const offsets: number[] = [];
  const length = encodeWithStretches(octets, target, 0, stretches, offsets);
  return {
    header: withEncoding(leaf),
    body: target.subarray(0, length),
    places: personal.places.map((place, i) => ({ ...place, offset: offsets[i] ?? -1 })),
  };
}

/** The part's header with its transfer encoding replaced, or added as the last field. */
function withEncoding({ source, start, bodyStart, header }: MimePart): Uint8Array {
  const line = Buffer.from('Content-Transfer-Encoding: quoted-printable\r\n', 'latin1');
  const pieces: Uint8Array[] = [];
  let from = start;
  let replaced = false;
  for (const field of header.fields) {
    if (field.name !== 'content-transfer-encoding') continue;
    pieces.push(source.subarray(from, field.start));
    if (!replaced) pieces.push(line);
    replaced = true;
    from = field.end;
  }
  pieces.push(source.subarray(from, header.headerEnd));
  if (!replaced) pieces.push(line);
  pieces.push(source.subarray(header.headerEnd, bodyStart));
  return Buffer.concat(pieces);
}
