/**
 * Makes the text alternative from HTML. Takes any HTML; returns plain text: blocks as lines and paragraphs, lists as `*
 * ` or `1. `, links as `text (url)`, table rows as lines, quotations as `> `, images as their alt text; scripts,
 * styles, comments and `display:none` parts are left out. Lines are not wrapped. One pass over the tags with counters
 * instead of a tree, so nesting costs nothing and time is linear in the input. It cannot fail: broken markup gives a
 * poorer text.
 */
import { inOneGo } from '../../lib/turns.ts';
import { decodeEntities } from './html-entities.ts';
import { attributeOf, endTagOf, type HtmlTag, RAW_TEXT, readTag, UNENDED } from './html-tags.ts';

/** 2: a separate paragraph; 1: begins a line. Elements not listed are inline. */
const BLOCKS = new Map<string, 1 | 2>([
  ...'p h1 h2 h3 h4 h5 h6 ul ol dl blockquote pre'.split(' ').map((n): [string, 2] => [n, 2]),
  ...(
    'div table tr thead tbody tfoot caption li dt dd section article header footer nav aside main address center ' +
    'form fieldset figure figcaption details summary legend body option'
  )
    .split(' ')
    .map((n): [string, 1] => [n, 1]),
]);
/** Elements whose content is not shown; skipped up to their end tag. */
const RAW: ReadonlySet<string> = new Set([...RAW_TEXT, 'template', 'object', 'svg', 'math']);
const VOID = new Set('area base br col embed hr img input link meta param source track wbr'.split(' '));
const MAX_INDENT = 8;
const MAX_QUOTE = 5;
const MAX_LIST_DEPTH = 200;
/** Some milliseconds. */
const TAGS_PER_STEP = 4096;
/** Soft hyphens, joiners and similar characters that mail uses as padding in previews. */
const PADDING = /\u034f|[\u00ad\u200b\u2060\ufeff]/g;
const BLANKS = /[ \t\n\f\r\u00a0\u2028\u2029]+/g;

/** Plain text for an HTML body; '' if it contains no text. Without a line end at the end. */
export function textFromHtml(html: string): string {
  return inOneGo(textFromHtmlInSteps(html));
}

/** The same for HTML of many tags. */
export function* textFromHtmlInSteps(html: string): Generator<void, string, void> {
  const first = yield* convert(html, true);
  // A hidden element without end tag would hide the rest: showing it is better than losing the text.
  return first.complete ? first.text : (yield* convert(html, false)).text;
}

function* convert(
  html: string,
  skipHidden: boolean,
): Generator<void, { text: string; complete: boolean }, void> {
  const out = new TextLines();
  const lists: { ordered: boolean; count: number }[] = [];
  let link: string | null = null;
  let preDepth = 0;
  let hidden: { name: string; depth: number } | null = null;
  // Names without a further end tag, so that each is searched for to the end only once.
  const unclosed = new Set<string>();
  let at = 0;
  let tags = 0;

  const closeLink = (): void => {
    if (link === null) return;
    const shown = out.stopListening();
    if (shown === '') out.add(link);
    else if (!sameTarget(shown, link)) out.attach(` (${link.replace(/^mailto:/i, '')})`);
    link = null;
  };

  while (at < html.length) {
    tags += 1;
    if (tags % TAGS_PER_STEP === 0) yield;
    let open = html.indexOf('<', at);
    let tag = open < 0 ? UNENDED : readTag(html, open);
    // A lone `<` is text like what stands around it.
    while (open >= 0 && tag === open + 1) {
      open = html.indexOf('<', tag);
      tag = open < 0 ? UNENDED : readTag(html, open);
    }
    const end = open < 0 ? html.length : open;
    if (end > at && hidden === null) {
      const text = decodeEntities(html.slice(at, end)).replace(PADDING, '');
      if (preDepth > 0) out.addPreformatted(text);
      else out.add(text);
    }
    if (open < 0) break;
    if (typeof tag === 'number') {
      // A comment or declaration was skipped.
      at = tag === UNENDED ? html.length : tag;
      continue;
    }
    at = tag.end;
    const { name, isClosing: closing } = tag;
    if (!closing && RAW.has(name)) {
      const rawEnd = unclosed.has(name) || html[at - 2] === '/' ? UNENDED : endTagOf(html, name, at);
      if (rawEnd !== UNENDED) at = rawEnd;
      else if (RAW_TEXT.has(name)) break;
      else unclosed.add(name);
      continue;
    }
    if (hidden !== null) {
      if (name !== hidden.name) continue;
      hidden.depth += closing ? -1 : 1;
      if (hidden.depth === 0) hidden = null;
      continue;
    }
    if (!closing && skipHidden && !VOID.has(name) && isHidden(html, tag)) {
      hidden = { name, depth: 1 };
      continue;
    }
    const block = BLOCKS.get(name);
    if (block !== undefined) {
      // Within a list, only the outermost list is a separate paragraph.
      const outermost = closing && (name === 'ul' || name === 'ol') ? 1 : 0;
      out.breakLine(lists.length > outermost ? 1 : block);
    }
    switch (name) {
      case 'br':
        out.lineEnd();
        break;
      case 'hr':
        out.breakLine(1);
        out.add('----------');
        out.breakLine(1);
        break;
      case 'td':
      case 'th':
        if (!closing) out.cell();
        break;
      case 'ul':
      case 'ol':
        if (closing) lists.pop();
        else if (lists.length < MAX_LIST_DEPTH) lists.push({ ordered: name === 'ol', count: 0 });
        out.indent = Math.min(MAX_INDENT, Math.max(0, lists.length - 1));
        break;
      case 'li':
        out.bullet(closing ? '' : nextBullet(lists.at(-1)));
        break;
      case 'blockquote':
        out.quote = Math.max(0, out.quote + (closing ? -1 : 1));
        break;
      case 'pre':
        preDepth = Math.max(0, preDepth + (closing ? -1 : 1));
        break;
      case 'img':
        if (!closing) out.add(decodeEntities(attributeOf(html, tag, 'alt') ?? ''));
        break;
      case 'a': {
        closeLink();
        if (closing) break;
        link = linkTarget(decodeEntities(attributeOf(html, tag, 'href') ?? ''));
        if (link !== null) out.startListening();
        break;
      }
    }
  }
  closeLink();
  return { text: out.text(), complete: hidden === null };
}

