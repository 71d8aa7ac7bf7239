/**
 * Values made harmless for the place where they stand. Given the text of a value, it leaves text that means exactly
 * these characters there and nothing more, or the sentence why this value cannot stand there. Control characters go:
 * none of them has a meaning in HTML, and a line break in a subject would begin another header.
 */
import { LINK_SCHEMES } from './url-position.ts';

type Form = 'quoted' | 'bare';
type Attribute =
  | 'attribute'
  | 'css'
  | 'link'
  | 'url-relative'
  | 'url-first'
  | 'url-path'
  | 'url-host'
  | 'url-whole';

/** Where a value stands. */
export type Place = 'plain' | 'subject' | 'raw' | 'text' | 'rcdata' | `${Attribute}-${Form}`;

export type Escaped = { ok: true; text: string } | { ok: false; why: string };

const SAFE_CSS = /^[\p{L}\p{N} #.,%_+-]*$/u;

/** The value for its place. */
export function escapeFor(place: Place, value: string): Escaped {
  switch (place) {
    case 'plain':
    case 'raw':
      return done(withoutControls(value));
    case 'subject':
      return done(oneLine(value));
    case 'text':
    case 'rcdata':
      return done(html(withoutControls(value)));
    default:
      return attribute(place, value);
  }
}

function attribute(place: `${Attribute}-${Form}`, value: string): Escaped {
  const cut = place.lastIndexOf('-');
  const kind = place.slice(0, cut);
  const write = place.slice(cut + 1) === 'bare' ? bare : html;
  const clean = withoutControls(value);
  if (kind === 'attribute') return done(write(clean));
  if (kind === 'css') {
    if (SAFE_CSS.test(clean)) return done(write(clean));
    return refused('In a style attribute a value is made of letters, digits, spaces and # . , % _ + -');
  }
  if (kind === 'link') {
    const scheme = schemeOf(clean);
    if (scheme === null || LINK_SCHEMES.has(scheme)) return done(write(pathText(clean.trim())));
    return refused('A link begins with http:, https:, mailto:, tel:, sms: or cid:');
  }
  return done(write(URL_WRITERS[kind as keyof typeof URL_WRITERS](clean)));
}

const URL_WRITERS = {
  /** Where a scheme could still form. */
  'url-relative': (text: string) => pathText(text).replaceAll(':', '%3A'),
  /** After the first slash, where a second one would begin a host. */
  'url-first': (text: string) => pathText(text).replace(/^[/\\]+/, (slashes) => encodeURIComponent(slashes)),
  'url-path': pathText,
  'url-host': (text: string) => encodeURIComponent(text).replaceAll('%3A', ':'),
  'url-whole': encodeURIComponent,
};

/** Keeps what has a meaning in an address and encodes the rest; what is encoded already stays. */
function pathText(text: string): string {
  return text.replace(/%(?![0-9A-Fa-f]{2})|[^\w\-.~!$&'()*+,;=:@/?#%[\]]+/g, (found) =>
    found === '%' ? '%25' : encodeURIComponent(found),
  );
}

/** What a browser would take for the scheme: blanks and control characters do not hide one. null = relative. */
function schemeOf(text: string): string | null {
  const end = text.search(/[:/?#\\]/);
  if (end < 0 || text[end] !== ':') return null;
  return text
    .slice(0, end)
    .replace(/[\s\p{C}]/gu, '')
    .toLowerCase();
}

/** Whole-text replacements: with a function for each character a megabyte of quotes takes a quarter of a second. */
function html(text: string): string {
  if (!/[&<>"']/.test(text)) return text;
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

/** For an attribute without quotes: nothing that could end it stays. */
function bare(text: string): string {
  return text.replace(/[\s&<>"'=`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Well-formed text with LF line ends and without control characters but TAB and LF. */
function withoutControls(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
      .toWellFormed()
  );
}

/** The same in one line: every run of control characters and line separators is one space. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be replaced
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, ' ').toWellFormed();
}

function done(text: string): Escaped {
  return { ok: true, text };
}

function refused(why: string): Escaped {
  return { ok: false, why };
}
