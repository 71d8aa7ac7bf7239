/**
 * The resolver that everything uses: caches what the servers say (dns-lookup.ts), and asks them once for concurrent
 * callers. If no server answers, an answer that expired up to six hours ago is returned (RFC 8767), except NXDOMAIN: it
 * makes mail bounce, so it must be fresh. Failures are cached only for a moment (RFC 9520). The cache is limited in entries
 * and bytes; the least recently used entries are removed first.
 */
import { type Askers, createAskers } from '../lib/asker-line.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Clock } from '../lib/clock.ts';
import { isLoopbackAddress } from '../lib/loopback.ts';
import type { Random } from '../lib/random.ts';
import { createDnsClient, type DnsClient, type DnsClientOptions } from './dns-client.ts';
import type { DnsRecord, RecordType } from './dns-codec.ts';
import { type Answer, createDnsLookup, type Kept } from './dns-lookup.ts';
import { normalizeName } from './dns-name.ts';
import type { CaaRecord, DnsAnswer, MxRecord, Resolver, TlsaRecord } from './dns-types.ts';
import { reverseName } from './ip-address.ts';
import type { DnsServer } from './system-resolvers.ts';

export interface ResolverOptions extends DnsClientOptions {
  /** How long a failure is cached, so that a broken name is not asked for in a loop. Default 1,000. */
  failureMs?: number;
  /** Default 10,000 entries and 32 MiB of text, as `heldBytes` counts it. */
  maxEntries?: number;
  maxCacheBytes?: number;
}

/** Look-ups of all types, with those that only some callers need. */
export interface FullResolver extends Resolver {
  /** DANE records (RFC 6698); the caller builds `_25._tcp.<host>` and must check `secure`. */
  tlsa(name: string): Promise<DnsAnswer<TlsaRecord>>;
  /** Name servers of a zone; none if the name is an alias. */
  ns(name: string): Promise<DnsAnswer<string>>;
  /** Who may issue certificates for exactly this name; the caller asks for its parents (RFC 8659 §3). */
  caa(name: string): Promise<DnsAnswer<CaaRecord>>;
}

export interface CachingResolver extends FullResolver {
  /**
   * Look-ups for a person who has just changed a record: what was asked for before this call is not used, whatever its
   * lifetime, and an old answer does not stand in for a failure. Each question is asked once, and its answer is cached for all.
   */
  fresh(asker?: string): FullResolver;
  /** The same look-ups as `ResolverByAsker`; those above are this server's own. */
  of(asker: string): FullResolver;
  /** Why nothing can be learned of any domain, the root included, as far as the last look-ups tell; null = something can. */
  trouble(): string | null;
  /** Drops all types of `name`, or everything; the results of running queries are not cached either. */
  flush(name?: string): void;
  /** Ends running queries with a failure and drops everything. */
  close(): void;
}

interface Entry {
  answer: Answer;
  /** When it was asked for, in the order of all questions. */
  question: number;
  askedAtMs: number;
  bytes: number;
  freshUntilMs: number;
  staleUntilMs: number;
}

/** Where fresh look-ups begin: answers to this question and earlier ones are not used. What failed is not asked again. */
interface Since {
  question: number;
  failed: Map<string, Answer>;
}

/** A question under way. `fetched` is what the servers said; `served` may be an old answer in place of a failure. */
interface Flight {
  question: number;
  /** For whom it is asked. */
  askers: Askers;
  done: Promise<{ fetched: Answer; served: Answer }>;
}

/** How long after its expiry an answer may be used while no server answers. */
const STALE_MS = 6 * 3_600_000;
/** Of a record, beside its texts. */
const RECORD_BYTES = 100;
/** After a failed refresh, the old answer is used this long before the servers are asked again (RFC 8767 §5). */
const STALE_RECHECK_MS = 30_000;

/**
 * `trustedAd`: trust the AD bit of all `servers`; default: only of those on loopback, since anyone on the network path
 * could set it. `client`: for tests, instead of the network.
 */
