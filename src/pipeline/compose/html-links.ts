/**
 * Finds what can be tracked in HTML: the `href` values of links, and the spot for the pixel. Nothing is re-written
 * here and no tree is built: one pass over the octets of the tags, comments and raw-text elements skipped as a
 * browser does (HTML §13.2.5), so that whatever is not a link's value stays exactly as it was.
 *
 * Skipped: everything but absolute http and https targets, links with `data-no-track` or rel="unsubscribe", targets
 * that speak of unsubscribing or hold a login, and very long ones. Linear in the input; cannot fail.
 */
import { decodeEntities } from './html-entities.ts';

export interface TrackableLink {
  /** The value between its quotes, as offsets in the HTML. */
  start: number;
  end: number;
  /** The value stands without quotes, so its replacement needs them. */
  bare: boolean;
  /** As a browser would ask for it: ASCII, http or https. */
  target: string;
}

export interface HtmlLinks {
  links: readonly TrackableLink[];
  /** Where a pixel goes: before the last `</body>` or `</html>`, else at the end; null = inside something that hides it. */
  pixelAt: number | null;
}

interface Attribute {
  name: string;
  start: number;
  end: number;
  quoted: boolean;
}

const MAX_TARGET_CHARS = 8_000;
/** Elements whose content is text, not markup. */
const RAW_TEXT = new Set([
  'script',
  'style',
  'title',
  'textarea',
  'iframe',
  'noembed',
  'noframes',
  'noscript',
  'xmp',
  'template',
]);
const LINK_ELEMENTS = new Set(['a', 'area']);
const ABSOLUTE = /^https?:\/\//i;
const UNSUBSCRIBE = /unsubscri|opt-?out|abmelde|desabonn|désabonn/i;
const UNFILLED = /\{\{|%7B%7B|\*\||%%/i;

/** `maxLinks`: further links are left as they are. */
export function findLinks(html: string, maxLinks: number): HtmlLinks {
  const links: TrackableLink[] = [];
  let closing: number | null = null;
  let at = 0;
  let complete = true;
  const unclosed = new Set<string>();
  while (at < html.length) {
    const open = html.indexOf('<', at);
    if (open < 0) break;
    const next = html.charCodeAt(open + 1);
    if (next === 33 || next === 63) {
      const end = endOfDeclaration(html, open);
      if (end < 0) {
        complete = false;
        break;
      }
      at = end;
      continue;
    }
    const isClosing = next === 47;
    const nameStart = open + (isClosing ? 2 : 1);
    if (!isLetter(html.charCodeAt(nameStart))) {
      at = open + 1;
      if (!isClosing) continue;
      const end = html.indexOf('>', nameStart);
      if (end < 0) {
        complete = false;
        break;
      }
      at = end + 1;
      continue;
    }
    const nameEnd = endOfName(html, nameStart);
    const name = html.slice(nameStart, nameEnd).toLowerCase();
    const tag = readAttributes(html, nameEnd);
    if (tag === null) {
      complete = false;
      break;
    }
    at = tag.end;
    if (isClosing) {
      if (name === 'body' || (name === 'html' && closing === null)) closing = open;
      continue;
    }
    if (LINK_ELEMENTS.has(name) && links.length < maxLinks) {
      const link = trackable(html, tag.attributes);
      if (link !== null) links.push(link);
    }
    if (name === 'plaintext') {
      complete = false;
      break;
    }
    if (RAW_TEXT.has(name)) {
      const end = unclosed.has(name) ? -1 : endOfRawText(html, at, name);
      if (end >= 0) at = end;
      else {
        unclosed.add(name);
        // An element that never ends takes the rest, pixel included.
        complete = false;
        break;
      }
    }
  }
  return { links, pixelAt: closing ?? (complete ? html.length : null) };
}

function trackable(html: string, attributes: readonly Attribute[]): TrackableLink | null {
  let href: Attribute | null = null;
  for (const attribute of attributes) {
    if (attribute.name === 'data-no-track') return null;
    if (attribute.name === 'rel' && /unsubscribe/i.test(html.slice(attribute.start, attribute.end)))
      return null;
    // The first of two is the one that counts.
    if (attribute.name === 'href') href ??= attribute;
  }
  if (href === null || href.end <= href.start) return null;
  const target = linkTarget(html.slice(href.start, href.end));
  return target === null ? null : { start: href.start, end: href.end, bare: !href.quoted, target };
}

/** What a raw attribute value leads to, or null where it is not to be tracked. */
export function linkTarget(raw: string): string | null {
  if (raw.length > MAX_TARGET_CHARS) return null;
  // Browsers drop line ends and tabs inside, and controls and blanks around a URL.
  const text = stripControls(decodeEntities(raw));
  if (!ABSOLUTE.test(text) || UNSUBSCRIBE.test(text)) return null;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.username !== '' || url.password !== '' || url.hostname === '') return null;
  const { href } = url;
  // A template's own marks that nobody filled in are somebody else's to replace.
  if (UNFILLED.test(text)) return null;
  return href.length > MAX_TARGET_CHARS ? null : href;
}

function stripControls(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) <= 32) start++;
  while (end > start && text.charCodeAt(end - 1) <= 32) end--;
  return text.slice(start, end).replace(/[\t\n\r]/g, '');
}

