/**
 * What the DNS servers say of a name now: follows aliases and limits TTLs. A server that denies a name and the top-level
 * domains too is not believed, because mail to a name that does not exist bounces. Notices when nothing can be learned of
 * any domain.
 */
import type { Askers } from '../lib/asker-line.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Clock } from '../lib/clock.ts';
import type { DnsClient, DnsReply } from './dns-client.ts';
import { type DnsMessage, type DnsRecord, type RecordType, responseCodes } from './dns-codec.ts';
import { zoneOf } from './dns-name.ts';
import type { DnsAnswer } from './dns-types.ts';
import type { DnsServer } from './system-resolvers.ts';

export type Answer = DnsAnswer<DnsRecord>;
export type Kept = Exclude<Answer, { kind: 'failure' }>;
type Failure = Extract<Answer, { kind: 'failure' }>;

/** Minimum and maximum time that a found answer is cached. */
const FOUND_SECONDS = [60, 3_600] as const;
/** The same for "no such record" and "no such name". */
const NEGATIVE_SECONDS = [30, 300] as const;
const MAX_ALIASES = 8;
/** After so many domains without an answer, and none with one, the root is asked. */
const DOMAINS_TO_ASK = 5;
/** Exists in the DNS of the internet, whoever is asked. */
const ALWAYS_THERE = 'com';
/** What a server says of top-level domains is used this long: one that then begins to deny all is believed until it is over. */
const DENIAL_MS = 1_000;
const MAX_DENIALS = 1_000;

