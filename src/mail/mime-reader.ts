/**
 * A bounded reader of other people's MIME (RFC 2045, 2046), for reports that come back. Given any octets, it leaves a
 * tree of parts with their header fields; it never fails. What is broken is read as far as it goes: lines that are no
 * fields are passed over, a boundary that never comes ends with its parent. Depth, parts and header size are capped, and
 * whatever lies beyond is left out and said (`truncated`). Each level is searched once, so the work is at most the
 * size times the depth. Bodies are texts of one character per octet.
 */

export interface MimeField {
  /** Lower case. */
  readonly name: string;
  /** Unfolded and trimmed, one character per octet. */
  readonly value: string;
}

export interface MimePart {
  /** Lower case `type/subtype`; `text/plain` where nothing is said. */
  readonly type: string;
  /** Names in lower case, quotes removed. */
  readonly parameters: ReadonlyMap<string, string>;
  readonly fields: readonly MimeField[];
  /** As it lay there, transfer encoding and all. */
  readonly body: string;
  /** Of a multipart its parts, of a `message/rfc822` the one message in it. */
  readonly parts: readonly MimePart[];
}

export interface MimeMail extends MimePart {
  /** Something was left out. */
  readonly truncated: boolean;
}

const MAX_DEPTH = 10;
const MAX_PARTS = 64;
const MAX_HEADER_CHARS = 64 * 1024;
const MAX_FIELDS = 500;
const MAX_VALUE_CHARS = 8 * 1024;
const MAX_BOUNDARY = 200;
const FIELD_NAME = /^[!-9;-~]{1,100}$/;
/** Containers of one message, or of its header alone. */
const MESSAGE_TYPES: ReadonlySet<string> = new Set(['message/rfc822', 'message/global']);

interface Budget {
  parts: number;
  truncated: boolean;
}

/** Reads `bytes` as a message. */
export function readMime(bytes: Uint8Array): MimeMail {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
  const budget: Budget = { parts: 0, truncated: false };
  const part = readPart(text, 0, budget);
  return { ...part, truncated: budget.truncated };
}

/** The first field of that (lower-case) name, or null. */
export function fieldOf(part: Pick<MimePart, 'fields'>, name: string): string | null {
  return part.fields.find((field) => field.name === name)?.value ?? null;
}

/** Header-like fields of a text that is nothing else, e.g. a `text/rfc822-headers` part. */
export function readFields(text: string): { fields: MimeField[]; bodyAt: number } {
  const fields: MimeField[] = [];
  let at = 0;
  let name = '';
  let value = '';
  const keep = (): void => {
    if (name !== '' && fields.length < MAX_FIELDS) fields.push({ name, value: value.trim() });
    name = '';
  };
  for (;;) {
    const lf = text.indexOf('\n', at);
    const end = lf === -1 ? text.length : lf;
    const line = text.slice(at, text[end - 1] === '\r' && end > at ? end - 1 : end);
    const next = lf === -1 ? text.length : lf + 1;
    if (line === '' || at > MAX_HEADER_CHARS) {
      keep();
      return { fields, bodyAt: next };
    }
    if (line.startsWith(' ') || line.startsWith('\t')) {
      if (value.length < MAX_VALUE_CHARS) value += ` ${line.trim()}`;
    } else {
      keep();
      const colon = line.indexOf(':');
      const before = line.slice(0, Math.max(0, Math.min(colon, 120))).trimEnd();
      if (FIELD_NAME.test(before)) {
        name = before.toLowerCase();
        value = line.slice(colon + 1, colon + 1 + MAX_VALUE_CHARS);
      }
    }
    at = next;
    if (lf === -1) {
      keep();
      return { fields, bodyAt: text.length };
    }
  }
}

/** All parts of the tree, outermost first, in order. */
export function* walkParts(part: MimePart): Generator<MimePart> {
  yield part;
  for (const child of part.parts) yield* walkParts(child);
}

/** The parts of this very message, none of a message inside it. */
export function* ownParts(part: MimePart): Generator<MimePart> {
  yield part;
  if (!part.type.startsWith('multipart/')) return;
  for (const child of part.parts) yield* ownParts(child);
}

/** The body with its transfer encoding undone, one character per octet; at most `maxChars` of it are read. */
export function decodedBody(part: MimePart, maxChars: number): string {
  const encoding = (fieldOf(part, 'content-transfer-encoding') ?? '').trim().toLowerCase();
  const body = part.body.length > maxChars ? part.body.slice(0, maxChars) : part.body;
  return undone(body, encoding);
}

/** Octets as text: UTF-8 where they are that, else Latin-1. Controls but line ends become blanks. */
export function readableText(octets: string): string {
  const utf8 = Buffer.from(octets, 'latin1').toString('utf8');
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding control characters is its purpose
  return (utf8.includes('\ufffd') ? octets : utf8).replace(/[\x00-\x08\x0b-\x1f\x7f-\x9f]/g, (c) =>
    c === '\r' ? '' : ' ',
  );
}

