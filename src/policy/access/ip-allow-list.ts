/**
 * The addresses from which a token may be used: CIDR ranges of both families, from the token row or from a person. An
 * IPv4-mapped address (`::ffff:192.0.2.1`) counts as the IPv4 address, on both sides. A range that cannot be read
 * matches nothing, so a damaged list refuses addresses instead of allowing them.
 */
import { BlockList, isIP } from 'node:net';

/** Maximum of ranges per token. */
export const MAX_RANGES = 100;

/** Says whether an address is inside. */
export type IpMatcher = (ip: string) => boolean;

/** A matcher for `ranges`; an empty list matches every address. */
export function createIpMatcher(ranges: readonly string[]): IpMatcher {
  if (ranges.length === 0) return () => true;
  const list = new BlockList();
  for (const text of ranges) {
    const range = parseCidr(text);
    if (range !== null) list.addSubnet(range.address, range.prefix, range.family);
  }
  return (ip) => {
    const address = unmapped(ip);
    const family = familyOf(address);
    return family !== null && list.check(address, family);
  };
}

/** Whether every address of `inner` is in one range of `outer`; an empty list contains every address. */
export function isWithin(inner: readonly string[], outer: readonly string[]): boolean {
  if (outer.length === 0) return true;
  if (inner.length === 0) return false;
  const ranges = outer.flatMap((text) => parseCidr(text) ?? []);
  return inner.every((text) => {
    const range = parseCidr(text);
    if (range === null) return false;
    return ranges.some(({ address, prefix, family }) => {
      if (family !== range.family || prefix > range.prefix) return false;
      const list = new BlockList();
      list.addSubnet(address, prefix, family);
      return list.check(range.address, family);
    });
  });
}

/** Whether `text` is an address or range that a token can be restricted to. */
export function isCidr(text: string): boolean {
  return parseCidr(text) !== null;
}

/** `address[/prefix]`; without a prefix it is the one address. null if it cannot be read. */
function parseCidr(text: string): { address: string; prefix: number; family: 'ipv4' | 'ipv6' } | null {
  const slash = text.indexOf('/');
  const given = slash === -1 ? text : text.slice(0, slash);
  const address = unmapped(given);
  const family = familyOf(address);
  if (family === null || given.includes('%')) return null;
  const bits = family === 'ipv4' ? 32 : 128;
  if (slash === -1) return { address, prefix: bits, family };
  const digits = text.slice(slash + 1);
  if (!/^\d{1,3}$/.test(digits)) return null;
  // A prefix given for the mapped form counts from the start of the 128 bits.
  const prefix = Number(digits) - (address === given ? 0 : 96);
  return prefix >= 0 && prefix <= bits ? { address, prefix, family } : null;
}

function familyOf(address: string): 'ipv4' | 'ipv6' | null {
  const version = isIP(address);
  return version === 4 ? 'ipv4' : version === 6 ? 'ipv6' : null;
}

function unmapped(ip: string): string {
  return /^::ffff:\d/i.test(ip) && ip.includes('.') ? ip.slice(7) : ip;
}
