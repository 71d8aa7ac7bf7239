/**
 * The elements and texts of an XML document (XML 1.0, Fifth Edition) that has no document type, and so no entities of its
 * own. Takes the text; calls back for each beginning and end of an element, and for the text before each. Throws Unreadable for
 * what is not well-formed, and for a document type. Attributes are passed over, long texts cut. The same work for each
 * character, in steps. Why it is our own: docs/decisions/0119-own-xml-reader.md.
 */

/** Why a document is not read. */
export class Unreadable extends Error {}

export interface XmlReader {
  /** `name`: as it is written, with its prefix. */
  begin(name: string): void;
  text(text: string): void;
  end(): void;
}

/** A tag with up to fifty attributes; more are no tag. */
const TAG =
  /<(\/?)([A-Za-z_][\w:.-]{0,99})(?:\s+[A-Za-z_][\w:.-]{0,99}\s*=\s*(?:"[^"<]*"|'[^'<]*')){0,50}\s*(\/?)>/y;
const REFERENCE = /&(?:#(\d{1,7})|#x([\da-fA-F]{1,6})|(amp|lt|gt|quot|apos));/g;
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };
const MAX_CODE_POINT = 0x10ffff;
/** What is no element, from its first characters to its last ones. */
const OTHERS = [
  ['<!--', '-->'],
  ['<![CDATA[', ']]>'],
  ['<?', '?>'],
] as const;
/** Characters of a text that are passed on. */
const MAX_TEXT_CHARS = 4_096;
/** What is read in one step: tags and the like, and characters, as a long text is work too. */
const STEP_TAGS = 500;
const STEP_CHARS = 64 * 1024;

/** Reads one element with everything in it, and what may stand around it. */
export function* readXmlInSteps(document: string, reader: XmlReader): Generator<void, void, void> {
  const open: string[] = [];
  let begun = false;
  let tags = 0;
  let from = 0;
  for (let at = 0; at < document.length; tags += 1) {
    if (tags >= STEP_TAGS || at - from >= STEP_CHARS) {
      yield;
      tags = 0;
      from = at;
    }
    const next = document.indexOf('<', at);
    const before = document.slice(at, next === -1 ? document.length : next);
    if (open.length > 0) reader.text(unescaped(before.slice(0, MAX_TEXT_CHARS)));
    else if (!/^[\s\ufeff]*$/.test(before)) throw malformed();
    if (next === -1) break;
    const other = OTHERS.find(([start]) => document.startsWith(start, next));
    if (other !== undefined) {
      const [start, last] = other;
      const end = document.indexOf(last, next + start.length);
      if (end === -1) throw malformed();
      if (start === '<![CDATA[')
        reader.text(document.slice(next + start.length, Math.min(end, next + MAX_TEXT_CHARS)));
      at = end + last.length;
      continue;
    }
    TAG.lastIndex = next;
    const [whole, closing, name, empty] = TAG.exec(document) ?? [];
    if (whole === undefined || name === undefined) throw malformed();
    at = next + whole.length;
    if (closing === '/') {
      if (open.pop() !== name) throw malformed();
      reader.end();
    } else {
      if (open.length === 0 && begun) throw malformed();
      begun = true;
      reader.begin(name);
      if (empty === '/') reader.end();
      else open.push(name);
    }
  }
  if (!begun || open.length > 0) throw malformed();
}

function malformed(): Unreadable {
  return new Unreadable('its document is no well-formed XML, or has a document type');
}

function unescaped(text: string): string {
  if (!text.includes('&')) return text;
  return text.replace(REFERENCE, (whole, decimal?: string, hexadecimal?: string, name?: string) => {
    if (name !== undefined) return NAMED[name] ?? whole;
    const point = decimal === undefined ? Number.parseInt(hexadecimal ?? '', 16) : Number(decimal);
    return point <= MAX_CODE_POINT ? String.fromCodePoint(point) : whole;
  });
}
