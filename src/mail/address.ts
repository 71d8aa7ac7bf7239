/**
 * Mail addresses: which texts postrider accepts, and their canonical form. Takes untrusted text of any length; returns
 * an Address whose domain is a lower-case A-label and whose `text` is safe in an SMTP command, or a short problem for
 * the caller. Intentionally narrower than RFC 5321: no quoted strings, no comments, no IP literals, no trailing dot.
 * One pass over at most MAX_INPUT characters.
 */
import { domainToASCII, domainToUnicode } from 'node:url';
import { asciiSet, hostProblem, isHostName, lengthProblem, MAX_INPUT, splitAddress } from './address-text.ts';

/** A parsed mail address. `text` is `local@domain`; `domain` is a lower-case A-label of two or more labels. */
export interface Address {
  readonly local: string;
  readonly domain: string;
  readonly text: string;
}

/** What parseAddress found: an address, or a short clause that completes "the address …". */
type AddressResult =
  | { readonly ok: true; readonly address: Address }
  | { readonly ok: false; readonly problem: string };

const LDH_OR_DOT_ANY_CASE = asciiSet('abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-.');

/**
 * Parses one address (RFC 5321 §4.1.2 dot-atom form, RFC 6531 local parts); blanks around it are removed. Local part:
 * 1–64 octets, case preserved. Domain: at least `minLabels` labels, at most 253 octets as A-label. Whole: 254. Only
 * mail that never leaves this machine may have a domain of one label (`root@localhost`).
 */
export function parseAddress(text: string, minLabels = 2): AddressResult {
  const parts = splitAddress(text);
  if (!parts.ok) return parts;
  const { local } = parts;
  const domain = toALabelDomain(parts.domain, minLabels);
  if (domain === null) return { ok: false, problem: hostProblem(minLabels) };
  const problem = lengthProblem(parts, domain);
  if (problem !== null) return { ok: false, problem };
  return { ok: true, address: { local, domain, text: `${local}@${domain}` } };
}

/** What somebody looks for, a whole domain name or a part of one, as names are stored: in lower case, as A-labels where it has others. */
export function aLabels(text: string): string {
  const typed = text.trim().toLowerCase();
  return toALabelDomain(typed, 1) ?? typed;
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

/** domainToASCII does not check labels of an all-ASCII domain, so it is converted to Unicode and back. */
function areALabelsValid(domain: string): boolean {
  const shown = domainToUnicode(domain);
  return !shown.startsWith('xn--') && !shown.includes('.xn--') && domainToASCII(shown) === domain;
}