export function createResolver(
  deps: {
    clock: Clock;
    random: Random;
    servers: () => readonly DnsServer[];
    trustedAd?: boolean;
    client?: DnsClient;
  },
  options: ResolverOptions = {},
): CachingResolver {
  const { clock, trustedAd = false } = deps;
  const { failureMs = 1000, maxEntries = 10_000, maxCacheBytes = 32 * 1024 * 1024 } = options;
  const client = deps.client ?? createDnsClient(deps, options);
  const lookup = createDnsLookup(clock, client, (server) => trustedAd || isLoopbackAddress(server.address));
  /** Keys are `TYPE name`, the oldest the one used longest ago. */
  const cache = new BoundedMap<string, Entry>(maxEntries);
  const flights = new Map<string, Flight>();
  let cachedBytes = 0;
  let questions = 0;

  /** `since` null: every answer that has not expired is used. */
  async function lookUp(name: string, type: RecordType, since: Since | null, asker: string): Promise<Answer> {
    const normalized = normalizeName(name);
    const local = localhostAnswer(normalized, type);
    if (local) return local;
    const key = `${type} ${normalized}`;
    const mayUse = ({ question }: { question: number }) => since === null || question > since.question;
    const failed = since?.failed.get(key);
    if (failed !== undefined) return failed;
    const entry = cache.get(key);
    if (entry && mayUse(entry) && clock.monotonicMs() < entry.freshUntilMs) {
      cache.set(key, entry);
      return served(entry);
    }
    let flight = flights.get(key);
    if (flight === undefined || !mayUse(flight)) {
      flight = startFlight(key, normalized, type, asker);
      flights.set(key, flight);
    } else flight.askers.add(asker);
    const answers = await flight.done;
    if (since === null) return answers.served;
    if (answers.fetched.kind === 'failure') since.failed.set(key, answers.fetched);
    return answers.fetched;
  }

  function startFlight(key: string, name: string, type: RecordType, asker: string): Flight {
    questions += 1;
    const question = questions;
    const askers = createAskers(asker);
    const done = lookup.fetch(name, type, askers).then((answer) => {
      // Flushed or asked anew meanwhile: correct for those who waited, but must not be cached.
      if (flights.get(key)?.question !== question) return { fetched: answer, served: answer };
      flights.delete(key);
      return { fetched: answer, served: settle(key, answer, question) };
    });
    return { question, askers, done };
  }

  /** Caches what was fetched. Returns it, or what was known before if that may be used in place of a failure. */
  function settle(key: string, answer: Answer, question: number): Answer {
    const now = clock.monotonicMs();
    const asked = { question, askedAtMs: now };
    if (answer.kind !== 'failure') {
      const freshUntilMs = now + answer.ttlSeconds * 1000;
      const staleUntilMs = answer.kind === 'no-name' ? 0 : freshUntilMs + STALE_MS;
      return keep(key, {
        answer,
        ...asked,
        bytes: heldBytes(answer),
        freshUntilMs,
        staleUntilMs,
      });
    }
    const old = cache.get(key);
    // Only who wants nothing older asked again.
    if (old && now < old.freshUntilMs) return served(old);
    if (old && now < old.staleUntilMs) {
      return keep(key, {
        ...old,
        freshUntilMs: Math.min(now + STALE_RECHECK_MS, old.staleUntilMs),
      });
    }
    const freshUntilMs = now + failureMs;
    return keep(key, { answer, ...asked, bytes: 0, freshUntilMs, staleUntilMs: 0 });
  }

  function keep(key: string, entry: Entry): Answer {
    drop(key);
    cachedBytes += entry.bytes;
    while (cache.size >= maxEntries || cachedBytes > maxCacheBytes) {
      const oldest = cache.shift();
      if (oldest === undefined) break;
      cachedBytes -= oldest.bytes;
    }
    cache.set(key, entry);
    return served(entry);
  }

  function drop(key: string): void {
    cachedBytes -= cache.get(key)?.bytes ?? 0;
    cache.delete(key);
  }

  function served(entry: Entry): Answer {
    if (entry.answer.kind === 'failure') return entry.answer;
    const now = clock.monotonicMs();
    const { resolverTtlSeconds: atFirst, ...answer } = entry.answer;
    const left = atFirst === undefined ? 0 : atFirst - Math.floor((now - entry.askedAtMs) / 1000);
    const lifetime = {
      ttlSeconds: Math.max(1, Math.ceil((entry.freshUntilMs - now) / 1000)),
      ...(left > 0 ? { resolverTtlSeconds: left } : {}),
    };
    return { ...answer, ...lifetime };
  }

  function lookUps(since: Since | null, asker: string): FullResolver {
    async function records<T>(
      name: string,
      type: RecordType,
      pick: (record: DnsRecord) => T | undefined,
    ): Promise<DnsAnswer<T>> {
      const answer = await lookUp(name, type, since, asker);
      if (answer.kind !== 'found') return answer;
      const picked: T[] = [];
      for (const record of answer.records) {
        const value = pick(record);
        if (value !== undefined) picked.push(value);
      }
      return { ...answer, records: picked };
    }

    return {
      mx: (name) => records<MxRecord>(name, 'MX', mxOf),
      txt: (name) => records(name, 'TXT', (record) => (record.type === 'TXT' ? record.text : undefined)),
      a: (name) => records(name, 'A', addressOf),
      aaaa: (name) => records(name, 'AAAA', addressOf),
      cname: (name) => records(name, 'CNAME', targetOf),
      ns: (name) =>
        records(name, 'NS', (record) => (record.name === normalizeName(name) ? targetOf(record) : undefined)),
      caa: (name) => records<CaaRecord>(name, 'CAA', caaOf),
      tlsa: (name) => records<TlsaRecord>(name, 'TLSA', tlsaOf),
      async ptr(address) {
        const name = reverseName(address);
        if (name === undefined) return { kind: 'failure', reason: 'malformed', detail: 'not an IP address' };
        return records(name, 'PTR', targetOf);
      },
    };
  }

  return {
    ...lookUps(null, ''),
    of: (asker) => lookUps(null, asker),
    fresh: (asker = '') => lookUps({ question: questions, failed: new Map() }, asker),
    trouble: lookup.trouble,
    flush(name) {
      if (name === undefined) return clear();
      const suffix = ` ${normalizeName(name)}`;
      for (const key of [...cache.keys()]) if (key.endsWith(suffix)) drop(key);
      for (const key of [...flights.keys()]) if (key.endsWith(suffix)) flights.delete(key);
    },
    close() {
      clear();
      client.close();
    },
  };

  function clear(): void {
    cache.clear();
    flights.clear();
    cachedBytes = 0;
  }
}

