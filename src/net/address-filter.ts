/**
 * Decides which addresses may be connected to when somebody else chose them: an MX record, a webhook URL. Refused are
 * all addresses that are not ordinary public unicast (IANA special-purpose registries), the metadata services of
 * clouds, our own addresses, and every IPv6 form that contains such an IPv4 address, since a gateway or the kernel
 * would unwrap it. The operator's `allow-networks` are exceptions. The rules are prefixes: `net.BlockList` does not
 * recognise NAT64.
 */
import { type IpAddress, type IpNetwork, inNetwork, parseIp, parseNetwork } from './ip-address.ts';

type AddressVerdict =
  /** `listed`: allowed only, or also, because the operator listed its network. */
  | { allowed: true; listed: boolean }
  /** `reason`: a clause for logs and error texts, e.g. "loopback". `isOwn`: it is this machine. */
  | { allowed: false; reason: string; isOwn?: true };

/** The filter as code that connects uses it. Anything that is not an address in strict form is refused. */
export interface AddressCheck {
  check(address: string): AddressVerdict;
}

type AddressFilter =
  | ({ kind: 'filter' } & AddressCheck)
  /** One of the given networks is invalid; `text` is that one. */
  | { kind: 'invalid'; text: string; detail: string };

/** The first match decides, so narrower networks come first. */
const REFUSED: readonly (readonly [network: string, reason: string])[] = [
  ['0.0.0.0/32', 'unspecified'],
  ['0.0.0.0/8', 'this network (RFC 1122)'],
  ['10.0.0.0/8', 'private'],
  ['100.100.100.200/32', 'cloud metadata'],
  ['100.64.0.0/10', 'shared address space (CGNAT)'],
  ['127.0.0.0/8', 'loopback'],
  ['168.63.129.16/32', 'cloud metadata'],
  ['169.254.169.254/32', 'cloud metadata'],
  ['169.254.170.2/32', 'cloud metadata'],
  ['169.254.0.0/16', 'link-local'],
  ['172.16.0.0/12', 'private'],
  ['192.0.0.192/32', 'cloud metadata'],
  ['192.0.0.0/24', 'reserved for protocols'],
  ['192.0.2.0/24', 'documentation'],
  ['192.31.196.0/24', 'AS112'],
  ['192.52.193.0/24', 'AMT'],
  ['192.88.99.0/24', '6to4 relay'],
  ['192.168.0.0/16', 'private'],
  ['192.175.48.0/24', 'AS112'],
  ['198.18.0.0/15', 'benchmarking'],
  ['198.51.100.0/24', 'documentation'],
  ['203.0.113.0/24', 'documentation'],
  ['224.0.0.0/4', 'multicast'],
  ['255.255.255.255/32', 'broadcast'],
  ['240.0.0.0/4', 'reserved'],
  ['::/128', 'unspecified'],
  ['::1/128', 'loopback'],
  ['::/96', 'IPv4-compatible'],
  ['::ffff:0:0/96', 'IPv4-mapped'],
  ['::ffff:0:0:0/96', 'IPv4-translated'],
  ['64:ff9b::/96', 'NAT64'],
  ['64:ff9b:1::/48', 'NAT64 (local use)'],
  ['100::/64', 'discard only'],
  ['100:0:0:1::/64', 'dummy prefix'],
  ['2001::/32', 'Teredo'],
  ['2001:2::/48', 'benchmarking'],
  ['2001:10::/28', 'ORCHID'],
  ['2001:20::/28', 'ORCHIDv2'],
  ['2001::/23', 'reserved for protocols'],
  ['2001:db8::/32', 'documentation'],
  ['2002::/16', '6to4'],
  ['2620:4f:8000::/48', 'AS112'],
  ['3fff::/20', 'documentation'],
  ['5f00::/16', 'segment routing'],
  ['fd00:ec2::254/128', 'cloud metadata'],
  ['fd20:ce::254/128', 'cloud metadata'],
  ['fc00::/7', 'unique local'],
  ['fe80::/10', 'link-local'],
  ['fec0::/10', 'site-local'],
  ['ff00::/8', 'multicast'],
];

/** All addresses assigned as global unicast (RFC 4291 §2.4); the rest of IPv6 is refused. */
const GLOBAL_UNICAST = '2000::/3';

