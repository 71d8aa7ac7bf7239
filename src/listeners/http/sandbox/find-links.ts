/**
 * The links of a mail, most important first: links that the reader is asked to open come before those of a footer.
 * Given HTML and plain text, returns the targets of anchors and the URLs in the text, of the web and of applications
 * (`myapp://…`), each once. One pass over a limited text.
 */
import { decodeEntities } from '../../../pipeline/compose/html-entities.ts';
import { ACTION_WORD, FOOTER_WORD } from './code-words.ts';

const MAX_LINKS = 200;
const MAX_CANDIDATES = 1_000;
/** Text beyond this is not searched. */
const MAX_SEARCHED_CHARS = 200_000;
const MAX_TAG_CHARS = 8_192;
const MAX_URL_CHARS = 2_048;
const MAX_WORDS_CHARS = 200;
/** Schemes that lead to nothing that could be followed or opened. */
const OTHER_SCHEMES = /^(?:javascript|data|cid|mid|file|blob|about|vbscript):/i;
const SCHEME = /^[a-z][a-z0-9+.-]{0,31}:\/\//i;

interface Found {
  url: string;
  /** What it says of itself, or what stands before it. */
  words: string;
  /** It is made to look like a button. */
  button: boolean;
}

/** At most 200, best first; of equals in the order they stand. */
export function findLinks(html: string, text: string): string[] {
  const found = [
    ...anchorsOf(html.slice(0, MAX_SEARCHED_CHARS)),
    ...bareLinks(textBetweenTags(html.slice(0, MAX_SEARCHED_CHARS))),
    ...bareLinks(text.slice(0, MAX_SEARCHED_CHARS)),
  ].slice(0, MAX_CANDIDATES);
  const scores = new Map<string, number>();
  for (const link of found) {
    scores.set(link.url, Math.max(scores.get(link.url) ?? Number.NEGATIVE_INFINITY, scoreOf(link)));
  }
  return [...scores]
    .sort(([, a], [, b]) => b - a)
    .slice(0, MAX_LINKS)
    .map(([url]) => url);
}

