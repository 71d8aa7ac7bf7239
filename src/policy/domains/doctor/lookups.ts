/**
 * The look-ups of one run of the doctor: asks the name servers of the zone first, then the resolver, and compares the
 * two. Given a resolver and the servers of the zone, if they can be asked; returns the answer of the zone and, for
 * each record, what others still see. Limited in number and time; a look-up over the limit is a failure like any other
 * and says nothing about the record. Never throws.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { RecordType } from '../../../net/dns-codec.ts';
import type { CaaRecord, DnsAnswer, MxRecord, Resolver } from '../../../net/dns-types.ts';
import type { ZoneAnswer, ZoneServers } from '../../../net/zone-servers.ts';

/** The look-ups of the doctor; the server's resolver has all of them. */
export interface DoctorResolver extends Resolver {
  caa?(name: string): Promise<DnsAnswer<CaaRecord>>;
  /** Look-ups for a sender domain. `fresh`: that use nothing that was asked for before. */
  of?(asker: string): DoctorResolver;
  fresh?(asker: string): DoctorResolver;
}

/** The zone's servers and a resolver's cache differ. */
export interface Difference {
  /** What others still see; empty: no record. */
  others: readonly string[];
  /** For at most this long. */
  ttlSeconds: number;
}

/** An answer that only a resolver gave: it may be older than what the zone says now. */
export interface Remembered {
  kind: 'record' | 'missing';
  /** How long the resolver may go on giving it; null = not known. */
  seconds: number | null;
}

export interface Lookups extends Pick<Resolver, 'txt' | 'mx' | 'a' | 'aaaa' | 'cname'> {
  /** Names of other people: only the resolver, within the same limits. */
  readonly others: Pick<Resolver, 'txt' | 'mx' | 'a' | 'aaaa' | 'cname' | 'ptr'>;
  caa(name: string): Promise<DnsAnswer<CaaRecord>>;
  /** The aliases of a name, without the name itself; `loop` if they form one. */
  aliases(name: string): Promise<{ chain: readonly string[]; loop: boolean }>;
  /** Whether the zone has records of a type at a name that is an alias, which is not allowed. */
  besideAlias(name: string, type: RecordType): Promise<boolean>;
  /** The differences found so far, by `TYPE name`. */
  readonly differences: ReadonlyMap<string, Difference>;
  /** The answers so far that no server of the zone gave, by `TYPE name`. */
  readonly remembered: ReadonlyMap<string, Remembered>;
}

export interface LookupLimits {
  /** Look-ups per run. Default 120. */
  maxQuestions?: number;
  /** No look-up starts after this. Default 20,000. */
  forMs?: number;
}

const MAX_ALIASES = 8;

