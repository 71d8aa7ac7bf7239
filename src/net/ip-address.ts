/**
 * IP addresses and networks as bytes: strict reading, RFC 5952 writing, prefix comparison. Takes text; returns 4 or 16
 * bytes, or nothing if the text is not exactly one address. The tolerant spellings of C libraries (octal, hex, fewer
 * than four parts, zone ids) are refused, because address filters are bypassed where check and connection read the same
 * text differently.
 */

export interface IpAddress {
  family: 4 | 6;
  /** 4 or 16 bytes in network order. */
  bytes: Uint8Array;
}

export interface IpNetwork {
  family: 4 | 6;
  bytes: Uint8Array;
  /** Leading bits that count: 0–32 or 0–128. */
  prefixBits: number;
}

type ParsedNetwork =
  | { kind: 'network'; network: IpNetwork }
  /** `text` is the given text, `detail` says in one clause what is wrong. */
  | { kind: 'invalid'; text: string; detail: string };

const LONGEST_ADDRESS = 45;

/** Reads one address in its textual form (RFC 4291 §2.2 or dotted decimal); undefined for anything else. */
export function parseIp(text: string): IpAddress | undefined {
  if (text.length > LONGEST_ADDRESS) return undefined;
  if (text.includes(':')) {
    const bytes = parseIpv6(text);
    return bytes && { family: 6, bytes };
  }
  const bytes = parseIpv4(text);
  return bytes && { family: 4, bytes };
}

/**
 * Reads `address/bits`, or a bare address as a network of one. Bits set after the prefix are an error: `10.1.2.3/8` is
 * ambiguous, and guessing could allow more than intended.
 */
export function parseNetwork(text: string): ParsedNetwork {
  const trimmed = text.trim();
  const slash = trimmed.indexOf('/');
  const address = parseIp(slash === -1 ? trimmed : trimmed.slice(0, slash));
  if (!address) return { kind: 'invalid', text, detail: 'not an IP address or address/bits' };
  const widest = address.bytes.length * 8;
  if (slash === -1) return { kind: 'network', network: { ...address, prefixBits: widest } };
  const bitsText = trimmed.slice(slash + 1);
  const prefixBits = /^(0|[1-9]\d{0,2})$/.test(bitsText) ? Number(bitsText) : Number.NaN;
  if (!(prefixBits <= widest)) return { kind: 'invalid', text, detail: `the prefix must be 0 to ${widest}` };
  const network: IpNetwork = { ...address, prefixBits };
  if (hasHostBits(network)) {
    return {
      kind: 'invalid',
      text,
      detail: 'bits are set behind the prefix; write the first address of the network',
    };
  }
  return { kind: 'network', network };
}

/** Whether `address` is in `network`; different families never match. */
export function inNetwork(address: IpAddress, network: IpNetwork): boolean {
  if (address.family !== network.family) return false;
  const whole = network.prefixBits >> 3;
  for (let i = 0; i < whole; i++) if (address.bytes[i] !== network.bytes[i]) return false;
  const mask = (0xff << (8 - (network.prefixBits & 7))) & 0xff;
  return (((address.bytes[whole] ?? 0) ^ (network.bytes[whole] ?? 0)) & mask) === 0;
}

/** Dotted decimal, or RFC 5952: lower case, the longest run of zero groups (first of equals, ≥ 2) as `::`. */
export function formatIp(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  const groups: number[] = [];
  for (let i = 0; i < 16; i += 2) groups.push(((bytes[i] ?? 0) << 8) | (bytes[i + 1] ?? 0));
  let runStart = -1;
  let runLength = 1;
  for (let i = 0; i < 8; i++) {
    let end = i;
    while (end < 8 && groups[end] === 0) end++;
    if (end - i > runLength) {
      runStart = i;
      runLength = end - i;
    }
    if (end > i) i = end - 1;
  }
  const text = (from: number, to: number) =>
    groups
      .slice(from, to)
      .map((group) => group.toString(16))
      .join(':');
  return runStart === -1 ? text(0, 8) : `${text(0, runStart)}::${text(runStart + runLength, 8)}`;
}

/** The name of an address's PTR records (RFC 1035 §3.5, RFC 3596 §2.5); undefined if it is not an address. */
export function reverseName(address: string): string | undefined {
  const ip = parseIp(address);
  if (!ip) return undefined;
  if (ip.family === 4) return `${[...ip.bytes].reverse().join('.')}.in-addr.arpa`;
  const nibbles = [...ip.bytes].flatMap((byte) => [byte >> 4, byte & 15]);
  return `${nibbles
    .reverse()
    .map((nibble) => nibble.toString(16))
    .join('.')}.ip6.arpa`;
}

function parseIpv4(text: string): Uint8Array | undefined {
  const parts = text.split('.');
  if (parts.length !== 4) return undefined;
  const bytes = new Uint8Array(4);
  for (const [i, part] of parts.entries()) {
    // No leading zeros: some programs read `010` as 8 and others as 10.
    if (!/^(0|[1-9]\d{0,2})$/.test(part) || Number(part) > 255) return undefined;
    bytes[i] = Number(part);
  }
  return bytes;
}

function parseIpv6(text: string): Uint8Array | undefined {
  const gap = text.indexOf('::');
  if (gap === -1) {
    const bytes = parseGroups(text);
    return bytes?.length === 16 ? Uint8Array.from(bytes) : undefined;
  }
  if (text.indexOf('::', gap + 1) !== -1) return undefined;
  const head = parseGroups(text.slice(0, gap), false);
  const tail = parseGroups(text.slice(gap + 2));
  // `::` stands for at least one group.
  if (!head || !tail || head.length + tail.length > 14) return undefined;
  const bytes = new Uint8Array(16);
  bytes.set(head, 0);
  bytes.set(tail, 16 - tail.length);
  return bytes;
}

/** Colon-separated groups as bytes; the last may be dotted decimal if it ends the address. */
function parseGroups(text: string, mayEndDotted = true): number[] | undefined {
  if (text === '') return [];
  const bytes: number[] = [];
  const groups = text.split(':');
  for (const [i, group] of groups.entries()) {
    if (mayEndDotted && i === groups.length - 1 && group.includes('.')) {
      const dotted = parseIpv4(group);
      if (!dotted) return undefined;
      bytes.push(...dotted);
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(group)) return undefined;
      const value = Number.parseInt(group, 16);
      bytes.push(value >> 8, value & 0xff);
    }
  }
  return bytes;
}

function hasHostBits(network: IpNetwork): boolean {
  for (let bit = network.prefixBits; bit < network.bytes.length * 8; bit++) {
    if (((network.bytes[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) return true;
  }
  return false;
}