function undone(body: string, encoding: string): string {
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString('latin1');
  return encoding === 'quoted-printable' ? fromQuotedPrintable(body) : body;
}

function readPart(text: string, depth: number, budget: Budget, defaultType = 'text/plain'): MimePart {
  budget.parts += 1;
  const { fields, bodyAt } = readFields(text);
  const body = text.slice(bodyAt);
  const { type, parameters } = readType(fieldOf({ fields }, 'content-type'), defaultType);
  const leaf: MimePart = { type, parameters, fields, body, parts: [] };
  const isMultipart = type.startsWith('multipart/');
  if (!isMultipart && !MESSAGE_TYPES.has(type)) return leaf;
  if (depth >= MAX_DEPTH) {
    budget.truncated = true;
    return leaf;
  }
  if (!isMultipart) {
    if (budget.parts >= MAX_PARTS) {
      budget.truncated = true;
      return leaf;
    }
    const encoding = (fieldOf(leaf, 'content-transfer-encoding') ?? '').trim().toLowerCase();
    return { ...leaf, parts: [readPart(undone(body, encoding), depth + 1, budget)] };
  }
  const boundary = parameters.get('boundary') ?? '';
  if (boundary === '' || boundary.length > MAX_BOUNDARY) return leaf;
  const inner = type === 'multipart/digest' ? 'message/rfc822' : 'text/plain';
  const parts: MimePart[] = [];
  for (const [from, to] of sections(body, boundary)) {
    if (budget.parts >= MAX_PARTS) {
      budget.truncated = true;
      break;
    }
    parts.push(readPart(body.slice(from, to), depth + 1, budget, inner));
  }
  return { ...leaf, parts };
}

/** Where the parts between the boundary lines lie. The last may lack its closing line. */
function sections(body: string, boundary: string): [from: number, to: number][] {
  const delimiter = `--${boundary}`;
  const found: [number, number][] = [];
  let from = -1;
  for (let at = body.indexOf(delimiter); at !== -1; at = body.indexOf(delimiter, at + delimiter.length)) {
    const after = at + delimiter.length;
    const startsLine = at === 0 || body[at - 1] === '\n';
    const closing = body.startsWith('--', after);
    if (!startsLine || !endsLine(body, closing ? after + 2 : after)) continue;
    if (from !== -1) found.push([from, lineEndBefore(body, at, from)]);
    if (found.length > MAX_PARTS) return found;
    if (closing) return found;
    const lf = body.indexOf('\n', after);
    from = lf === -1 ? body.length : lf + 1;
  }
  if (from !== -1 && from < body.length) found.push([from, body.length]);
  return found;
}

/** The line end in front of a boundary belongs to the boundary (RFC 2046 §5.1.1). */
function lineEndBefore(body: string, at: number, from: number): number {
  const end = at - (body[at - 2] === '\r' ? 2 : 1);
  return Math.max(from, end);
}

function endsLine(body: string, from: number): boolean {
  let at = from;
  while (body[at] === ' ' || body[at] === '\t') at += 1;
  return at >= body.length || body[at] === '\n' || body[at] === '\r';
}

/** A Content-Type (RFC 2045 §5.1) read with patience: what is no type at all counts as `fallback`; names in lower case, of two the first. */
export function readType(value: string | null, fallback: string): Pick<MimePart, 'type' | 'parameters'> {
  const parameters = new Map<string, string>();
  if (value === null) return { type: fallback, parameters };
  const pieces = splitParameters(value);
  const type = (pieces[0] ?? '').trim().toLowerCase();
  for (const piece of pieces.slice(1)) {
    const equals = piece.indexOf('=');
    if (equals <= 0) continue;
    const name = piece.slice(0, equals).trim().toLowerCase();
    if (!parameters.has(name)) parameters.set(name, withoutQuotes(piece.slice(equals + 1).trim()));
  }
  // A comment may stand behind it, or nothing but a blank where a semicolon should.
  const [found] = /^[a-z0-9.+_-]{1,80}\/[a-z0-9.+_-]{1,80}(?=$|[\s(])/.exec(type) ?? [fallback];
  return { type: found, parameters };
}

/** The pieces between semicolons that stand outside quotes; at most 20. */
function splitParameters(value: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let quoted = false;
  for (let at = 0; at < value.length && pieces.length < 20; at += 1) {
    const c = value[at];
    if (c === '\\' && quoted) at += 1;
    else if (c === '"') quoted = !quoted;
    else if (c === ';' && !quoted) {
      pieces.push(value.slice(from, at));
      from = at + 1;
    }
  }
  pieces.push(value.slice(from));
  return pieces;
}

function withoutQuotes(text: string): string {
  if (!text.startsWith('"')) return text;
  let out = '';
  for (let at = 1; at < text.length && text[at] !== '"'; at += 1) {
    if (text[at] === '\\') at += 1;
    out += text[at] ?? '';
  }
  return out;
}

function fromQuotedPrintable(text: string): string {
  return text
    .replace(/=[ \t]{0,20}\r?\n/g, '')
    .replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)));
}
