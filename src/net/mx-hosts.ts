/**
 * Finds the hosts that receive mail for a domain (RFC 5321 §5.1, null MX RFC 7505). Returns hosts in the order of
 * trying, with addresses that may be connected to, or the one reason why there are none. Here it is decided what is
 * permanent: a domain's own address is used only if the DNS said that there is no MX, never if the DNS did not answer.
 */
import type { Random } from '../lib/random.ts';
import type { AddressCheck } from './address-filter.ts';
import { isHostName, normalizeName } from './dns-name.ts';
import type { DnsAnswer, MxRecord, Resolver } from './dns-types.ts';

export interface MxHost {
  /** Lower case, no trailing dot: also the TLS server name. */
  name: string;
  preference: number;
  /** At least one; IPv4 before IPv6, in random order within the family. All passed the filter. */
  addresses: string[];
  /** The name that has the addresses, where `name` is an alias of it. */
  alias?: string;
  /** Every answer about its addresses was DNSSEC-validated, as DANE needs; one that failed does not count. */
  secure: boolean;
}

export type MxHosts =
  | {
      kind: 'hosts';
      /** In the order of trying. */
      hosts: MxHost[];
      /** The MX answer was DNSSEC-validated. */
      secure: boolean;
    }
  /** The domain says that it receives no mail. */
  | { kind: 'null-mx' }
  /** NXDOMAIN, or an invalid domain. */
  | { kind: 'no-domain' }
  /**
   * There are MX names, but according to the DNS none of them has an address. Permanent. `only`: some have addresses of
   * this family, which is not used.
   */
  | { kind: 'no-hosts'; detail: string; only: keyof Families | null }
  /** There are addresses, but none of them may be connected to. */
  | { kind: 'refused'; detail: string }
  /** The DNS gave no clear answer; `local`: this machine could not ask. */
  | { kind: 'temporary' | 'local'; detail: string };

/** Which addresses are used. */
export interface Families {
  ipv4: boolean;
  ipv6: boolean;
}

export const BOTH_FAMILIES: Families = { ipv4: true, ipv6: true };

/** Hosts looked up concurrently, and the maximum per attempt. */
const HOSTS_AT_ONCE = 10;
const MAX_HOSTS = 30;
/** Addresses kept per host: more would only make an attempt longer. */
const MAX_ADDRESSES = 16;
const MAX_ASKED_FOR_OTHERS = 5;

type HostLookup =
  | { kind: 'usable'; host: MxHost }
  | { kind: 'filtered'; detail: string; ownAt: number | null }
  | { kind: 'absent'; detail: string }
  | { kind: 'temporary' | 'local'; detail: string };

/**
 * `domain`: an A-label domain in any case, with or without trailing dot. `families`: those looked up; a host that has only
 * others counts as having no address. Never throws.
 */
export async function resolveMxHosts(
  resolver: Pick<Resolver, 'mx' | 'a' | 'aaaa'>,
  domain: string,
  options: { filter: AddressCheck; random: Random; families: Families },
): Promise<MxHosts> {
  const name = normalizeName(domain);
  // Also excludes `127.0.0.1`: the DNS would say NODATA, and the implicit MX would connect to it.
  if (!isHostName(name)) return { kind: 'no-domain' };
  const answer = await resolver.mx(name);
  if (answer.kind === 'no-name') return { kind: 'no-domain' };
  if (answer.kind === 'failure') {
    return unclear(`MX of ${name}`, answer);
  }
  // Without an MX the domain receives mail itself.
  const records =
    answer.kind === 'no-data' ? [{ preference: 0, exchange: name }] : realRecords(answer.records);
  if (records.length === 0) return { kind: 'null-mx' };

  const candidates = inOrder(records, options.random);
  const dead: HostLookup[] = records
    .filter((record) => !isHostName(record.exchange))
    .map((record) => ({ kind: 'absent', detail: `${record.exchange} is not a host name` }));
  for (let from = 0; from < candidates.length; from += HOSTS_AT_ONCE) {
    if (from >= MAX_HOSTS) {
      dead.push({ kind: 'temporary', detail: `none of the first ${MAX_HOSTS} hosts is usable` });
      break;
    }
    const batch = candidates.slice(from, from + HOSTS_AT_ONCE);
    const lookups = await Promise.all(batch.map((record) => lookUpHost(resolver, record, options)));
    // RFC 5321 §5.1: a server that is itself an MX delivers only to more preferred hosts; the others would send the
    // mail back.
    const ownAt = Math.min(
      ...lookups.flatMap((each) => (each.kind === 'filtered' ? (each.ownAt ?? []) : [])),
    );
    const hosts = lookups.flatMap((lookup) =>
      lookup.kind === 'usable' && lookup.host.preference < ownAt ? lookup.host : [],
    );
    if (hosts.length > 0) {
      return { kind: 'hosts', hosts, secure: answer.secure };
    }
    dead.push(...lookups);
    if (ownAt < Number.POSITIVE_INFINITY) break;
  }
  const none = withoutHosts(dead);
  if (none.kind !== 'no-hosts') return none;
  const { ipv4, ipv6 } = options.families;
  if (ipv4 && ipv6) return none;
  const only = ipv4 ? 'ipv6' : 'ipv4';
  const named = await withOnly(only, resolver, candidates.slice(0, MAX_ASKED_FOR_OTHERS));
  const family = only === 'ipv6' ? 'IPv6' : 'IPv4';
  return named.length === 0
    ? none
    : { kind: 'no-hosts', detail: `${family} addresses only: ${named.join(', ')}`, only };
}