/** The position of the embedded IPv4 address in an IPv6 form. RFC 6052 §2.2, RFC 3056, RFC 4380. */
const EMBEDDINGS: readonly { network: string; at: readonly number[]; inverted?: true }[] = [
  { network: '::ffff:0:0/96', at: [12, 13, 14, 15] },
  { network: '::/96', at: [12, 13, 14, 15] },
  { network: '::ffff:0:0:0/96', at: [12, 13, 14, 15] },
  { network: '64:ff9b::/96', at: [12, 13, 14, 15] },
  // A /48 prefix puts the address around the reserved ninth byte.
  { network: '64:ff9b:1::/48', at: [6, 7, 9, 10] },
  { network: '2002::/16', at: [2, 3, 4, 5] },
  { network: '2001::/32', at: [12, 13, 14, 15], inverted: true },
];

/**
 * A filter that allows public addresses and those in `allowNetworks` (CIDRs or single addresses), and refuses `own`
 * (likewise) unless an allowed network contains them too. Allowing a translation prefix (NAT64, 6to4, Teredo) does not
 * allow every address behind it: the embedded address is checked as well.
 */
export function createAddressFilter(options: {
  allowNetworks: readonly string[];
  own?: readonly string[];
}): AddressFilter {
  const allowed = readNetworks(options.allowNetworks);
  if (allowed.kind === 'invalid') return allowed;
  const own = readNetworks(options.own ?? []);
  if (own.kind === 'invalid') return own;
  const allowedNetworks = allowed.networks;
  const ownNetworks = own.networks;
  const unspecifiedOrLoopback = builtIn('::/127');
  const refused = REFUSED.map(([text, reason]) => ({ network: builtIn(text), reason }));
  const embeddings = EMBEDDINGS.map((each) => ({ ...each, network: builtIn(each.network) }));
  const globalUnicast = builtIn(GLOBAL_UNICAST);
  const within = (ip: IpAddress, networks: readonly IpNetwork[]) =>
    networks.some((network) => inNetwork(ip, network));

  function judge(ip: IpAddress): AddressVerdict {
    const inner = innerAddress(ip);
    if (inner) {
      const verdict = judge(inner.ip);
      const isListed = within(ip, allowedNetworks);
      if (!verdict.allowed)
        return { allowed: false, reason: `${inner.form} of an address that is ${verdict.reason}` };
      // For the kernel a mapped address is that IPv4 address, so listing either form lists both.
      if (isListed || (inner.isSameHost && verdict.listed)) return { allowed: true, listed: true };
      return { allowed: false, reason: inner.form };
    }
    if (within(ip, allowedNetworks)) return { allowed: true, listed: true };
    if (within(ip, ownNetworks)) return { allowed: false, reason: 'our own address', isOwn: true };
    const hit = refused.find((each) => inNetwork(ip, each.network));
    if (hit) return { allowed: false, reason: hit.reason };
    if (ip.family === 6) {
      if (!inNetwork(ip, globalUnicast)) return { allowed: false, reason: 'reserved' };
      if (isIsatap(ip)) return { allowed: false, reason: 'ISATAP' };
    }
    return { allowed: true, listed: false };
  }

  function innerAddress(ip: IpAddress): { ip: IpAddress; form: string; isSameHost: boolean } | undefined {
    // `::` and `::1` look IPv4-compatible but are not.
    if (ip.family === 4 || inNetwork(ip, unspecifiedOrLoopback)) return undefined;
    const embedding = embeddings.find((each) => inNetwork(ip, each.network));
    if (!embedding) return undefined;
    const bytes = Uint8Array.from(embedding.at, (i) => (ip.bytes[i] ?? 0) ^ (embedding.inverted ? 0xff : 0));
    const form = refused.find((each) => inNetwork(ip, each.network))?.reason ?? 'IPv4 inside';
    return { ip: { family: 4, bytes }, form, isSameHost: form === 'IPv4-mapped' };
  }

  return {
    kind: 'filter',
    check(address) {
      const ip = parseIp(address);
      return ip ? judge(ip) : { allowed: false, reason: 'not an IP address' };
    },
  };
}

function readNetworks(
  texts: readonly string[],
): { kind: 'networks'; networks: IpNetwork[] } | { kind: 'invalid'; text: string; detail: string } {
  const networks: IpNetwork[] = [];
  for (const text of texts) {
    const parsed = parseNetwork(text);
    if (parsed.kind === 'invalid') return parsed;
    networks.push(parsed.network);
  }
  return { kind: 'networks', networks };
}

/** A network of the tables above, where a misspelling is a bug. */
function builtIn(text: string): IpNetwork {
  const parsed = parseNetwork(text);
  if (parsed.kind === 'invalid') throw new Error(`built-in network ${text}: ${parsed.detail}`);
  return parsed.network;
}

/** Interface id `0:5efe` or `200:5efe` and an IPv4 address (RFC 5214 §6.1), under any prefix. */
function isIsatap({ bytes }: IpAddress): boolean {
  return ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe;
}
