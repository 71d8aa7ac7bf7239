/**
 * Asks the servers of a zone directly: their answers are current, while a resolver's cache may be as old as the TTL.
 *
 * Takes a resolver to find the zone and the addresses of its servers, and a filter for those addresses, because the
 * owner of the zone chooses them. Returns the records at one name, or why they are unknown. Servers that are silent,
 * lame or refuse are skipped. Created for one check of a few names; its results never expire.
 */
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import type { AddressCheck } from './address-filter.ts';
import { createDnsClient, type DnsClient } from './dns-client.ts';
import { type DnsRecord, type RecordType, responseCodes } from './dns-codec.ts';
import { normalizeName } from './dns-name.ts';
import type { DnsAnswer, DnsFailureReason, Resolver } from './dns-types.ts';
import type { DnsServer } from './system-resolvers.ts';

/** What the zone says at exactly this name; aliases are not followed. */
export type ZoneAnswer =
  | { kind: 'found'; records: readonly DnsRecord[]; ttlSeconds: number }
  /** The name is an alias: the records are those of `target`. */
  | { kind: 'alias'; target: string; ttlSeconds: number }
  | { kind: 'no-data' | 'no-name'; ttlSeconds: number }
  | { kind: 'failure'; reason: DnsFailureReason; detail: string };

export interface ZoneServers {
  /** Never throws. */
  ask(name: string, type: RecordType): Promise<ZoneAnswer>;
  /** Ends running queries. */
  close(): void;
}

type Zone = { kind: 'zone'; client: DnsClient } | Extract<ZoneAnswer, { kind: 'failure' }>;

const MAX_SERVERS = 4;
const MAX_CLIMB = 10;

/** `port`: 53 except in tests. */
export function createZoneServers(
  deps: {
    resolver: Pick<Resolver, 'a' | 'aaaa'> & { ns(name: string): Promise<DnsAnswer<string>> };
    filter: AddressCheck;
    clock: Clock;
    random: Random;
  },
  options: { port?: number } = {},
): ZoneServers {
  const { resolver, filter, clock, random } = deps;
  const { port = 53 } = options;
  /** By the name reached on the way up, so that names of one zone share one search. */
  const zones = new Map<string, Promise<Zone>>();
  const clients: DnsClient[] = [];

  async function ask(name: string, type: RecordType): Promise<ZoneAnswer> {
    const asked = normalizeName(name);
    const zone = await zoneOf(asked, MAX_CLIMB);
    if (zone.kind === 'failure') return zone;
    const reply = await zone.client.query(asked, type);
    if (reply.kind === 'failure') return reply;
    const { answers, authority, responseCode } = reply.message;
    const own = answers.filter((record) => record.name === asked && record.type === type);
    if (own.length > 0) {
      return { kind: 'found', records: own, ttlSeconds: Math.min(...own.map((each) => each.ttlSeconds)) };
    }
    const alias = answers.find((record) => record.name === asked && record.type === 'CNAME');
    if (alias?.type === 'CNAME') {
      return { kind: 'alias', target: alias.target, ttlSeconds: alias.ttlSeconds };
    }
    const soa = authority.find((record) => record.type === 'SOA');
    const ttlSeconds = soa?.type === 'SOA' ? Math.min(soa.ttlSeconds, soa.minimumSeconds) : 0;
    return { kind: responseCode === responseCodes.nameError ? 'no-name' : 'no-data', ttlSeconds };
  }

  function zoneOf(name: string, climb: number): Promise<Zone> {
    const known = zones.get(name);
    if (known !== undefined) return known;
    const found = findZone(name, climb);
    zones.set(name, found);
    return found;
  }

  /** The closest parent name that has name servers. */
  async function findZone(name: string, climb: number): Promise<Zone> {
    const answer = await resolver.ns(name);
    if (answer.kind === 'failure') return answer;
    if (answer.kind === 'found' && answer.records.length > 0) return openZone(answer.records);
    const dot = name.indexOf('.');
    // A name with one label is a top-level domain.
    if (climb === 0 || dot < 0 || !name.slice(dot + 1).includes('.')) return nobody('no zone was found');
    return zoneOf(name.slice(dot + 1), climb - 1);
  }

  async function openZone(names: readonly string[]): Promise<Zone> {
    const answers = await Promise.all(
      names.slice(0, MAX_SERVERS).map(async (name) => {
        const v4 = await resolver.a(name);
        if (v4.kind === 'found') return v4.records.slice(0, 2);
        const v6 = await resolver.aaaa(name);
        return v6.kind === 'found' ? v6.records.slice(0, 2) : [];
      }),
    );
    const servers: DnsServer[] = [];
    for (const address of new Set(answers.flat())) {
      if (servers.length < MAX_SERVERS && filter.check(address).allowed) servers.push({ address, port });
    }
    if (servers.length === 0) return nobody('none of its name servers has an address that may be asked');
    const client = createDnsClient({ clock, random, servers: () => servers }, { recursion: false, tries: 1 });
    clients.push(client);
    return { kind: 'zone', client };
  }

  return {
    ask,
    close() {
      for (const client of clients) client.close();
    },
  };
}

function nobody(detail: string): Extract<ZoneAnswer, { kind: 'failure' }> {
  return { kind: 'failure', reason: 'network', detail };
}
