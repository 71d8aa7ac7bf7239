/**
 * The parts of a mail address, as far as they can be judged without IDNA: what `address.ts` parses with, and what a browser
 * checks before it sends a list. Takes untrusted text of any length; one pass over at most MAX_INPUT characters.
 */

/** Local part and domain as they were written, or a short clause that completes "the address …". */
type AddressParts =
  | { readonly ok: true; readonly local: string; readonly domain: string; readonly isAscii: boolean }
  | { readonly ok: false; readonly problem: string };

/** Longer texts are not looked at. */
export const MAX_INPUT = 1024;
const MAX_LOCAL_OCTETS = 64;
const MAX_DOMAIN_OCTETS = 253;
const MAX_ADDRESS_OCTETS = 254;

const ATEXT = asciiSet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789!#$%&'*+-/=?^_`{|}~");
const LDH = asciiSet('abcdefghijklmnopqrstuvwxyz0123456789-');

/**
 * Invisible, blank, unassigned and unpaired characters, and other forms of `@`, which could make one address look like
 * another.
 */
const UNSAFE_IN_LOCAL = /[\p{C}\p{Z}\ufe6b\uff20]/u;

/** Splits at the last `@` and checks the local part; blanks around it are removed. `isAscii`: of the local part. */
export function splitAddress(text: string): AddressParts {
  if (text.length > MAX_INPUT) return refuse('is too long');
  const trimmed = trimBlanks(text);
  if (trimmed.length === 0) return refuse('is empty');
  const at = trimmed.lastIndexOf('@');
  if (at < 0) return refuse('has no @');
  const local = trimmed.slice(0, at);
  const kind = localKind(local);
  if (typeof kind !== 'boolean') return refuse(kind.problem);
  return { ok: true, local, domain: trimmed.slice(at + 1), isAscii: kind };
}

/** What is wrong with the lengths of an address whose `domain` is an A-label; null = nothing. */
export function lengthProblem(
  { local, isAscii }: { local: string; isAscii: boolean },
  domain: string,
): string | null {
  const octets = isAscii ? local.length : new TextEncoder().encode(local).length;
  if (octets > MAX_LOCAL_OCTETS) return 'has a local part over 64 octets';
  return octets + 1 + domain.length > MAX_ADDRESS_OCTETS ? 'is over 254 octets' : null;
}

/** What is said of a domain that is none. */
export function hostProblem(minLabels = 2): string {
  return `has a domain that is not a valid host name${minLabels > 1 ? ' such as example.com' : ''}`;
}

/** What is wrong with an address as far as that can be known without IDNA; null = nothing. */
export function addressProblem(text: string): string | null {
  const parts = splitAddress(text);
  if (!parts.ok) return parts.problem;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all that is ASCII
  if (!/^[\u0000-\u007f]*$/.test(parts.domain)) return null;
  const domain = parts.domain.toLowerCase();
  return isHostName(domain, 2) ? lengthProblem(parts, domain) : hostProblem();
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
    if (code === 64) return { problem: 'has more than one @; several addresses are given one by one' };
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

/** Lower-case LDH labels of 1–63 octets, `minLabels` or more, 253 in all, the last one not a number (RFC 3696 §2). */
export function isHostName(domain: string, minLabels: number): boolean {
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

function refuse(problem: string): AddressParts {
  return { ok: false, problem };
}

/** A table of the given ASCII characters: 1 = it is one of them. */
export function asciiSet(characters: string): Uint8Array {
  const set = new Uint8Array(128);
  for (let i = 0; i < characters.length; i++) set[characters.charCodeAt(i)] = 1;
  return set;
}

/** Whether an address can be used without SMTPUTF8 (RFC 6531). */
export function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false;
  return true;
}

/** The domain of an address, as it is written; a text without `@` is returned whole. */
export function domainOfAddress(address: string): string {
  return address.slice(address.lastIndexOf('@') + 1);
}

/** A name and those above it, the longest first, without the top-level domain. */
export function* namesUpFrom(name: string): Generator<string> {
  for (let at = name; at.includes('.'); at = at.slice(at.indexOf('.') + 1)) yield at;
}

/** Whether a name is the domain or a name below it. Both in lower case. */
export function isAtOrBelow(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}
