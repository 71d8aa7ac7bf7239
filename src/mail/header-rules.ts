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

const WRITTEN_IN_TRANSIT = new Set([
  'received',
  'return-path',
  'delivered-to',
  'dkim-signature',
  'domainkey-signature',
  'authentication-results',
]);

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
    lower.startsWith('arc-') ||
    lower.startsWith('x-postrider-')
  );
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