function scoreOf({ url, words, button }: Found): number {
  const app = !/^https?:/i.test(url);
  const address = url.slice(url.indexOf('://') + 3);
  // An application's address has no host: all of it says what it is for.
  const cut = app ? 0 : address.search(/[/?#]/);
  const host = cut < 0 ? address : address.slice(0, cut);
  const path = cut < 0 ? '' : address.slice(cut);
  const own = words.toLowerCase();
  let score = 0;
  if (ACTION_WORD.test(own)) score += 5;
  if (FOOTER_WORD.test(own)) score -= 6;
  if (ACTION_WORD.test(path)) score += 4;
  if (FOOTER_WORD.test(path) || FOOTER_WORD.test(host)) score -= 5;
  if (/[?&#/](?:token|code|key|t|otp|hash|sig|ticket|nonce|jwt|confirmation)[=/]/i.test(path)) score += 3;
  if (/[\w-]{16,}/.test(path) && /\d/.test(path)) score += 2;
  if (app) score += 2;
  else if (path === '' || path === '/') score -= 3;
  if (/\.(?:png|gif|jpe?g|svg|css|js|ico|webp)(?:$|\?)/i.test(path)) score -= 6;
  return button ? score + 2 : score;
}

function anchorsOf(html: string): Found[] {
  const found: Found[] = [];
  for (let at = nextAnchor(html, 0); at >= 0 && found.length < MAX_CANDIDATES; ) {
    const end = tagEnd(html, at);
    if (end < 0) break;
    const tag = html.slice(at, end);
    const next = nextAnchor(html, end);
    const upTo = Math.min(next < 0 ? html.length : next, end + 1_000);
    const inside = html.slice(end + 1, upTo);
    const close = inside.search(/<\/a/i);
    const label = textBetweenTags(close < 0 ? inside : inside.slice(0, close)).trim();
    const url = targetOf(
      /\shref\s{0,8}=\s{0,8}(?:"([^"]{1,4096})"|'([^']{1,4096})'|([^\s"'>]{1,4096}))/i.exec(tag),
    );
    if (url !== null) {
      const button = /button|btn|\brole\s{0,4}=\s{0,4}["']?button|background/i.test(tag);
      found.push({ url, words: decodeEntities(label).slice(0, MAX_WORDS_CHARS), button });
    }
    at = next;
  }
  return found;
}

/** `<a` or `<area` with something behind it. */
function nextAnchor(html: string, from: number): number {
  const next = /<a(?:rea)?\s/gi;
  next.lastIndex = from;
  return next.exec(html)?.index ?? -1;
}

/** The `>` that ends the tag, outside quotes; -1 where none follows soon. */
function tagEnd(html: string, from: number): number {
  let quote = '';
  for (let i = from; i < html.length && i < from + MAX_TAG_CHARS; i++) {
    const char = html.charAt(i);
    if (quote !== '') {
      if (char === quote) quote = '';
    } else if (char === '"' || char === "'") quote = char;
    else if (char === '>') return i;
  }
  const plain = html.indexOf('>', from);
  return plain >= 0 && plain < from + MAX_TAG_CHARS ? plain : -1;
}

function targetOf(match: RegExpExecArray | null): string | null {
  const raw = match?.[1] ?? match?.[2] ?? match?.[3];
  if (raw === undefined) return null;
  const url = decodeEntities(raw).trim();
  return url.length <= MAX_URL_CHARS && SCHEME.test(url) && !OTHER_SCHEMES.test(url) ? url : null;
}

/** Addresses that stand in a text as they are, each with what was said before it. */
function bareLinks(text: string): Found[] {
  const found: Found[] = [];
  for (
    let at = text.indexOf('://');
    at >= 0 && found.length < MAX_CANDIDATES;
    at = text.indexOf('://', at + 3)
  ) {
    let start = at;
    while (start > 0 && at - start < 32 && /[a-z0-9+.-]/i.test(text.charAt(start - 1))) start--;
    while (start < at && !/[a-z]/i.test(text.charAt(start))) start++;
    let end = at + 3;
    while (end < text.length && end - start <= MAX_URL_CHARS && isUrlChar(text.charCodeAt(end))) end++;
    const url = withoutEnd(text.slice(start, end));
    const whole = start < at && url.length > at - start + 3 && url.length <= MAX_URL_CHARS;
    if (whole && !OTHER_SCHEMES.test(url)) {
      found.push({ url, words: text.slice(Math.max(0, start - MAX_WORDS_CHARS / 2), start), button: false });
    }
    at = end - 3;
  }
  return found;
}

function isUrlChar(code: number): boolean {
  return (
    code > 0x20 &&
    code < 0x7f &&
    code !== 0x22 &&
    code !== 0x3c &&
    code !== 0x3e &&
    code !== 0x60 &&
    code !== 0x5c
  );
}

/** Without the marks of the sentence around it; a bracket stays where the address opened it. */
function withoutEnd(url: string): string {
  let end = url.length;
  for (; end > 0; end--) {
    const char = url.charAt(end - 1);
    if (char === ')' || char === ']') {
      const open = char === ')' ? '(' : '[';
      const inside = url.slice(0, end - 1);
      if (inside.lastIndexOf(open) > inside.lastIndexOf(char)) break;
    } else if (!".,;:!?'*_|}".includes(char)) break;
  }
  return url.slice(0, end);
}

/** The text outside tags, one blank for each tag; nothing is decoded. */
function textBetweenTags(html: string): string {
  let out = '';
  for (let at = 0; at < html.length; ) {
    const open = html.indexOf('<', at);
    if (open < 0) return out + html.slice(at);
    out += `${html.slice(at, open)} `;
    const close = html.indexOf('>', open);
    if (close < 0) return out;
    at = close + 1;
  }
  return out;
}
