/**
 * Reads the text of an SPF record (RFC 7208 §4.6, §12). A text comes from a stranger: one term that is none makes the
 * whole record invalid, and what is longer than any record needs is ignored.
 */
import { formatIp, parseIp, parseNetwork } from '../../../net/ip-address.ts';
import { showable } from './check.ts';
import { isDomainSpec, withoutMacros } from './spf-macros.ts';

export interface SpfTerm {
  /** Result if it matches: `+` pass, `-` fail, `~` soft fail, `?` neutral. */
  qualifier: '+' | '-' | '~' | '?';
  /** Mechanism, or the modifier `redirect`; lower case. */
  name: 'all' | 'include' | 'a' | 'mx' | 'ptr' | 'ip4' | 'ip6' | 'exists' | 'redirect';
  /** The text after the colon or equals sign, lower case except in macros; '' if there is none. */
  value: string;
  /** Prefix lengths after a slash, for IPv4 and IPv6. */
  prefixes: readonly [v4: number, v6: number];
}

export type SpfParsed =
  | { kind: 'record'; terms: readonly SpfTerm[] }
  /** `why`: a clause about the first term that makes the whole record invalid (RFC 7208 §4.6). */
  | { kind: 'unreadable'; why: string };

/** More than any record needs; the rest of a longer text is ignored. */
const MAX_TEXT = 16_384;
const VERSION = /^v=spf1(?: |$)/i;
const TERM = /^([-+~?]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?::(.*?))?((?:\/\d{1,3})?(?:\/\/\d{1,3})?)$/i;
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(\S*)$/i;

/** Whether a text is an SPF record. */
export function isSpf(text: string): boolean {
  return VERSION.test(text.slice(0, MAX_TEXT));
}

/** The terms of a record for which `isSpf` is true. */
export function parseSpf(text: string): SpfParsed {
  const terms: SpfTerm[] = [];
  const modifiers = new Set<string>();
  const wrong = (why: string): SpfParsed => ({ kind: 'unreadable', why });
  for (const word of text.slice(0, MAX_TEXT).split(' ').slice(1)) {
    if (word === '') continue;
    const modifier = MODIFIER.exec(word);
    const name = lower(modifier?.[1]);
    // Others are ignored, however often they occur (RFC 7208 §6).
    if (modifier !== null && name !== 'redirect' && name !== 'exp') continue;
    if (modifiers.has(name)) return wrong(`it has ${name}= twice`);
    const term = modifier === null ? readTerm(word) : readModifier(lowerName(modifier[2]));
    if (term === null) return wrong(`"${showable(word)}" is not a term of SPF`);
    if (modifier !== null) modifiers.add(name);
    // `exp=` only explains a refusal.
    if (name !== 'exp') terms.push(term);
  }
  return { kind: 'record', terms };
}

function readModifier(value: string): SpfTerm | null {
  return isDomainSpec(value) ? { qualifier: '+', name: 'redirect', value, prefixes: [32, 128] } : null;
}

/** Lower case, except for macros: the case of their letters has a meaning. */
function lowerName(text: string | undefined): string {
  return text?.includes('%') ? text : lower(text);
}

function readTerm(word: string): SpfTerm | null {
  const ip = /^([-+~?]?)(ip4|ip6):(\S+)$/i.exec(word);
  if (ip !== null) {
    const name = lower(ip[2]) === 'ip4' ? 'ip4' : 'ip6';
    const value = lower(ip[3]);
    const network = parseNetwork(maskedNetwork(value));
    if (network.kind === 'invalid' || value.includes(':') !== (name === 'ip6')) return null;
    return { qualifier: sign(ip[1]), name, value, prefixes: [32, 128] };
  }
  const found = TERM.exec(word);
  if (found === null) return null;
  const [, qualifier, kind, value, slashes = ''] = found;
  const name = lower(kind) as Exclude<SpfTerm['name'], 'redirect'>;
  if (withoutMacros(value ?? '').includes('/') || (slashes !== '' && name !== 'a' && name !== 'mx'))
    return null;
  if (name === 'ip4' || name === 'ip6') return null;
  if (value === undefined ? name === 'include' || name === 'exists' : !isDomainSpec(value)) return null;
  if (name === 'all' && value !== undefined) return null;
  const [, v4, v6] = /^(?:\/(\d+))?(?:\/\/(\d+))?$/.exec(slashes) ?? [];
  const prefixes = [Number(v4 ?? 32), Number(v6 ?? 128)] as const;
  if (prefixes[0] > 32 || prefixes[1] > 128) return null;
  return { qualifier: sign(qualifier), name, value: lowerName(value), prefixes };
}

/** `192.0.2.1/24`: receivers mask the bits after the prefix; our strict reader of networks would refuse them. */
export function maskedNetwork(value: string): string {
  const slash = value.indexOf('/');
  if (slash < 0) return value;
  const ip = parseIp(value.slice(0, slash));
  const bits = Number(value.slice(slash + 1));
  if (ip === undefined || !/^\d{1,3}$/.test(value.slice(slash + 1)) || bits > ip.bytes.length * 8)
    return value;
  const bytes = ip.bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - i * 8))) & 0xff);
  return `${formatIp(bytes)}/${bits}`;
}

function sign(text: string | undefined): SpfTerm['qualifier'] {
  return text === '-' || text === '~' || text === '?' ? text : '+';
}

function lower(text: string | undefined): string {
  return (text ?? '').toLowerCase();
}
