/**
 * Header lines: from a name and a value to folded lines that end in CRLF (RFC 5322 §2.2.3).
 * Given any text, controls and lone surrogates included, it leaves ASCII lines without blanks at their ends,
 * at most 76 octets where the text offers a place to fold, never over 998 (RFC 5322 §2.1.1).
 * Address lists keep a non-ASCII local part as raw UTF-8 (RFC 6532); nothing else leaves ASCII.
 * Names of headers are trusted here (see header-rules.ts). Nothing can fail.
 */
import { encodeWords, MAX_WORD_LINE_OCTETS } from './encoded-word.ts';

/** A display name ('' = none) and an address that parseAddress has accepted. */
export interface Mailbox {
  readonly name: string;
  readonly address: string;
}

const FOLD_AT = 76;
/** Longest token that fits a line of 998 octets after the blank of a fold. */
const MAX_TOKEN_OCTETS = 997;
/** A first word shorter than this is not worth starting on the rest of a line. */
const MIN_WORD_ROOM = 30;
/** Longest display name written as it is; longer ones become encoded words, which fold anywhere. */
const MAX_PLAIN_NAME = 60;

const NOT_PRINTABLE_ASCII = /[^\x20-\x7e]/;
const ATOMS = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?: [A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/**
 * The text a header may hold: controls (C0, DEL) become spaces, lone surrogates U+FFFD, and blanks at
 * both ends go. This is the lock behind the door's own refusal: no line break gets past it.
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
 * One unstructured header (Subject, custom headers). ASCII stays as written, `encodeLookalikes` turns
 * ASCII that reads like an encoded word into real ones so that it arrives as typed; all else is encoded.
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

/** One address-list header (From, To, Cc, Reply-To; RFC 5322 §3.4). An empty list gives ''. */
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

/** Lines being written: `done` ends in CRLF, `line` is the one still open. */
interface OpenLines {
  done: string;
  line: string;
  bare: boolean;
}

function startLine(name: string): OpenLines {
  return { done: '', line: `${name}:`, bare: true };
}

function pushToken(out: OpenLines, token: string): void {
  // A header whose first line is empty confuses old readers, so the first token stays beside the name.
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

/** A short ASCII name as atoms or as a quoted string (RFC 5322 §3.2), null when it needs encoded words. */
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

/** Folds before runs of blanks, so that unfolding gives the text back; null when some token is too long. */
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