/** About how much memory an answer takes. Names are compressed on the wire, so its size there says nothing. */
function heldBytes(answer: Kept): number {
  if (answer.kind !== 'found') return 0;
  let sum = 0;
  for (const record of answer.records) {
    sum += RECORD_BYTES;
    for (const value of Object.values(record))
      if (typeof value === 'string' || value instanceof Uint8Array) sum += value.length;
  }
  return sum;
}

const targetOf = (record: DnsRecord) => ('target' in record ? record.target : undefined);
const addressOf = (record: DnsRecord) => ('address' in record ? record.address : undefined);

function mxOf(record: DnsRecord): MxRecord | undefined {
  return record.type === 'MX' ? { preference: record.preference, exchange: record.exchange } : undefined;
}

function tlsaOf(record: DnsRecord): TlsaRecord | undefined {
  if (record.type !== 'TLSA') return undefined;
  const { usage, selector, matching, data } = record;
  return { usage, selector, matching, data };
}

function caaOf(record: DnsRecord): CaaRecord | undefined {
  return record.type === 'CAA' ? { tag: record.tag, value: record.value } : undefined;
}

/** `localhost` is answered here and never looked up (RFC 6761 §6.3): the address filter then decides about loopback. */
function localhostAnswer(name: string, type: RecordType): Answer | undefined {
  if (name !== 'localhost' && !name.endsWith('.localhost')) return undefined;
  const fixed = { ttlSeconds: 3600, secure: false };
  if (type !== 'A' && type !== 'AAAA') return { kind: 'no-data', ...fixed };
  const address = type === 'A' ? '127.0.0.1' : '::1';
  return { kind: 'found', records: [{ name, ttlSeconds: 3600, type, address }], ...fixed };
}
