/**
 * Finds what can be tracked in HTML: the `href` values of links, and the position for the pixel. Nothing is changed
 * here: one pass over the tags as a browser finds them, so that everything except a link's value stays exactly the
 * same.
 *
 * Skipped are targets that are not absolute http or https URLs, links with `data-no-track` or rel="unsubscribe",
 * targets that mention unsubscribing or contain a login, and very long ones. Linear in the input; cannot fail.
 */
import { decodeEntities } from './html-entities.ts';
import { attributesOf, endTagOf, type HtmlAttribute, RAW_TEXT, readTag, UNENDED } from './html-tags.ts';

interface TrackableLink {
  /** The value between its quotes, as offsets in the HTML. */
  start: number;
  end: number;
  /** The value has no quotes, so its replacement needs them. */
  bare: boolean;
  /** As a browser would request it: ASCII, http or https. */
  target: string;
}

interface HtmlLinks {
  links: readonly TrackableLink[];
  /**
   * Where a pixel goes: before the last `</body>` or `</html>`, otherwise at the end; null = that position is hidden.
   */
  pixelAt: number | null;
}

const MAX_TARGET_CHARS = 8_000;
/** Template elements are hidden, and so is content for browsers without scripts. */
const PASSED_OVER: ReadonlySet<string> = new Set([...RAW_TEXT, 'noscript', 'template']);
const LINK_ELEMENTS = new Set(['a', 'area']);
const ABSOLUTE = /^https?:\/\//i;
const UNSUBSCRIBE = /unsubscri|opt-?out|abmelde|desabonn|désabonn/i;
const NOT_ASCII = /[^\0-\x7f]/;
const UNFILLED = /\{\{|%7B%7B|\*\||%%/i;

/** `maxLinks`: further links are left unchanged. `asciiOnly`: and those beyond ASCII, whose characters are not known. */
export function findLinks(html: string, maxLinks: number, asciiOnly = false): HtmlLinks {
  const links: TrackableLink[] = [];
  let closing: number | null = null;
  let at = 0;
  let isWhole = true;
  while (isWhole) {
    const open = html.indexOf('<', at);
    if (open < 0) break;
    const tag = readTag(html, open);
    if (typeof tag === 'number') {
      at = tag;
      isWhole = tag !== UNENDED;
      continue;
    }
    const { name, isClosing } = tag;
    at = tag.end;
    if (isClosing) {
      if (name === 'body' || (name === 'html' && closing === null)) closing = open;
      continue;
    }
    if (LINK_ELEMENTS.has(name) && links.length < maxLinks) {
      const link = trackable(html, attributesOf(html, tag));
      const isKnown = link !== null && !(asciiOnly && NOT_ASCII.test(html.slice(link.start, link.end)));
      if (isKnown) links.push(link);
    }
    // An element that never ends hides the rest, including the pixel.
    if (name === 'plaintext') isWhole = false;
    if (PASSED_OVER.has(name)) {
      at = endTagOf(html, name, at);
      isWhole = at !== UNENDED;
    }
  }
  return { links, pixelAt: closing ?? (isWhole ? html.length : null) };
}

function trackable(html: string, attributes: readonly HtmlAttribute[]): TrackableLink | null {
  let href: HtmlAttribute | null = null;
  for (const attribute of attributes) {
    if (attribute.name === 'data-no-track') return null;
    if (attribute.name === 'rel' && /unsubscribe/i.test(html.slice(attribute.start, attribute.end)))
      return null;
    // If an attribute is repeated, the first counts.
    if (attribute.name === 'href') href ??= attribute;
  }
  if (href === null || href.end <= href.start) return null;
  const target = linkTarget(html.slice(href.start, href.end));
  return target === null ? null : { start: href.start, end: href.end, bare: !href.quoted, target };
}

/** The target of a raw attribute value, or null if it is not to be tracked. */
export function linkTarget(raw: string): string | null {
  if (raw.length > MAX_TARGET_CHARS) return null;
  // Browsers drop line ends and tabs inside a URL, and control characters and blanks around it.
  const text = stripControls(decodeEntities(raw));
  if (!ABSOLUTE.test(text) || UNSUBSCRIBE.test(text)) return null;
  if (!URL.canParse(text)) return null;
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return null;
  if (url.username !== '' || url.password !== '' || url.hostname === '') return null;
  const { href } = url;
  // Another system may fill in unreplaced placeholders of a template.
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