export function createLookups(
  deps: { resolver: DoctorResolver; zone: Pick<ZoneServers, 'ask'> | null; clock: Clock },
  limits: LookupLimits = {},
): Lookups {
  const { resolver, zone, clock } = deps;
  const { maxQuestions = 120, forMs = 20_000 } = limits;
  const endMs = clock.monotonicMs() + forMs;
  const asked = new Map<string, Promise<unknown>>();
  const differences = new Map<string, Difference>();
  const remembered = new Map<string, Remembered>();
  let questions = 0;

  /** Makes one look-up per key, however often it is needed. */
  function once<T>(key: string, ask: () => Promise<T>, over: T): Promise<T> {
    const known = asked.get(key);
    // A key always holds the result of the same kind of look-up.
    if (known !== undefined) return known as Promise<T>;
    questions += 1;
    const answer = questions > maxQuestions || clock.monotonicMs() > endMs ? Promise.resolve(over) : ask();
    asked.set(key, answer);
    return answer;
  }

  const over = {
    kind: 'failure',
    reason: 'timeout',
    detail: 'the bound of one check is reached',
  } as const;
  const other = <T>(type: string, name: string, ask: () => Promise<DnsAnswer<T>>): Promise<DnsAnswer<T>> =>
    once<DnsAnswer<T>>(
      `other ${type} ${name}`,
      async () => {
        const answer = await ask();
        noteRemembered(`${type} ${name}`, answer);
        return answer;
      },
      over,
    );
  const others = {
    txt: (name: string) => other('TXT', name, () => resolver.txt(name)),
    mx: (name: string) => other('MX', name, () => resolver.mx(name)),
    a: (name: string) => other('A', name, () => resolver.a(name)),
    aaaa: (name: string) => other('AAAA', name, () => resolver.aaaa(name)),
    cname: (name: string) => other('CNAME', name, () => resolver.cname(name)),
    ptr: (name: string) => other('PTR', name, () => resolver.ptr(name)),
  };

  function askZone(type: RecordType, name: string): Promise<ZoneAnswer> {
    if (zone === null) return Promise.resolve(over);
    return once<ZoneAnswer>(`zone ${type} ${name}`, () => zone.ask(name, type), over);
  }

  async function both<T>(
    type: RecordType,
    name: string,
    ofOthers: (name: string) => Promise<DnsAnswer<T>>,
    read: (record: Extract<ZoneAnswer, { kind: 'found' }>['records'][number]) => T | undefined,
  ): Promise<DnsAnswer<T>> {
    const [fresh, theirs] = await Promise.all([askZone(type, name), ofOthers(name)]);
    const zoneSays = await fromZone(fresh, ofOthers, read);
    if (zoneSays === null) return theirs;
    if (fresh.kind === 'alias') noteRemembered(`${type} ${name}`, zoneSays);
    else remembered.delete(`${type} ${name}`);
    noteDifference(`${type} ${name}`, zoneSays, theirs);
    return zoneSays;
  }

  /** The zone's answer in the form of a resolver's; null if there is none. */
  async function fromZone<T>(
    answer: ZoneAnswer,
    ofOthers: (name: string) => Promise<DnsAnswer<T>>,
    read: (record: Extract<ZoneAnswer, { kind: 'found' }>['records'][number]) => T | undefined,
  ): Promise<DnsAnswer<T> | null> {
    switch (answer.kind) {
      case 'found': {
        const records = answer.records.map(read).filter((value) => value !== undefined);
        return { kind: 'found', records, ttlSeconds: answer.ttlSeconds, secure: false };
      }
      // The target is usually in somebody else's zone.
      case 'alias':
        return ofOthers(answer.target);
      case 'no-data':
      case 'no-name':
        return { kind: answer.kind, ttlSeconds: answer.ttlSeconds, secure: false };
      case 'failure':
        return null;
    }
  }

  function noteRemembered(key: string, answer: DnsAnswer<unknown>): void {
    if (answer.kind === 'failure') return;
    remembered.set(key, {
      kind: answer.kind === 'found' ? 'record' : 'missing',
      seconds: answer.resolverTtlSeconds ?? null,
    });
  }

  function noteDifference(key: string, fresh: DnsAnswer<unknown>, theirs: DnsAnswer<unknown>): void {
    // A failure says nothing, so it is not a difference.
    if (fresh.kind === 'failure' || theirs.kind === 'failure') return;
    const texts = textsOf(theirs);
    if (textsOf(fresh).sort().join('\n') === [...texts].sort().join('\n')) return;
    const ttlSeconds = theirs.resolverTtlSeconds ?? theirs.ttlSeconds;
    differences.set(key, { others: texts, ttlSeconds });
  }

  const text = (record: { type: string }) =>
    'text' in record && typeof record.text === 'string' ? record.text : undefined;

  const lookups: Lookups = {
    others,
    differences,
    remembered,
    txt: (name) => both('TXT', name, others.txt, text),
    mx: (name) =>
      both<MxRecord>('MX', name, others.mx, (record) =>
        record.type === 'MX' ? { preference: record.preference, exchange: record.exchange } : undefined,
      ),
    a: (name) => both('A', name, others.a, (record) => (record.type === 'A' ? record.address : undefined)),
    aaaa: (name) =>
      both('AAAA', name, others.aaaa, (record) => (record.type === 'AAAA' ? record.address : undefined)),
    cname: (name) =>
      both('CNAME', name, others.cname, (record) => (record.type === 'CNAME' ? record.target : undefined)),
    caa(name) {
      const ask = resolver.caa;
      if (ask === undefined) return Promise.resolve(over);
      return other('CAA', name, () => ask(name));
    },
    async aliases(name) {
      const chain: string[] = [];
      for (let at = name; chain.length <= MAX_ALIASES; ) {
        const answer = await lookups.cname(at);
        const target = answer.kind === 'found' ? answer.records[0] : undefined;
        if (target === undefined) return { chain, loop: false };
        if (target === name || chain.includes(target)) return { chain: [...chain, target], loop: true };
        chain.push(target);
        at = target;
      }
      return { chain, loop: true };
    },
    async besideAlias(name, type) {
      const [alias, records] = await Promise.all([askZone('CNAME', name), askZone(type, name)]);
      return alias.kind === 'found' && records.kind === 'found';
    },
  };
  return lookups;
}

/** The records as texts that can be compared and shown. */
function textsOf(answer: DnsAnswer<unknown>): string[] {
  if (answer.kind !== 'found') return [];
  return answer.records.map((record) =>
    typeof record === 'string'
      ? record
      : record !== null && typeof record === 'object'
        ? Object.values(record).join(' ')
        : String(record),
  );
}
