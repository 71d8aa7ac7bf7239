/**
 * Media types and MIME parameters (RFC 2045 §5.1, RFC 2183, RFC 2231). Parses a media type that will be written
 * (strictly) and the Content-Type of received mail (tolerantly); finds the usual type of a file name; writes a
 * parameter with any text as ASCII lines of at most 76 octets: plain if the value allows it, otherwise an ASCII
 * fallback for old programs together with the RFC 2231 form, which current programs prefer. All readers make a single
 * pass.
 */
import { cleanHeaderText } from './header-fold.ts';

/** A media type: `type` is lower-case `type/subtype`; parameter values are kept as written. */
interface MediaType {
  readonly type: string;
  readonly parameters: readonly (readonly [name: string, rawValue: string])[];
}

/** The type of a part when no better one is known. */
export const OCTET_STREAM = 'application/octet-stream';

const MAX_MEDIA_TYPE = 255;
/** Octets of a parameter line before the `;` that may follow it. */
const LINE_ROOM = 75;
const MAX_FALLBACK = 50;
const MAX_FALLBACK_EXTENSION = 12;

const TOKEN = "[A-Za-z0-9!#$%&'*+.^_`{|}~-]+";
const MEDIA_TYPE = new RegExp(`^[ \\t]*${TOKEN}/${TOKEN}[ \\t]*$`);
const PARAMETER = new RegExp(`^[ \\t]*(${TOKEN})=(${TOKEN}|"(?:[ !#-[\\]-~]|\\\\[ -~])*")[ \\t]*$`);
const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]/;
const ATTRIBUTE_CHARACTER = /[A-Za-z0-9!#$&+.^_`{|}~-]/;

const PERCENT = Array.from({ length: 256 }, (_, byte) => {
  const character = String.fromCharCode(byte);
  if (byte < 128 && ATTRIBUTE_CHARACTER.test(character)) return character;
  return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
});

/**
 * Parses `type/subtype` and parameters, at most 255 characters (RFC 2045 §5.1). Names are lower-cased, quoted values
 * keep their quotes. Anything outside the grammar, including comments, gives null.
 */
export function parseMediaType(text: string): MediaType | null {
  if (text.length > MAX_MEDIA_TYPE) return null;
  const [type = '', ...pieces] = betweenSemicolons(text);
  if (!MEDIA_TYPE.test(type)) return null;
  const parameters: [string, string][] = [];
  for (const piece of pieces) {
    if (/^[ \t]*$/.test(piece)) continue;
    const match = PARAMETER.exec(piece);
    if (match === null) return null;
    parameters.push([(match[1] as string).toLowerCase(), match[2] as string]);
  }
  return { type: type.replace(/[ \t]/g, '').toLowerCase(), parameters };
}

/** Whether a file is an invitation that mail programs are to show in place of the text (RFC 6047), not a file. */
export function isInvitation(type: string, disposition: string): boolean {
  if (disposition !== 'inline') return false;
  const media = parseMediaType(type);
  return media?.type === 'text/calendar' && media.parameters.some(([name]) => name === 'method');
}

/**
 * Reads a received Content-Type tolerantly: an invalid type counts as `fallback`; parameters without quotes, names in
 * lower case, of repeated names the first.
 */
export function readType(
  value: string | null,
  fallback: string,
): { type: string; parameters: ReadonlyMap<string, string> } {
  const parameters = new Map<string, string>();
  if (value === null) return { type: fallback, parameters };
  const [first = '', ...pieces] = betweenSemicolons(value);
  for (const piece of pieces) {
    const equals = piece.indexOf('=');
    const name = piece.slice(0, Math.max(0, equals)).trim().toLowerCase();
    if (name !== '' && !parameters.has(name))
      parameters.set(name, withoutQuotes(piece.slice(equals + 1).trim()));
  }
  // A comment may follow it, or only a blank instead of a semicolon.
  const [type] = /^[a-z0-9.+_-]{1,80}\/[a-z0-9.+_-]{1,80}(?=$|[\s(])/.exec(first.trim().toLowerCase()) ?? [
    fallback,
  ];
  return { type, parameters };
}

/** The pieces between semicolons outside quotes; after a maximum, the rest stays in the last piece. */
function betweenSemicolons(value: string): string[] {
  const pieces: string[] = [];
  let from = 0;
  let quoted = false;
  for (let at = 0; at < value.length && pieces.length < MAX_MEDIA_TYPE; at += 1) {
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

/** The usual media type for a file name's extension, `application/octet-stream` when it is not known. */
export function typeFromFilename(filename: string): string {
  const dot = filename.lastIndexOf('.');
  return (dot < 0 ? undefined : TYPES.get(filename.slice(dot + 1).toLowerCase())) ?? OCTET_STREAM;
}

/**
 * A text parameter such as `filename`, as the text after a header's value: `;\r\n filename="report.pdf"`, or with a
 * fallback and RFC 2231 sections. Control characters become spaces.
 */
export function textParameter(name: string, value: string): string {
  const text = NOT_PRINTABLE_ASCII.test(value) ? cleanHeaderText(value) : value;
  if (
    !NOT_PRINTABLE_ASCII.test(text) &&
    !/["\\]|=\?/.test(text) &&
    name.length + text.length + 4 <= LINE_ROOM
  ) {
    return `;\r\n ${name}="${text}"`;
  }
  const sections = percentSections(name, text);
  const fallback = `;\r\n ${name}="${asciiFallback(text)}"`;
  // The real name first: programs that know both forms but keep the first then show the right one.
  if (sections.length === 1) return `;\r\n ${name}*=utf-8''${sections[0]}${fallback}`;
  let out = '';
  for (let i = 0; i < sections.length; i++) {
    out += `;\r\n ${name}*${i}*=${i === 0 ? "utf-8''" : ''}${sections[i]}`;
  }
  return out + fallback;
}

/** Percent-encoded pieces of the text that do not split characters, each short enough for its line. */
function percentSections(name: string, text: string): string[] {
  const sections: string[] = [];
  const room = LINE_ROOM - ` ${name}*999*=utf-8''`.length;
  let section = '';
  for (const character of text) {
    let piece = '';
    for (const byte of Buffer.from(character, 'utf8')) piece += PERCENT[byte];
    if (section.length + piece.length > room) {
      sections.push(section);
      section = '';
    }
    section += piece;
  }
  sections.push(section);
  return sections;
}

/** The name in ASCII for programs without RFC 2231: accents removed, other characters `_`, the extension kept. */
function asciiFallback(text: string): string {
  const head = text.slice(0, 4 * MAX_FALLBACK);
  const ascii = toAscii(head);
  if (head.length === text.length && ascii.length <= MAX_FALLBACK) return ascii;
  const tail = text.slice(-MAX_FALLBACK_EXTENSION);
  const dot = tail.lastIndexOf('.');
  const extension = dot < 0 ? '' : toAscii(tail.slice(dot));
  return ascii.slice(0, MAX_FALLBACK - extension.length) + extension;
}

function toAscii(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .replace(/[^\x20-\x7e]/gu, '_')
    .replace(/["\\]|=(?=\?)/g, '_');
}

const TYPES = new Map(
  `
  7z application/x-7z-compressed
  aac audio/aac
  avi video/x-msvideo
  avif image/avif
  bin application/octet-stream
  bmp image/bmp
  bz2 application/x-bzip2
  css text/css
  csv text/csv
  doc application/msword
  docx application/vnd.openxmlformats-officedocument.wordprocessingml.document
  eot application/vnd.ms-fontobject
  epub application/epub+zip
  flac audio/flac
  gif image/gif
  gz application/gzip
  heic image/heic
  htm text/html
  html text/html
  ico image/vnd.microsoft.icon
  ics text/calendar
  jpeg image/jpeg
  jpg image/jpeg
  js text/javascript
  json application/json
  jsonld application/ld+json
  log text/plain
  m4a audio/mp4
  md text/markdown
  mid audio/midi
  mov video/quicktime
  mp3 audio/mpeg
  mp4 video/mp4
  mpeg video/mpeg
  odp application/vnd.oasis.opendocument.presentation
  ods application/vnd.oasis.opendocument.spreadsheet
  odt application/vnd.oasis.opendocument.text
  ogg audio/ogg
  otf font/otf
  p7m application/pkcs7-mime
  p7s application/pkcs7-signature
  pdf application/pdf
  pkpass application/vnd.apple.pkpass
  png image/png
  ppt application/vnd.ms-powerpoint
  pptx application/vnd.openxmlformats-officedocument.presentationml.presentation
  ps application/postscript
  rar application/vnd.rar
  rtf application/rtf
  svg image/svg+xml
  tar application/x-tar
  tif image/tiff
  tiff image/tiff
  tsv text/tab-separated-values
  ttf font/ttf
  txt text/plain
  vcf text/vcard
  wav audio/wav
  weba audio/webm
  webm video/webm
  webp image/webp
  woff font/woff
  woff2 font/woff2
  xls application/vnd.ms-excel
  xlsx application/vnd.openxmlformats-officedocument.spreadsheetml.sheet
  xml application/xml
  yaml application/yaml
  yml application/yaml
  zip application/zip
  `
    .trim()
    .split('\n')
    .map((line) => line.trim().split(' ') as [string, string]),
);
