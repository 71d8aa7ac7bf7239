/**
 * Writes header fields as folded lines that end with CRLF (RFC 5322 §2.2.3). Takes any text, including control
 * characters and lone surrogates; returns ASCII lines without blanks at their ends, of at most 76 octets if the text
 * can be folded there, never over 998 (RFC 5322 §2.1.1). Only a non-ASCII local part in an address list stays as UTF-8
 * (RFC 6532). Header names are trusted here (see header-rules.ts). Never fails.
 */
import { encodeWords, MAX_WORD_LINE_OCTETS } from './encoded-word.ts';

/** A display name ('' = none) and an address accepted by parseAddress. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

const FOLD_AT = 76;
/** Longest token that fits a line of 998 octets after the blank of a fold. */
const MAX_TOKEN_OCTETS = 997;
/** With less room on a line, an encoded word begins on the next line. */
const MIN_WORD_ROOM = 30;
/** Longest display name that is written unencoded; longer ones become encoded words, which can be folded anywhere. */
const MAX_PLAIN_NAME = 60;

const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]/;
const ATOMS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/**
 * The text that a header may contain: control characters (C0, DEL) become spaces, lone surrogates U+FFFD, and blanks at
 * both ends are removed. Line breaks are refused earlier already; this makes sure that none gets through.
 */
export function cleanHeaderText(text: string): string {
  if (!NOT_PRINTABLE_ASCII.test(text)) return text.trim();
  let clean = '';
  let copied = 0;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code >= 32 && code !== 127) continue;
    clean += `${text.slice(copied, i)} `;
    copied = i + 1;
  }
  return trimSpaces((clean + text.slice(copied)).toWellFormed());
}

/**
 * One unstructured header (Subject, custom headers). ASCII stays as written; with `encodeLookalikes`, ASCII that looks
 * like an encoded word is encoded so that it arrives as typed; everything else is encoded.
 */
export function foldUnstructured(name: string, value: string, encodeLookalikes = false): string {
  const text = cleanHeaderText(value);
  if (!NOT_PRINTABLE_ASCII.test(text) && !(encodeLookalikes && text.includes('=?'))) {
    const line = `${name}: ${text}`;
    if (text === '') return `${name}:\r\n`;
    if (line.length <= FOLD_AT) return `${line}\r\n`;
    const folded = foldAtBlanks(name, text);
    if (folded !== null) return folded;
  }
  const out = startLine(name);
  pushWords(out, text);
  return `${out.done}${out.line}\r\n`;
}

/**
 * One header with identifiers, URLs or addresses in angle brackets (List-Id, References; RFC 2919 §3, RFC 2369 §2):
 * only the phrases and comments beside them are encoded (RFC 2047 §5). If one itself is not ASCII, everything is.
 */
export function foldBracketed(name: string, value: string): string {
  const text = cleanHeaderText(value);
  const pieces = text.split(/(<[^<>]*>)/);
  const isAscii = !NOT_PRINTABLE_ASCII.test(text);
  if (isAscii || pieces.some((piece, i) => i % 2 === 1 && NOT_PRINTABLE_ASCII.test(piece)))
    return foldUnstructured(name, value);
  const out = startLine(name);
  for (const [i, piece] of pieces.entries()) {
    if (i % 2 === 1) pushToken(out, piece);
    else pushPhrases(out, piece);
  }
  return `${out.done}${out.line}\r\n`;
}

/** One header with an address list (From, To, Cc, Reply-To; RFC 5322 §3.4). An empty list gives ''. */
export function foldAddressList(name: string, mailboxes: readonly Mailbox[]): string {
  const last = mailboxes.length - 1;
  if (last < 0) return '';
  const out = startLine(name);
  for (let i = 0; i <= last; i++) {
    const { name: displayName, address } = mailboxes[i] as Mailbox;
    const comma = i < last ? ',' : '';
    const display = displayName === '' ? '' : cleanHeaderText(displayName);
    if (display === '') {
      pushToken(out, address + comma);
      continue;
    }
    pushPhrase(out, display);
    pushToken(out, `<${address}>${comma}`);
  }
  return `${out.done}${out.line}\r\n`;
}

/** Lines being written: `done` ends with CRLF, `line` is still open. */
interface OpenLines {
  done: string;
  line: string;
  bare: boolean;
}

function startLine(name: string): OpenLines {
  return { done: '', line: `${name}:`, bare: true };
}

function pushToken(out: OpenLines, token: string): void {
  // Old programs fail on a header whose first line is empty, so the first token stays on it.
  const limit = out.bare ? MAX_TOKEN_OCTETS : FOLD_AT;
  if (out.line.length + 1 + token.length > limit) {
    out.done += `${out.line}\r\n`;
    out.line = ` ${token}`;
  } else {
    out.line += ` ${token}`;
  }
  out.bare = false;
}

function pushPhrase(out: OpenLines, display: string): void {
  const phrase = plainPhrase(display);
  if (phrase === null) pushWords(out, display);
  else pushToken(out, phrase);
}

/** Phrases, between the commas and parentheses of a structured header. */
function pushPhrases(out: OpenLines, text: string): void {
  for (const piece of text.split(/("[^"]*"|[(),])/)) {
    const word = trimSpaces(piece);
    if (/^[(),]$/.test(word)) pushToken(out, word);
    else if (word !== '') pushPhrase(out, /^".*"$/.test(word) && word.length > 2 ? word.slice(1, -1) : word);
  }
}

/** A short ASCII name as atoms or as a quoted string (RFC 5322 §3.2); null if it needs encoded words. */
function plainPhrase(display: string): string | null {
  if (display.length > MAX_PLAIN_NAME || NOT_PRINTABLE_ASCII.test(display) || display.includes('=?'))
    return null;
  if (ATOMS.test(display)) return display;
  const quoted = `"${display.replace(/["\\]/g, '\\$&')}"`;
  return quoted.length <= MAX_PLAIN_NAME ? quoted : null;
}

function pushWords(out: OpenLines, text: string): void {
  const room = MAX_WORD_LINE_OCTETS - out.line.length - 1;
  for (const word of encodeWords(text, room >= MIN_WORD_ROOM ? room : undefined)) {
    if (out.line.length + 1 + word.length > MAX_WORD_LINE_OCTETS) {
      out.done += `${out.line}\r\n`;
      out.line = ` ${word}`;
    } else {
      out.line += ` ${word}`;
    }
    out.bare = false;
  }
}

/** Folds before runs of blanks, so that unfolding restores the text; null if a token is too long. */
function foldAtBlanks(name: string, text: string): string | null {
  let done = '';
  let line = `${name}:`;
  let bare = true;
  let start = 0;
  while (start < text.length) {
    let end = start;
    while (end < text.length && text.charCodeAt(end) === 32) end++;
    end = text.indexOf(' ', end);
    if (end < 0) end = text.length;
    const token = bare ? ` ${text.slice(start, end)}` : text.slice(start, end);
    if (token.length > MAX_TOKEN_OCTETS + 1) return null;
    if (line.length + token.length > (bare ? MAX_TOKEN_OCTETS + 1 : FOLD_AT)) {
      done += `${line}\r\n`;
      line = token;
    } else {
      line += token;
    }
    bare = false;
    start = end;
  }
  return `${done}${line}\r\n`;
}

function trimSpaces(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && text.charCodeAt(start) === 32) start++;
  while (end > start && text.charCodeAt(end - 1) === 32) end--;
  return text.slice(start, end);
}
