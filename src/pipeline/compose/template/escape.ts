/**
 * Escapes values for the position where they are inserted. Takes the text of a value; returns text that means exactly
 * these characters there, or a sentence why this value is not possible there. Control characters are removed: none has
 * a meaning in HTML, and a line break in a subject would begin another header.
 */
import { escapeHtml } from '../../../lib/escape-html.ts';
import { afterUrlText, LINK_SCHEMES, type UrlState } from './url-position.ts';

type Form = 'quoted' | 'bare';

/** The position of a value. For a `url`, the position within the URL is known only when it is rendered. */
export type ValuePosition =
  | 'plain'
  | 'subject'
  | 'raw'
  | 'text'
  | 'rcdata'
  | `${'attribute' | 'css'}-${Form}`
  | UrlAttribute;

/** The value of an attribute that contains a URL. */
type UrlAttribute = `url-${Form}`;

export type Escaped = { ok: true; text: string } | { ok: false; why: string };

const SAFE_CSS = /^[\p{L}\p{N} #.,%_+-]*$/u;

/** The value escaped for its position. */
export function escapeFor(place: Exclude<ValuePosition, UrlAttribute>, value: string): Escaped {
  switch (place) {
    case 'plain':
    case 'raw':
      return done(withoutControls(value));
    case 'subject':
      return done(oneLine(value));
    case 'text':
    case 'rcdata':
      return done(escapeHtml(withoutControls(value)));
    case 'attribute-quoted':
      return done(escapeHtml(withoutControls(value)));
    case 'attribute-bare':
      return done(bare(withoutControls(value)));
    default: {
      const clean = withoutControls(value);
      if (SAFE_CSS.test(clean)) return done(place === 'css-bare' ? bare(clean) : clean);
      return refused('In a style attribute a value is made of letters, digits, spaces and # . , % _ + -');
    }
  }
}

/** The value escaped for the position `url` within a URL, and the position after it. */
export function escapeUrl(
  place: UrlAttribute,
  value: string,
  url: UrlState,
): (Escaped & { ok: true; url: UrlState }) | (Escaped & { ok: false }) {
  const written = urlText(withoutControls(value), url);
  if (!written.ok) return written;
  const { text } = written;
  const after = afterUrlText(url, text, false);
  return { ok: true, text: place === 'url-bare' ? bare(text) : escapeHtml(text), url: after };
}

function urlText(value: string, { place, word }: UrlState): Escaped {
  switch (place) {
    case 'start': {
      const scheme = schemeOf(value);
      if (scheme === null || LINK_SCHEMES.has(scheme)) return done(pathText(value.trim()));
      return refused('A link begins with http:, https:, mailto:, tel:, sms: or cid:');
    }
    case 'word':
      // This could still become a scheme.
      return done(pathText(value).replaceAll(':', '%3A'));
    case 'slash':
      // A second slash would begin a host.
      return done(pathText(value).replace(/^[/\\]+/, (slashes) => encodeURIComponent(slashes)));
    case 'host':
      if (value === '' || (word !== '' && /^[/?#]/.test(value))) return done(pathText(value));
      return refused(NO_HOST);
    case 'query':
      return done(encodeURIComponent(value));
    case 'refused':
      return refused(NO_SCHEME);
    default:
      return done(pathText(value));
  }
}

/** Also reported at compile time if it is certain. */
export const NO_HOST =
  'The host of a link cannot come from a variable: put the whole address into one variable, or write the host here and a / behind it';
export const NO_SCHEME =
  'A link with a variable begins with http:, https:, mailto:, tel:, sms: or cid:, written without character references';

/** Keeps characters with a meaning in a URL and encodes the others; what is already encoded stays. */
function pathText(text: string): string {
  return text.replace(/%(?![0-9A-Fa-f]{2})|[^\w\-.~!$&'()*+,;=:@/?#%[\]]+/g, (found) =>
    found === '%' ? '%25' : encodeURIComponent(found),
  );
}

/** The scheme that a browser would read, which ignores blanks and control characters. null = relative. */
function schemeOf(text: string): string | null {
  const end = text.search(/[:/?#\\]/);
  if (end < 0 || text[end] !== ':') return null;
  return text
    .slice(0, end)
    .replace(/[\s\p{C}]/gu, '')
    .toLowerCase();
}

/** For an attribute without quotes: removes everything that could end it. */
function bare(text: string): string {
  return text.replace(/[\s&<>"'=`]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Well-formed text with LF line ends and no control characters except TAB and LF. */
function withoutControls(text: string): string {
  return (
    text
      .replace(/\r\n?/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: these are the characters to be removed
      .replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, '')
      .toWellFormed()
  );
}

/** The same in one line: every run of control characters and line separators is one blank. */
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