/** The attributes of a tag and the offset after its `>`; null where the tag never ends. */
function readAttributes(html: string, from: number): { attributes: Attribute[]; end: number } | null {
  const attributes: Attribute[] = [];
  let at = from;
  for (;;) {
    while (isBlank(html.charCodeAt(at)) || html.charCodeAt(at) === 47) at++;
    if (at >= html.length) return null;
    if (html.charCodeAt(at) === 62) return { attributes, end: at + 1 };
    const nameStart = at;
    // An equals sign in front belongs to the name (HTML §13.2.5.32).
    if (html.charCodeAt(at) === 61) at++;
    while (at < html.length && !endsAttributeName(html.charCodeAt(at))) at++;
    const name = html.slice(nameStart, at).toLowerCase();
    let value = at;
    while (isBlank(html.charCodeAt(value))) value++;
    if (html.charCodeAt(value) !== 61) {
      attributes.push({ name, start: at, end: at, quoted: false });
      continue;
    }
    value++;
    while (isBlank(html.charCodeAt(value))) value++;
    if (value >= html.length) return null;
    const quote = html.charCodeAt(value);
    if (quote === 34 || quote === 39) {
      const end = html.indexOf(quote === 34 ? '"' : "'", value + 1);
      if (end < 0) return null;
      attributes.push({ name, start: value + 1, end, quoted: true });
      at = end + 1;
    } else {
      at = value;
      while (at < html.length && !isBlank(html.charCodeAt(at)) && html.charCodeAt(at) !== 62) at++;
      attributes.push({ name, start: value, end: at, quoted: false });
    }
  }
}

function endsAttributeName(code: number): boolean {
  return isBlank(code) || code === 47 || code === 62 || code === 61;
}

/** After a comment, a declaration or a processing instruction; -1 where it never ends. */
function endOfDeclaration(html: string, open: number): number {
  if (!html.startsWith('<!--', open)) {
    const end = html.indexOf('>', open);
    return end < 0 ? -1 : end + 1;
  }
  // `<!-->` and `<!--->` are whole comments.
  if (html.startsWith('>', open + 4)) return open + 5;
  if (html.startsWith('->', open + 4)) return open + 6;
  const end = html.indexOf('--', open + 4);
  if (end < 0) return -1;
  for (let at = end; at >= 0; at = html.indexOf('--', at + 1)) {
    if (html.startsWith('>', at + 2)) return at + 3;
    if (html.startsWith('!>', at + 2)) return at + 4;
  }
  return -1;
}

/** Offset of the end tag of a raw-text element, -1 where none comes. */
function endOfRawText(html: string, from: number, name: string): number {
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    const after = at + 2 + name.length;
    if (html.slice(at + 2, after).toLowerCase() !== name) continue;
    const code = html.charCodeAt(after);
    if (isBlank(code) || code === 47 || code === 62) return at;
  }
  return -1;
}

function endOfName(html: string, from: number): number {
  let at = from;
  while (at < html.length) {
    const code = html.charCodeAt(at);
    if (isBlank(code) || code === 47 || code === 62) break;
    at++;
  }
  return at;
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 10 || code === 9 || code === 13 || code === 12;
}
