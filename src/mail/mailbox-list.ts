/**
 * Address lists in header fields of received mail (RFC 5322 §3.4): names, quotes, comments, groups. Takes the unfolded
 * value; returns each mailbox with its decoded display name and its address in the canonical form of `parseAddress`.
 * Used only to find out who claims to be the author and who is named in To and Cc; nothing is composed from it. One
 * pass without recursion.
 */
import { parseAddress } from './address.ts';
import { decodeWords } from './decode-words.ts';

export interface ListedMailbox {
  /** '' = none. At most 256 characters. */
  readonly name: string;
  /** Canonical. */
  readonly address: string;
}

const MAX_CHARS = 64 * 1024;
const MAX_MAILBOXES = 2000;
const MAX_NAME_CHARS = 256;

/**
 * The mailboxes of a value that can be read; groups give their members. An item that cannot be read is passed over; so
 * is the rest after a quotation mark, parenthesis or angle bracket that does not end. `minLabels` as for `parseAddress`.
 */
export function parseMailboxList(value: string, minLabels = 2): readonly ListedMailbox[] {
  if (value.length > MAX_CHARS) return [];
  const mailboxes: ListedMailbox[] = [];
  let phrase = '';
  /** Text between angle brackets; null outside of them. */
  let angle: string | null = null;
  let inAngle = false;
  let comment = '';
  let inGroup = false;
  /** The item has text or a bracket after its address. */
  let isOdd = false;

  const finish = () => {
    const bare = phrase.trim();
    const parsed =
      isOdd || (angle === null && bare === '')
        ? null
        : parseAddress(angle ?? bare.replaceAll(/[ \t]+/g, ''), minLabels);
    if (parsed?.ok === true) {
      const name = cleanName(angle === null ? comment : bare);
      mailboxes.push({ name, address: parsed.address.text });
    }
    phrase = '';
    comment = '';
    angle = null;
    isOdd = false;
  };

  for (let i = 0; i < value.length && mailboxes.length < MAX_MAILBOXES; i += 1) {
    const char = value.charAt(i);
    if (char === '"') {
      const quoted = readQuoted(value, i);
      if (quoted === null) return mailboxes;
      // A quoted local part is not accepted as an address; with its quotes it is refused.
      const asWritten =
        quoted.text === '' || value.charAt(quoted.end) === '@' ? `"${quoted.text}"` : quoted.text;
      if (inAngle) angle += asWritten;
      else phrase += asWritten;
      i = quoted.end - 1;
    } else if (char === '(') {
      const end = endOfComment(value, i);
      if (end === -1) return mailboxes;
      if (comment === '') comment = value.slice(i + 1, end - 1);
      i = end - 1;
    } else if (inAngle) {
      if (char === '>') inAngle = false;
      else if (char === '<') isOdd = true;
      else if (char !== ' ' && char !== '\t') angle += char;
    } else if (char === '<') {
      isOdd ||= angle !== null;
      inAngle = true;
      angle = '';
    } else if (char === ',' || (char === ';' && inGroup)) {
      finish();
      if (char === ';') inGroup = false;
    } else if (char === ':' && !inGroup && angle === null) {
      inGroup = true;
      phrase = '';
    } else if (angle !== null && char !== ' ' && char !== '\t') {
      isOdd = true;
    } else phrase += char;
  }
  if (!inAngle) finish();
  return mailboxes;
}

/** The text of the quoted string at `at`, and the offset after it; null if it does not end. */
export function readQuoted(value: string, at: number): { text: string; end: number } | null {
  let text = '';
  for (let i = at + 1; i < value.length; i += 1) {
    const char = value.charAt(i);
    if (char === '"') return { text, end: i + 1 };
    if (char === '\\') i += 1;
    text += value.charAt(i);
  }
  return null;
}

/** Offset after the comment that begins at `at`, or -1. Comments nest. */
function endOfComment(value: string, at: number): number {
  let depth = 0;
  for (let i = at; i < value.length; i += 1) {
    const char = value.charAt(i);
    if (char === '\\') i += 1;
    else if (char === '(') depth += 1;
    else if (char === ')') {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return -1;
}

function cleanName(text: string): string {
  return decodeWords(text).trim().slice(0, MAX_NAME_CHARS).toWellFormed();
}
