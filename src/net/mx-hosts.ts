/**
 * To which hosts mail for a domain goes (RFC 5321 §5.1, null MX RFC 7505).
 * Given a resolver and an address filter, it leaves hosts in the order to try with addresses that may be connected
 * to, or the one reason there are none. What is permanent and what is not is decided here, and strictly: a domain's
 * own address stands in only when DNS said there is no MX, never when DNS said nothing.
 */
import type { Random } from '../lib/random.ts';
import type { AddressCheck } from './address-filter.ts';
import { isHostName, normalizeName } from './dns-name.ts';
import type { DnsAnswer, MxRecord, Resolver } from './dns-types.ts';

export interface MxHost {
  /** Lower case, no trailing dot: also the TLS server name. */
  name: string;
  preference: number;
  /** At least one; IPv4 before IPv6, shuffled within the family. All passed the filter. */
  addresses: string[];
  /** Every address answer was DNSSEC-validated, as DANE needs. */
  secure: boolean;
}

export type MxHosts =
  | {
      kind: 'hosts';
      /** In the order to try. */
      hosts: MxHost[];
      /** The domain stands for itself, having no MX. */
      implicit: boolean;
      /** The MX answer was DNSSEC-validated. */
      secure: boolean;
      /** How long the MX answer holds. */
      ttlSeconds: number;
      /** Every valid MX name, usable now or not, best first: what tells the domain's provider. */
      allNames: string[];
    }
  /** The domain says that it takes no mail. */
  | { kind: 'null-mx' }
  /** NXDOMAIN, or a text that no domain can have. */
  | { kind: 'no-domain' }
  /** There are hosts by name, but DNS says that none of them has an address. Permanent. `ipv6Only`: that can be used. */
  | { kind: 'no-hosts'; detail: string; ipv6Only: boolean }
  /** There are addresses, and we may connect to none of them. */
  | { kind: 'refused'; detail: string }
  /** DNS gave no answer that would settle it. */
  | { kind: 'temporary'; detail: string };

/** Hosts looked up at once, and the most that are looked at before giving up for now. */
const HOSTS_AT_ONCE = 10;
const MAX_HOSTS = 30;
/** Addresses kept per host: more would only prolong an attempt. */
const MAX_ADDRESSES = 16;
const MAX_ASKED_FOR_IPV6 = 5;

type HostLookup =
  | { kind: 'usable'; host: MxHost }
  | { kind: 'filtered'; detail: string; ownAt: number | null }
  | { kind: 'absent'; detail: string }
  | { kind: 'temporary'; detail: string };

/**
 * `domain`: an A-label domain in any case, with or without trailing dot. `ipv6`: also look up AAAA; without it a
 * host that has only IPv6 counts as having no address. Never throws.
 */
export async function resolveMxHosts(
  resolver: Pick<Resolver, 'mx' | 'a' | 'aaaa'>,
  domain: string,
  options: { filter: AddressCheck; random: Random; ipv6: boolean },
): Promise<MxHosts> {
  const name = normalizeName(domain);
  // Also keeps `127.0.0.1` out, which DNS would call NODATA and the implicit MX would then connect to.
  if (!isHostName(name)) return { kind: 'no-domain' };
  const answer = await resolver.mx(name);
  if (answer.kind === 'no-name') return { kind: 'no-domain' };
  if (answer.kind === 'failure') {
    return { kind: 'temporary', detail: `MX of ${name}: ${answer.detail}` };
  }
  const implicit = answer.kind === 'no-data';
  const records = implicit ? [{ preference: 0, exchange: name }] : realRecords(answer.records);
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
    // RFC 5321 §5.1: a server that is an MX itself delivers only to those preferred to it; the others lead back here.
    const ownAt = Math.min(
      ...lookups.flatMap((each) => (each.kind === 'filtered' ? (each.ownAt ?? []) : [])),
    );
    const hosts = lookups.flatMap((lookup) =>
      lookup.kind === 'usable' && lookup.host.preference < ownAt ? lookup.host : [],
    );
    if (hosts.length > 0) {
      const allNames = candidates.map((record) => record.exchange);
      return {
        kind: 'hosts',
        hosts,
        implicit,
        secure: answer.secure,
        ttlSeconds: answer.ttlSeconds,
        allNames,
      };
    }
    dead.push(...lookups);
    if (ownAt < Number.POSITIVE_INFINITY) break;
  }
  const none = withoutHosts(dead);
  if (none.kind !== 'no-hosts' || options.ipv6) return none;
  const named = await withIpv6(resolver, candidates.slice(0, MAX_ASKED_FOR_IPV6));
  return named.length === 0
    ? none
    : { kind: 'no-hosts', detail: `IPv6 addresses only: ${named.join(', ')}`, ipv6Only: true };
}

