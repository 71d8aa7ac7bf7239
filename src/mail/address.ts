/**
 * Mail addresses: which texts postrider accepts, and their canonical form. Takes untrusted text of any length; returns
 * an Address whose domain is a lower-case A-label and whose `text` is safe in an SMTP command, or a short problem for
 * the caller. Intentionally narrower than RFC 5321: no quoted strings, no comments, no IP literals, no trailing dot.
 * One pass over at most MAX_INPUT characters.
 */
import { domainToASCII, domainToUnicode } from 'node:url';

/** A parsed mail address. `text` is `local@domain`; `domain` is a lower-case A-label of two or more labels. */
export interface Address {
  readonly local: string;
  readonly domain: string;
  readonly text: string;
  /** True if the local part is not ASCII, so that only a server with SMTPUTF8 accepts it (RFC 6531). */
  readonly needsSmtpUtf8: boolean;
}

/** What parseAddress found: an address, or a short clause that completes "the address …". */
export type AddressResult =
  | { readonly ok: true; readonly address: Address }
  | { readonly ok: false; readonly problem: string };

const MAX_INPUT = 1024;
const MAX_LOCAL_OCTETS = 64;
const MAX_DOMAIN_OCTETS = 253;
const MAX_ADDRESS_OCTETS = 254;

const ATEXT = asciiSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~");
const LDH = asciiSet('abcdefghijklmnopqrstuvwxyz0123456789-');
const LDH_OR_DOT_ANY_CASE = asciiSet('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.');

/**
 * Invisible, blank, unassigned and unpaired characters, and other forms of `@`, which could make one address look like
 * another.
 */
const UNSAFE_IN_LOCAL = /[\p{C}\p{Z}\ufe6b\uff20]/u;

/**
 * Parses one address (RFC 5321 §4.1.2 dot-atom form, RFC 6531 local parts); blanks around it are removed. Local part:
 * 1–64 octets, case preserved. Domain: at least `minLabels` labels, at most 253 octets as A-label. Whole: 254. Only
 * mail that never leaves this machine may have a domain of one label (`root@localhost`).
 */
export function parseAddress(text: string, minLabels = 2): AddressResult {
  if (text.length > MAX_INPUT) return refuse('is too long');
  const trimmed = trimBlanks(text);
  if (trimmed.length === 0) return refuse('is empty');
  const at = trimmed.lastIndexOf('@');
  if (at < 0) return refuse('has no @');
  const local = trimmed.slice(0, at);
  const kind = localKind(local);
  if (typeof kind !== 'boolean') return refuse(kind.problem);
  const domain = toALabelDomain(trimmed.slice(at + 1), minLabels);
  if (domain === null) {
    return refuse(
      `has a domain that is not a valid host name${minLabels > 1 ? ' of two or more labels' : ''}`,
    );
  }
  const localOctets = kind ? local.length : Buffer.byteLength(local);
  if (localOctets > MAX_LOCAL_OCTETS) return refuse('has a local part over 64 octets');
  if (localOctets + 1 + domain.length > MAX_ADDRESS_OCTETS) return refuse('is over 254 octets');
  return { ok: true, address: { local, domain, text: `${local}@${domain}`, needsSmtpUtf8: !kind } };
}

/**
 * A domain name in lower-case A-label form, or null if the text is anything else: one label, an IP address in any
 * spelling, an empty, too long or non-LDH label, an invalid `xn--` label, a trailing dot, an all-numeric last label.
 * One IDNA step (UTS 46), no percent-decoding, no URL parsing.
 */
export function toALabelDomain(text: string, minLabels = 2): string | null {
  if (text.length === 0 || text.length > MAX_INPUT) return null;
  let ascii = true;
  let upper = false;
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) ascii = false;
    // The IDNA function parses a URL host, so only letters, digits, hyphens and dots may reach it.
    else if (LDH_OR_DOT_ANY_CASE[code] === 0) return null;
    else if (code >= 65 && code <= 90) upper = true;
  }
  if (!ascii) {
    if (!text.isWellFormed()) return null;
    const converted = domainToASCII(text);
    return isHostName(converted, minLabels) ? converted : null;
  }
  const lower = upper ? text.toLowerCase() : text;
  if (!isHostName(lower, minLabels)) return null;
  return lower.includes('xn--') && !areALabelsValid(lower) ? null : lower;
}

/** True if the local part is an ASCII dot-atom, false if it has UTF-8, otherwise the problem. */
function localKind(local: string): boolean | { problem: string } {
  if (local.length === 0) return { problem: 'has nothing before the @' };
  let ascii = true;
  let afterDot = true;
  for (let i = 0; i < local.length; i++) {
    const code = local.charCodeAt(i);
    if (code === 46) {
      if (afterDot) return { problem: 'has a misplaced dot before the @' };
      afterDot = true;
      continue;
    }
    afterDot = false;
    if (code > 127) ascii = false;
    else if (ATEXT[code] === 0) return { problem: 'has a character before the @ that is not allowed' };
  }
  if (afterDot) return { problem: 'has a misplaced dot before the @' };
  // Programs that decode before they parse would read another address (RFC 2047 §5 allows no encoded word here).
  if (/=\?[^?]*\?[BbQq]\?/.test(local)) return { problem: 'has an encoded word before the @' };
  if (!ascii && UNSAFE_IN_LOCAL.test(local)) {
    return { problem: 'has a character before the @ that is not allowed' };
  }
  return ascii;
}

/** domainToASCII does not check labels of an all-ASCII domain, so it is converted to Unicode and back. */
function areALabelsValid(domain: string): boolean {
  const shown = domainToUnicode(domain);
  return !shown.startsWith('xn--') && !shown.includes('.xn--') && domainToASCII(shown) === domain;
}

/** Lower-case LDH labels of 1–63 octets, `minLabels` or more, 253 in all, the last one not a number (RFC 3696 §2). */
function isHostName(domain: string, minLabels: number): boolean {
  if (domain.length === 0 || domain.length > MAX_DOMAIN_OCTETS) return false;
  let start = 0;
  let labels = 0;
  let digitsOnly = true;
  for (let i = 0; i <= domain.length; i++) {
    const code = i === domain.length ? 46 : domain.charCodeAt(i);
    if (code === 46) {
      const length = i - start;
      if (length === 0 || length > 63) return false;
      if (domain.charCodeAt(start) === 45 || domain.charCodeAt(i - 1) === 45) return false;
      labels++;
      if (i === domain.length) break;
      start = i + 1;
      digitsOnly = true;
    } else {
      if (code > 127 || LDH[code] === 0) return false;
      if (code < 48 || code > 57) digitsOnly = false;
    }
  }
  // URL parsers read `0x7f` as the last label as an IPv4 number.
  return labels >= minLabels && !digitsOnly && !/^0x[0-9a-f]*$/.test(domain.slice(start));
}

function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function refuse(problem: string): AddressResult {
  return { ok: false, problem };
}

function asciiSet(characters: string): Uint8Array {
  const set = new Uint8Array(128);
  for (let i = 0; i < characters.length; i++) set[characters.charCodeAt(i)] = 1;
  return set;
}