/** `isTrusted`: whether the AD bit of a server counts. */
export function createDnsLookup(
  clock: Clock,
  client: DnsClient,
  isTrusted: (server: DnsServer) => boolean,
): { fetch(name: string, type: RecordType, askers: Askers): Promise<Answer>; trouble(): string | null } {
  /** Domains that nothing was learned of since the last answer. */
  const unanswered = new Set<string>();
  /** Whether a server denies a top-level domain; the key is both. */
  const denials = new BoundedMap<string, { untilMs: number; isDenied: Promise<boolean> }>(MAX_DENIALS);
  /** Why nothing can be learned of any domain; null = something can, or it is not known. */
  let trouble: string | null = null;
  return { fetch, trouble: () => trouble };

  async function fetch(name: string, type: RecordType, askers: Askers): Promise<Answer> {
    const seen = new Set([name]);
    let target = name;
    let secure = true;
    let aliasTtlSeconds = Number.POSITIVE_INFINITY;
    for (;;) {
      const reply = await askBelievable(target, type, askers);
      if (reply.kind === 'failure') {
        if (reply.reason !== 'malformed' && reply.reason !== 'local') noteUnanswered(zoneOf(target));
        return reply;
      }
      noteAnswered();
      const { message } = reply;
      secure &&= message.authenticData && isTrusted(reply.server);
      const asked = target;
      const found = message.answers.filter((record) => record.type === type);
      // Follow aliases within this message; resolvers put the whole chain into one answer.
      for (;;) {
        const records = found.filter((record) => record.name === target);
        if (records.length > 0) {
          return {
            ...foundAnswer(records, aliasTtlSeconds, secure),
            ...(target === name ? {} : { alias: target }),
          };
        }
        const alias = message.answers.find((record) => record.type === 'CNAME' && record.name === target);
        if (alias?.type !== 'CNAME') break;
        if (seen.has(alias.target)) return broken(`alias loop at ${alias.target}`);
        if (seen.size > MAX_ALIASES) return broken(`more than ${MAX_ALIASES} aliases`);
        seen.add(alias.target);
        target = alias.target;
        aliasTtlSeconds = Math.min(aliasTtlSeconds, alias.ttlSeconds);
      }
      const isNegative =
        message.responseCode === responseCodes.nameError ||
        message.authority.some((record) => record.type === 'SOA') ||
        target === asked;
      if (isNegative) return negativeAnswer(message, aliasTtlSeconds, secure);
    }
  }

  /** Without answers of servers that deny every domain: such a server lost its way to the DNS of the internet. */
  async function askBelievable(name: string, type: RecordType, askers: Askers): Promise<DnsReply> {
    const liars = new Set<DnsServer>();
    for (;;) {
      const reply = await client.query(name, type, askers, (server) => !liars.has(server));
      if (reply.kind === 'failure') {
        if (liars.size === 0) return reply;
        break;
      }
      if (reply.message.responseCode !== responseCodes.nameError) return reply;
      if (!(await deniesAll(reply.server, name, askers))) return reply;
      liars.add(reply.server);
      client.askLast(reply.server);
    }
    const who = [...liars].map(({ address, port }) => `${address} port ${port}`).join(' and ');
    trouble = `the resolver ${who} denies every domain, even ${ALWAYS_THERE}`;
    return {
      kind: 'failure',
      reason: 'denied',
      detail: `the resolver ${who} says that ${name} does not exist, and that not even ${ALWAYS_THERE} does, so it is not believed`,
    };
  }

  /** A domain of its own, as within a company, is believed to exist by itself. */
  async function deniesAll(server: DnsServer, name: string, askers: Askers): Promise<boolean> {
    const top = name.slice(name.lastIndexOf('.') + 1);
    return (await denies(server, top, askers)) && denies(server, ALWAYS_THERE, askers);
  }

  function denies(server: DnsServer, top: string, askers: Askers): Promise<boolean> {
    const key = `${server.address} ${server.port} ${top}`;
    const now = clock.monotonicMs();
    const known = denials.get(key);
    if (known !== undefined && now < known.untilMs) return known.isDenied;
    const isDenied = client
      .query(top, 'NS', askers, (one) => one === server)
      .then((reply) => reply.kind === 'message' && reply.message.responseCode === responseCodes.nameError);
    denials.set(key, { untilMs: now + DENIAL_MS, isDenied });
    return isDenied;
  }

  function noteAnswered(): void {
    unanswered.clear();
    trouble = null;
  }

  /** Somebody's domains may fail one after the other, but never the root. */
  function noteUnanswered(zone: string): void {
    if (unanswered.size === DOMAINS_TO_ASK || unanswered.add(zone).size < DOMAINS_TO_ASK) return;
    void client.query('', 'NS').then((reply) => {
      if (reply.kind !== 'failure') noteAnswered();
      else if (unanswered.size === DOMAINS_TO_ASK)
        trouble = `the DNS gives no usable answer for any domain (${reply.detail})`;
    });
  }
}

function foundAnswer(records: DnsRecord[], aliasTtlSeconds: number, secure: boolean): Kept {
  const ttl = records.reduce((least, record) => Math.min(least, record.ttlSeconds), aliasTtlSeconds);
  const ttlSeconds = clamp(ttl, FOUND_SECONDS);
  return { kind: 'found', records, ttlSeconds, resolverTtlSeconds: ttl, secure };
}

function negativeAnswer(message: DnsMessage, aliasTtlSeconds: number, secure: boolean): Kept {
  // RFC 2308 §5: the lesser of the SOA's own TTL and its minimum field.
  const soa = message.authority.find((record) => record.type === 'SOA');
  const ttl = soa?.type === 'SOA' ? Math.min(soa.ttlSeconds, soa.minimumSeconds, aliasTtlSeconds) : 0;
  const kind = message.responseCode === responseCodes.nameError ? 'no-name' : 'no-data';
  const ttlSeconds = clamp(ttl, NEGATIVE_SECONDS);
  return { kind, ttlSeconds, ...(soa === undefined ? {} : { resolverTtlSeconds: ttl }), secure };
}

function broken(detail: string): Failure {
  return { kind: 'failure', reason: 'malformed', detail };
}

function clamp(value: number, [least, most]: readonly [number, number]): number {
  return Math.min(most, Math.max(least, value));
}
