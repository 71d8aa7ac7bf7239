/**
 * The fields that name the author (From) and the sender (Sender, Resent-From, Resent-Sender) of a message: one mailbox,
 * in the part of RFC 5322 §3.4 that every mail program reads in the same way. Takes the unfolded value; returns the
 * mailbox, its decoded name, and the domains of all addresses visible in the name, or the problem. Intentionally
 * narrower than the RFC: where two programs read different addresses, one of them would show an author that was not
 * checked. So there are no groups, no lists, no special characters outside quotes, only comments of plain words, and no
 * unreadable encoded words. One pass.
 */
import { domainToUnicode } from 'node:url';
import { type Address, parseAddress, toALabelDomain } from './address.ts';
import { decodeWords } from './decode-words.ts';
import { readQuoted } from './mailbox-list.ts';

export interface Author {
  /** Decoded; '' = none. */
  readonly name: string;
  readonly address: Address;
  /** Domains of addresses that a reader can see in the name; each once, lower case. */
  readonly shown: readonly string[];
}

type AuthorResult =
  | { readonly ok: true; readonly author: Author }
  | { readonly ok: false; readonly problem: string };

/** Longest accepted value. */
const MAX_CHARS = 2000;
/** Characters of a word without quotes: atoms (RFC 5322 §3.2.3), dots (§4.1), letters beyond ASCII. */
const WORD = /[A-Za-z0-9!#$%&'*+\-/=?^_`{|}~.\u0080-\u{10ffff}]/u;
/** Not allowed in a comment: characters that are part of comments, strings or addresses. */
const NOT_IN_COMMENT = /["(),:;<>@[\\\]]/;
// biome-ignore lint/suspicious/noControlCharactersInRegex: refusing control characters is its purpose
const CONTROLS = /[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029]/;
/** An encoded word that every program reads in the same way: whole groups of base64, complete Q escapes. */
const ENCODED_WORD =
  /=\?([A-Za-z0-9_.:-]{1,40})(?:\*[A-Za-z0-9-]{0,35})?\?(?:[Bb]\?((?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?)|[Qq]\?((?:=[0-9A-Fa-f]{2}|[!-<>@-~])*))\?=/g;
/** Charsets that do not contain ASCII unchanged: programs that do not know them read another text. */
const WIDE_CHARSET = /^(?:utf-?(?:7|16|32)|ucs|csucs|csunicode|unicode|iso-10646)/i;

/** Reads a value; `minLabels` as for `parseAddress`. */
export function parseAuthor(value: string, minLabels = 2): AuthorResult {
  if (value.length > MAX_CHARS) return refuse('is too long');
  if (CONTROLS.test(value) || !value.isWellFormed()) return refuse('holds a control character');
  const words: string[] = [];
  let written: string | null = null;
  let i = 0;
  while (i < value.length) {
    const char = value.charAt(i);
    if (char === ' ' || char === '\t') i += 1;
    else if (char === '(') {
      const end = value.indexOf(')', i);
      const text = value.slice(i + 1, end);
      if (end === -1 || NOT_IN_COMMENT.test(text)) return refuse('has a comment that is not plain words');
      words.push(text);
      i = end + 1;
    } else if (written !== null) {
      return refuse(
        char === ',' ? 'has a comma after the address; name one author' : 'has text after the address',
      );
    } else if (char === '"') {
      const quoted = readQuoted(value, i);
      if (quoted === null) return refuse('has an open quotation mark');
      words.push(quoted.text);
      i = quoted.end;
      // Programs differ on `"a"@b` (an address?) and `"a"b` (one word or two?).
      if (i < value.length && !' \t<'.includes(value.charAt(i))) {
        return refuse('has text at the end of a quotation');
      }
    } else if (char === '<') {
      const end = value.indexOf('>', i);
      if (end === -1) return refuse('has an open angle bracket');
      written = value.slice(i + 1, end);
      i = end + 1;
    } else {
      const end = endOfWord(value, i);
      if (end === i) return refuse(`has ${char} outside quotation marks`);
      if (value.charAt(end) !== '@') {
        words.push(value.slice(i, end));
        i = end;
      } else {
        // After a name, an address needs brackets: some programs read two addresses in `ceo@b.example <x@a.example>`.
        const domainEnd = endOfWord(value, end + 1);
        if (words.length > 0 || /[ \t]*</y.test(value.slice(domainEnd))) {
          return refuse('has @ outside quotation marks and angle brackets');
        }
        written = value.slice(i, domainEnd);
        i = domainEnd;
      }
    }
  }
  if (written === null) return refuse('holds no address');
  const parsed = parseAddress(written, minLabels);
  if (!parsed.ok) return refuse(`holds an address that ${parsed.problem}`);
  if (!isPlainDomain(written, parsed.address.domain))
    return refuse('has a domain that programs read differently');
  const raw = words.join(' ').trim();
  const octets = readableWords(raw);
  if (octets === null) return refuse('has an encoded word that cannot be read');
  const name = decodeWords(raw).trim();
  if (name.includes('=?')) return refuse('has an encoded word within another');
  const shown = new Set([...shownDomains(name), ...shownDomains(octets)]);
  return { ok: true, author: { name, address: parsed.address, shown: [...shown] } };
}

/**
 * Domains of the addresses that a text shows to people, or to a program that searches for `@`: lower case, A-labels for
 * host names, each once. Blanks around `@` and dots are ignored, also characters that compatibility normalisation (UTS
 * 15) turns into them. It is not an address if there is a word on only one side of the `@`, no dot after it, or a
 * number at the end (a price, a time). `apart: false`: text with blanks around `@` or dots is not an address either,
 * which is right for a name that will be quoted or encoded: "Foo @ J.P. Morgan".
 */
export function shownDomains(text: string, { apart = true } = {}): readonly string[] {
  // Some programs decode what was already decoded, or what was meant literally.
  const decoded = text.includes('=?') ? decodeWords(text) : text;
  if (!/[@\uff20\ufe6b]/.test(decoded)) return [];
  const plain = decoded.normalize('NFKC').replaceAll('\u3002', '.');
  const found = new Set<string>();
  const label = apart ? /[\t ]*([^\s"(),.:;<>@[\\\]]+)[\t ]*/y : /([^\s"(),.:;<>@[\\\]]+)/y;
  for (let at = plain.indexOf('@'); at !== -1; at = plain.indexOf('@', at + 1)) {
    if (plain.slice(0, at).trim() === '' || (!apart && /\s/.test(plain.charAt(at - 1)))) continue;
    const labels: string[] = [];
    label.lastIndex = at + 1;
    for (let match = label.exec(plain); match !== null; match = label.exec(plain)) {
      labels.push(match[1] ?? '');
      const end = match.index + match[0].length;
      if (plain.charAt(end) !== '.') break;
      label.lastIndex = end + 1;
    }
    if (labels.length < 2 || /^\d+$/.test(labels.at(-1) ?? '')) continue;
    const domain = labels.join('.').toLowerCase();
    found.add(toALabelDomain(domain) ?? domain);
  }
  return [...found];
}

/** IDNA maps many texts to one domain (UTS 46); only the usual spelling is the same for programs that do not map. */
function isPlainDomain(written: string, domain: string): boolean {
  const shown = written
    .slice(written.lastIndexOf('@') + 1)
    .trim()
    .toLowerCase();
  return shown === domain || shown === domainToUnicode(domain);
}

function endOfWord(value: string, at: number): number {
  let i = at;
  while (i < value.length && WORD.test(String.fromCodePoint(value.codePointAt(i) as number))) {
    i += (value.codePointAt(i) as number) > 0xffff ? 2 : 1;
  }
  return i;
}

/** The octets of all encoded words as ASCII, joined with the text around them; null if one cannot be read. */
function readableWords(text: string): string | null {
  let out = '';
  let from = 0;
  for (const match of text.matchAll(ENCODED_WORD)) {
    const [whole, charset = '', base64, q = ''] = match;
    if (WIDE_CHARSET.test(charset) || !isKnownCharset(charset)) return null;
    const bytes =
      base64 === undefined
        ? q
            .replaceAll('_', ' ')
            .replaceAll(/=([0-9A-Fa-f]{2})/g, (_, hex) => String.fromCharCode(Number.parseInt(hex, 16)))
        : Buffer.from(base64, 'base64').toString('latin1');
    // Blanks between two encoded words are not shown.
    const between = text.slice(from, match.index);
    out += (from > 0 && between.trim() === '' ? '' : between) + bytes;
    from = match.index + whole.length;
  }
  const rest = text.replaceAll(ENCODED_WORD, '');
  if (rest.includes('=?') || CONTROLS_IN_OCTETS.test(out)) return null;
  return out + text.slice(from);
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: a line break or NUL in a name; ESC changes the charset
const CONTROLS_IN_OCTETS = /[\x00-\x08\x0a-\x0d\x7f]/;

function isKnownCharset(charset: string): boolean {
  try {
    new TextDecoder(charset);
    return true;
  } catch {
    return false;
  }
}

function refuse(problem: string): AuthorResult {
  return { ok: false, problem };
}