function nextBullet(list: { ordered: boolean; count: number } | undefined): string {
  if (list === undefined || !list.ordered) return '* ';
  list.count++;
  return `${list.count}. `;
}

/**
 * The text being written: collapses blanks, and delays line breaks until text follows, so there are none at the end.
 */
class TextLines {
  indent = 0;
  quote = 0;
  private readonly pieces: string[] = [];
  private breaks = 0;
  private pendingSpace = '';
  private pendingBullet = '';
  private empty = true;
  private listening = false;
  private heard = '';

  add(raw: string): void {
    const text = raw.replace(BLANKS, ' ');
    if (text === '') return;
    if (text === ' ') {
      if (this.pendingSpace === '') this.pendingSpace = ' ';
      return;
    }
    const start = text.charCodeAt(0) === 32 ? 1 : 0;
    const end = text.charCodeAt(text.length - 1) === 32 ? text.length - 1 : text.length;
    if (start === 1 && this.pendingSpace === '') this.pendingSpace = ' ';
    this.put(text.slice(start, end));
    if (end < text.length) this.pendingSpace = ' ';
  }

  addPreformatted(raw: string): void {
    const lines = raw.split(/\r\n?|\n/);
    for (let i = 0; i < lines.length; i++) {
      if (i > 0) this.lineEnd();
      const line = lines[i] as string;
      const text = i < lines.length - 1 ? line.trimEnd() : line;
      if (text !== '') this.put(text);
    }
  }

  /** Requires at least a new line (1) or an empty line (2) before the next text. */
  breakLine(count: 1 | 2): void {
    this.breaks = Math.max(this.breaks, count);
    this.pendingSpace = '';
  }

  /** A line end: two in a row give one empty line, more give no more. */
  lineEnd(): void {
    this.breaks = Math.min(2, this.breaks + 1);
    this.pendingSpace = '';
  }

  /** A new table cell, separated from the text before it on the line. */
  cell(): void {
    if (this.breaks === 0 && !this.empty) this.pendingSpace = '  ';
  }

  bullet(mark: string): void {
    this.pendingBullet = mark;
  }

  /** Adds to the last line written, whatever break was requested since. */
  attach(text: string): void {
    this.pieces.push(text);
  }

  startListening(): void {
    this.listening = true;
    this.heard = '';
  }

  /** The text written since startListening, its first 2,000 characters or so. */
  stopListening(): string {
    this.listening = false;
    return this.heard.trim();
  }

  text(): string {
    return this.pieces.join('').trimEnd();
  }

  private put(text: string): void {
    if (this.empty || this.breaks > 0) {
      if (!this.empty) this.pieces.push(this.breaks === 2 ? '\n\n' : '\n');
      const quotes = '> '.repeat(Math.min(MAX_QUOTE, this.quote));
      this.pieces.push(`${quotes}${'  '.repeat(this.indent)}${this.pendingBullet}`);
      this.pendingBullet = '';
      this.pendingSpace = '';
      this.breaks = 0;
      this.empty = false;
    } else if (this.pendingSpace !== '') {
      this.pieces.push(this.pendingSpace);
    }
    this.pendingSpace = '';
    this.pieces.push(text);
    if (this.listening && this.heard.length < 2000) this.heard += ` ${text.slice(0, 2000)}`;
  }
}

function isHidden(html: string, tag: HtmlTag): boolean {
  if (!html.slice(tag.attributesAt, tag.end).includes('none')) return false;
  return /display\s*:\s*none/i.test(attributeOf(html, tag, 'style') ?? '');
}

/** A link to show: absolute web, mail (the address alone) and telephone links, without blanks or control characters. */
function linkTarget(href: string): string | null {
  const url = href
    .replace(/[\t\r\n]+/g, '')
    .trim()
    .replace(/\s/g, '%20')
    .replace(/^(mailto:[^?]*)\?.*/i, '$1');
  return /^(?:https?:\/\/|mailto:|tel:)./i.test(url) ? url : null;
}

/** Whether the link's text already shows its target. */
function sameTarget(shown: string, url: string): boolean {
  const bare = (text: string): string =>
    text
      .toLowerCase()
      .replace(/^(?:https?:\/\/|mailto:|tel:)/, '')
      .replace(/\/$/, '');
  return bare(shown) === bare(url);
}
