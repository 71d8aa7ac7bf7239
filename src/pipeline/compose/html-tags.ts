/**
 * Finds tags of HTML as a browser does (HTML §13.2.5), by offsets; no tree is built and nothing is changed. Takes a
 * text and the offset of a `<`; returns the tag, or where to continue: comments and declarations are skipped, a lone
 * `<` is text. Each reader makes one pass and cannot fail.
 */

export interface HtmlTag {
  /** Lower case. */
  readonly name: string;
  readonly isClosing: boolean;
  /** Offsets after the name, and after the `>`. */
  readonly attributesAt: number;
  readonly end: number;
}

export interface HtmlAttribute {
  /** Lower case. */
  readonly name: string;
  /** The value as written, without its quotes. */
  readonly start: number;
  readonly end: number;
  readonly quoted: boolean;
}

/** The tag never ends: browsers drop it and everything after it. */
export const UNENDED = -1;
const TAB = 9;
const LF = 10;
const FF = 12;
const CR = 13;
const SPACE = 32;
const EXCLAMATION = 33;
const DOUBLE_QUOTE = 34;
const SINGLE_QUOTE = 39;
const SLASH = 47;
const EQUALS = 61;
const GREATER = 62;
const QUESTION = 63;

/** Elements whose content is not markup: without an end tag they contain everything that follows. */
export const RAW_TEXT: ReadonlySet<string> = new Set(
  'script style title textarea iframe noembed noframes xmp'.split(' '),
);

/** The tag at the `<` at `open`; otherwise where to continue (`open + 1`: the `<` is text), or `UNENDED`. */
export function readTag(html: string, open: number): HtmlTag | number {
  const next = html.charCodeAt(open + 1);
  if (next === EXCLAMATION || next === QUESTION) return afterDeclaration(html, open);
  const isClosing = next === SLASH;
  const nameAt = open + (isClosing ? 2 : 1);
  if (!isLetter(html.charCodeAt(nameAt))) return isClosing ? afterGreater(html, nameAt) : open + 1;
  let at = nameAt + 1;
  while (at < html.length && !endsName(html.charCodeAt(at))) at++;
  const end = passAttributes(html, at, null);
  if (end === UNENDED) return UNENDED;
  return { name: html.slice(nameAt, at).toLowerCase(), isClosing, attributesAt: at, end };
}

/** The attributes of a tag in order; of repeated names browsers use the first. */
export function attributesOf(html: string, tag: HtmlTag): readonly HtmlAttribute[] {
  const found: HtmlAttribute[] = [];
  passAttributes(html, tag.attributesAt, found);
  return found;
}

/**
 * The value of the attribute of this (lower-case) name as written, '' without a value; null if there is no such
 * attribute.
 */
export function attributeOf(html: string, tag: HtmlTag, name: string): string | null {
  const found = attributesOf(html, tag).find((attribute) => attribute.name === name);
  return found === undefined ? null : html.slice(found.start, found.end);
}

/** The start of the end tag of an element with skipped content; `UNENDED` if there is none. */
export function endTagOf(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    const nameEnd = at + 2 + name.length;
    if (endsName(html.charCodeAt(nameEnd)) && html.slice(at + 2, nameEnd).toLowerCase() === name) return at;
  }
  return UNENDED;
}

/** The offset after the `>` of a tag whose attributes begin at `from`; they are added to `found` if given. */
function passAttributes(html: string, from: number, found: HtmlAttribute[] | null): number {
  let at = from;
  for (;;) {
    while (isBlank(html.charCodeAt(at)) || html.charCodeAt(at) === SLASH) at++;
    if (at >= html.length) return UNENDED;
    if (html.charCodeAt(at) === GREATER) return at + 1;
    const nameAt = at;
    // An equals sign before the name belongs to it (HTML §13.2.5.32).
    if (html.charCodeAt(at) === EQUALS) at++;
    while (at < html.length && html.charCodeAt(at) !== EQUALS && !endsName(html.charCodeAt(at))) at++;
    const nameEnd = at;
    let start = at;
    let end = at;
    let quoted = false;
    let equals = at;
    while (isBlank(html.charCodeAt(equals))) equals++;
    if (html.charCodeAt(equals) === EQUALS) {
      start = equals + 1;
      while (isBlank(html.charCodeAt(start))) start++;
      if (start >= html.length) return UNENDED;
      const quote = html.charCodeAt(start);
      quoted = quote === DOUBLE_QUOTE || quote === SINGLE_QUOTE;
      if (quoted) {
        start++;
        end = html.indexOf(quote === DOUBLE_QUOTE ? '"' : "'", start);
        if (end < 0) return UNENDED;
        at = end + 1;
      } else {
        end = start;
        while (end < html.length && !isBlank(html.charCodeAt(end)) && html.charCodeAt(end) !== GREATER) end++;
        at = end;
      }
    }
    found?.push({ name: html.slice(nameAt, nameEnd).toLowerCase(), start, end, quoted });
  }
}

/** The offset after a comment, a declaration or a processing instruction. */
function afterDeclaration(html: string, open: number): number {
  if (!html.startsWith('<!--', open)) return afterGreater(html, open);
  // `<!-->` and `<!--->` are complete comments.
  if (html.startsWith('>', open + 4)) return open + 5;
  if (html.startsWith('->', open + 4)) return open + 6;
  for (let at = html.indexOf('--', open + 4); at >= 0; at = html.indexOf('--', at + 1)) {
    if (html.startsWith('>', at + 2)) return at + 3;
    if (html.startsWith('!>', at + 2)) return at + 4;
  }
  return UNENDED;
}

function afterGreater(html: string, from: number): number {
  const at = html.indexOf('>', from);
  return at < 0 ? UNENDED : at + 1;
}

function isLetter(code: number): boolean {
  return (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
}

function endsName(code: number): boolean {
  return code === GREATER || code === SLASH || isBlank(code);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === LF || code === TAB || code === CR || code === FF;
}