/** Which of them IPv6 would reach: asked only to say why mail cannot go. */
async function withIpv6(resolver: Pick<Resolver, 'aaaa'>, hosts: readonly MxRecord[]): Promise<string[]> {
  const answers = await Promise.all(hosts.map(({ exchange }) => resolver.aaaa(exchange)));
  return hosts.flatMap(({ exchange }, i) => (answers[i]?.kind === 'found' ? exchange : []));
}

/** A null MX beside real ones is a mistake of theirs and does not count. */
function realRecords(records: readonly MxRecord[]): MxRecord[] {
  return records.filter((record) => record.exchange !== '');
}

/** Valid names, each once at its best preference, ascending, in random order among equals. */
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
  options: { filter: AddressCheck; random: Random; ipv6: boolean },
): Promise<HostLookup> {
  const name = record.exchange;
  const answers: DnsAnswer<string>[] = await Promise.all(
    options.ipv6 ? [resolver.a(name), resolver.aaaa(name)] : [resolver.a(name)],
  );
  const addresses: string[] = [];
  const refusals: string[] = [];
  let isOwn = false;
  for (const answer of answers) {
    if (answer.kind !== 'found') continue;
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
    const secure = answers.every((answer) => answer.kind !== 'failure' && answer.secure);
    const host = {
      name,
      preference: record.preference,
      addresses: addresses.slice(0, MAX_ADDRESSES),
      secure,
    };
    return { kind: 'usable', host };
  }
  const failed = answers.find((answer) => answer.kind === 'failure');
  if (failed?.kind === 'failure') {
    return { kind: 'temporary', detail: `address of ${name}: ${failed.detail}` };
  }
  const [refusal] = refusals;
  if (refusal !== undefined) {
    const fix = isOwn ? ' (where another mail server answers there, name it in allow-networks)' : '';
    return { kind: 'filtered', detail: refusal + fix, ownAt: isOwn ? record.preference : null };
  }
  const families = options.ipv6 ? 'address' : 'IPv4 address';
  return { kind: 'absent', detail: `${name} has no ${families}` };
}

/** Anything unsettled makes the whole temporary; something filtered outranks absence, being ours to explain. */
function withoutHosts(lookups: readonly HostLookup[]): MxHosts {
  const detailsOf = (kind: 'temporary' | 'filtered' | 'absent') =>
    lookups
      .flatMap((lookup) => (lookup.kind === kind ? lookup.detail : []))
      .slice(0, 5)
      .join('; ');
  const temporary = detailsOf('temporary');
  if (temporary) return { kind: 'temporary', detail: temporary };
  const filtered = detailsOf('filtered');
  if (filtered) return { kind: 'refused', detail: filtered };
  return { kind: 'no-hosts', detail: detailsOf('absent'), ipv6Only: false };
}

/** Fisher–Yates on a copy. */
function shuffled<T>(items: readonly T[], random: Random): T[] {
  const left = [...items];
  const out: T[] = [];
  while (left.length > 0) out.push(...left.splice(Math.floor(random.float() * left.length), 1));
  return out;
}