/** Hosts that have addresses of a family that is not used; looked up only to explain why mail cannot be sent. */
async function withOnly(
  family: keyof Families,
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  hosts: readonly MxRecord[],
): Promise<string[]> {
  const answers = await Promise.all(
    hosts.map(({ exchange }) => (family === 'ipv6' ? resolver.aaaa(exchange) : resolver.a(exchange))),
  );
  return hosts.flatMap(({ exchange }, i) => (answers[i]?.kind === 'found' ? exchange : []));
}

/** A null MX together with real ones is a mistake and is ignored. */
function realRecords(records: readonly MxRecord[]): MxRecord[] {
  return records.filter((record) => record.exchange !== '');
}

/** Valid names, each once with its best preference, ascending, in random order if equal. */
function inOrder(records: readonly MxRecord[], random: Random): MxRecord[] {
  const best = new Map<string, MxRecord>();
  for (const record of records) {
    if (!isHostName(record.exchange)) continue;
    const known = best.get(record.exchange);
    if (!known || record.preference < known.preference) best.set(record.exchange, record);
  }
  return shuffled([...best.values()], random).sort((a, b) => a.preference - b.preference);
}

async function lookUpHost(
  resolver: Pick<Resolver, 'a' | 'aaaa'>,
  record: MxRecord,
  options: { filter: AddressCheck; random: Random; families: Families },
): Promise<HostLookup> {
  const name = record.exchange;
  const { ipv4, ipv6 } = options.families;
  const answers: DnsAnswer<string>[] = await Promise.all([
    ...(ipv4 ? [resolver.a(name)] : []),
    ...(ipv6 ? [resolver.aaaa(name)] : []),
  ]);
  const addresses: string[] = [];
  let alias: string | undefined;
  const refusals: string[] = [];
  let isOwn = false;
  for (const answer of answers) {
    if (answer.kind !== 'found') continue;
    alias = answer.alias;
    for (const address of shuffled(answer.records, options.random)) {
      const verdict = options.filter.check(address);
      if (verdict.allowed) addresses.push(address);
      else {
        refusals.push(`${name} is ${address}: ${verdict.reason}`);
        isOwn ||= verdict.isOwn === true;
      }
    }
  }
  if (addresses.length > 0 && !isOwn) {
    // A look-up that fails beside a validated one must not lower what DANE requires (RFC 7672 §2.1).
    const secure = answers.every((answer) => answer.kind === 'failure' || answer.secure);
    const host = {
      name,
      ...(alias === undefined ? {} : { alias }),
      preference: record.preference,
      addresses: addresses.slice(0, MAX_ADDRESSES),
      secure,
    };
    return { kind: 'usable', host };
  }
  const failed = answers.find((answer) => answer.kind === 'failure');
  if (failed?.kind === 'failure') {
    return unclear(`address of ${name}`, failed);
  }
  const [refusal] = refusals;
  if (refusal !== undefined) {
    const fix = isOwn ? ' (where another mail server answers there, name it in allow-networks)' : '';
    return { kind: 'filtered', detail: refusal + fix, ownAt: isOwn ? record.preference : null };
  }
  const what = ipv4 && ipv6 ? 'address' : ipv4 ? 'IPv4 address' : 'IPv6 address';
  return { kind: 'absent', detail: `${name} has no ${what}` };
}

function unclear(
  what: string,
  { reason, detail }: Extract<DnsAnswer<unknown>, { kind: 'failure' }>,
): { kind: 'temporary' | 'local'; detail: string } {
  return { kind: reason === 'local' ? 'local' : 'temporary', detail: `${what}: ${detail}` };
}

/**
 * An unclear answer makes the whole result temporary; a filtered address is reported before a missing one, because we
 * refused it.
 */
function withoutHosts(lookups: readonly HostLookup[]): MxHosts {
  const detailsOf = (kind: 'temporary' | 'local' | 'filtered' | 'absent') =>
    lookups
      .flatMap((lookup) => (lookup.kind === kind ? lookup.detail : []))
      .slice(0, 5)
      .join('; ');
  const local = detailsOf('local');
  if (local) return { kind: 'local', detail: local };
  const temporary = detailsOf('temporary');
  if (temporary) return { kind: 'temporary', detail: temporary };
  const filtered = detailsOf('filtered');
  if (filtered) return { kind: 'refused', detail: filtered };
  return { kind: 'no-hosts', detail: detailsOf('absent'), only: null };
}

/** Fisher–Yates on a copy. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  const out: T[] = [];
  while (left.length > 0) out.push(...left.splice(Math.floor(random.float() * left.length), 1));
  return out;
}
