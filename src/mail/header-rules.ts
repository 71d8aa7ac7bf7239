/**
 * Which headers a caller may set, and with what value.
 * Given one name and value from outside, it says which rule is broken, if any; the listener maps the kind to
 * its error code. The reserved names are those postrider writes itself, those that only a transfer agent may
 * write (trace, signatures) and those that would change who sees the message (Bcc, Resent-*).
 */
import { encodeWords } from './encoded-word.ts';

/** `name`: not a header name. `reserved`: may not be set by a caller. `value`: unsafe or too long. */
export type HeaderProblem = 'name' | 'reserved' | 'value';

/** Longest header name and longest value (after encoding of non-ASCII), in octets. */
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

/** What a receiving server says of a message, so that it is worth nothing from its sender (RFC 5321 §4.4, RFC 8601 §5). */
const WRITTEN_AT_ARRIVAL = new Set(['return-path', 'delivered-to', 'authentication-results', 'received-spf']);
const WRITTEN_IN_TRANSIT = new Set(['received', 'dkim-signature', 'domainkey-signature']);
/** Fields that name an author or a sender beside From (RFC 5322 §3.6.2, §3.6.6). */
const NAMES_A_SENDER = new Set(['sender', 'resent-from', 'resent-sender']);
const HIDDEN_RECIPIENTS = new Set(['bcc', 'resent-bcc']);
const OWN_PREFIX = 'x-postrider-';

/** True for `!`–`~` without `:`, 1–126 of them (RFC 5322 §3.6.8, shortened so that a fold always fits). */
export function isHeaderName(name: string): boolean {
  return NAME.test(name);
}

/** True when compose alone writes this header (structure, originator, Bcc), whatever its case. */
export function isComposedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return WRITTEN_HERE.has(lower) || lower.startsWith('content-') || lower.startsWith('resent-');
}

/** True when a caller may not set this header, whatever its case. */
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

/**
 * What becomes of a field (lower case) of a message that brought its own bytes. A program that relays has good reasons for
 * trace and signatures, and a signature claims no more than it proves: those are `kept`. `sender`: its address must be
 * the caller's, as From's must. `removed`: it would hide nothing, or claim what only the receiver can say.
 */
export function submittedField(lower: string): 'kept' | 'sender' | 'removed' {
  if (NAMES_A_SENDER.has(lower)) return 'sender';
  const goes = HIDDEN_RECIPIENTS.has(lower) || WRITTEN_AT_ARRIVAL.has(lower) || lower.startsWith(OWN_PREFIX);
  return goes ? 'removed' : 'kept';
}

/**
 * Checks one caller header; null = allowed. The value may hold any Unicode text and tabs, but no other
 * control (a line break would start a new header) and no lone surrogate, and at most 995 octets as sent.
 */
export function checkHeader(name: string, value: string): HeaderProblem | null {
  if (!isHeaderName(name)) return 'name';
  if (isReservedHeader(name)) return 'reserved';
  return isHeaderValue(value) ? null : 'value';
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
