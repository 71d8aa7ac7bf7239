/**
 * Which headers a caller may set, and with which values. Takes one name and value; returns the rule that is broken, if
 * any; the listener turns it into its error code. Reserved are headers that postrider writes itself, those that only a
 * mail server may write (trace, signatures), and those that would change who sees the message (Bcc, Resent-*).
 */
import { encodeWords } from './encoded-word.ts';

/**
 * `name`: not a header name. `reserved`: a caller must not set it. `value`: unsafe or too long. `brackets`: not ASCII
 * where an identifier or a URL stands.
 */
type HeaderProblem = 'name' | 'reserved' | 'value' | 'brackets';

/** Longest header name and longest value (after non-ASCII text was encoded), in octets. */
export const MAX_HEADER_NAME_OCTETS = 126;
export const MAX_HEADER_VALUE_OCTETS = 995;

const NAME = /^[!-9;-~]{1,126}$/;

const WRITTEN_HERE = new Set([
  'from',
  'sender',
  'to',
  'cc',
  'bcc',
  'reply-to',
  'subject',
  'date',
  'message-id',
  'mime-version',
]);

/**
 * Fields that a receiving server writes, so that they mean nothing when the sender wrote them (RFC 5321 §4.4, RFC 8601
 * §5).
 */
const WRITTEN_AT_ARRIVAL = new Set(['return-path', 'delivered-to', 'authentication-results', 'received-spf']);
const WRITTEN_IN_TRANSIT = new Set(['received', 'dkim-signature', 'domainkey-signature']);
/** Fields that name an author or a sender in addition to From (RFC 5322 §3.6.2, §3.6.6). */
const NAMES_A_SENDER = new Set(['sender', 'resent-from', 'resent-sender']);
const HIDDEN_RECIPIENTS = new Set(['bcc', 'resent-bcc']);
/** How our own fields of a submitted message begin, in lower case: they are read and removed. */
export const OWN_PREFIX = 'x-postrider-';

/** Fields that may occur once in a message (RFC 5322 §3.6), by their name in lower case. */
const ONCE = new Map(
  [
    ...['Date', 'From', 'Sender', 'Reply-To', 'To', 'Cc'],
    ...['Message-ID', 'In-Reply-To', 'References', 'Subject'],
  ].map((name) => [name.toLowerCase(), name]),
);

/** Other fields than List- whose identifiers or addresses stand in angle brackets. */
const BRACKETED = new Set([
  'in-reply-to',
  'references',
  'disposition-notification-to',
  'return-receipt-to',
  'errors-to',
]);
const IN_BRACKETS = /<[^<>]*>/g;
const NOT_ASCII = /[^\0-\x7f]/;

/** 1–126 characters from `!` to `~` without `:` (RFC 5322 §3.6.8, shorter so that a fold always fits). */
export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

/** Whether only compose writes this header (structure, originator, Bcc), in any case. */
export function isComposedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return WRITTEN_HERE.has(lower) || lower.startsWith('content-') || lower.startsWith('resent-');
}

/** Whether what stands in angle brackets in this header must not be encoded (RFC 2047 §5, RFC 2919 §3), in any case. */
export function isBracketedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return lower.startsWith('list-') || BRACKETED.has(lower);
}

/** Whether a caller must not set this header, in any case. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return (
    isComposedHeader(lower) ||
    WRITTEN_IN_TRANSIT.has(lower) ||
    WRITTEN_AT_ARRIVAL.has(lower) ||
    lower.startsWith('arc-') ||
    lower.startsWith(OWN_PREFIX)
  );
}

/** The first field that occurs more often than it may, as it is usually written; null = none. `names` in lower case. */
export function repeatedField(names: readonly string[]): string | null {
  const seen = new Set<string>();
  for (const name of names) {
    const usual = ONCE.get(name);
    if (usual !== undefined && seen.has(name)) return usual;
    seen.add(name);
  }
  return null;
}

/**
 * What happens to a field (lower case) of a message submitted as bytes. A relay has good reasons for trace and
 * signatures, and a signature claims only what it proves: these are `kept`. `sender`: its address must be the caller's,
 * as that of From. `removed`: it would disclose Bcc, or claim what only the receiver can say.
 */
export function submittedField(lower: string): 'kept' | 'sender' | 'removed' {
  if (NAMES_A_SENDER.has(lower)) return 'sender';
  const goes = HIDDEN_RECIPIENTS.has(lower) || WRITTEN_AT_ARRIVAL.has(lower) || lower.startsWith(OWN_PREFIX);
  return goes ? 'removed' : 'kept';
}

/**
 * Checks one header of a caller; null = allowed. The value may contain any Unicode text and tabs, but no other control
 * character (a line break would start a new header), no lone surrogate, and at most 995 octets as sent.
 */
export function checkHeader(name: string, value: string): HeaderProblem | null {
  if (!isHeaderName(name)) return 'name';
  if (isReservedHeader(name)) return 'reserved';
  if (!isHeaderValue(value)) return 'value';
  // A message id beyond ASCII exists in answers to others' mail: losing it is better than refusing the answer.
  return /^list-/i.test(name) && value.match(IN_BRACKETS)?.some((part) => NOT_ASCII.test(part)) === true
    ? 'brackets'
    : null;
}

function isHeaderValue(value: string): boolean {
  if (value.length > MAX_HEADER_VALUE_OCTETS) return false;
  let ascii = true;
  for (let i = 0; i < value.length; i++) {
    const code = value.charCodeAt(i);
    if ((code < 32 && code !== 9) || code === 127) return false;
    if (code > 127) ascii = false;
  }
  if (ascii) return true;
  return value.isWellFormed() && encodeWords(value).join(' ').length <= MAX_HEADER_VALUE_OCTETS;
}
