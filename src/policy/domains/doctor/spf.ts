/**
 * SPF (RFC 7208): reads the record of a host with all its includes, counts the look-ups that a receiver needs, and
 * says for each address that mail leaves from whether it may send. Macros are expanded as for our mail. Records come from
 * strangers, so the tree is limited to 12 records and 30 look-ups, which also ends loops.
 */
import type { DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import { inNetwork, parseIp, parseNetwork } from '../../../net/ip-address.ts';
import { showable } from './check.ts';
import type { SendingAddress } from './instance-facts.ts';
import { expandSpf } from './spf-macros.ts';
import { isSpf, maskedNetwork, parseSpf, type SpfTerm } from './spf-record.ts';

/** A record with the records that its terms refer to. */
export interface SpfNode {
  host: string;
  texts: readonly string[];
  state: 'record' | 'none' | 'several' | 'unreadable' | 'unanswered';
  /** For `unreadable`: a clause about the term. */
  detail: string;
  terms: readonly {
    term: SpfTerm;
    networks: readonly string[];
    child: SpfNode | null;
    unknown: boolean;
    /** A clause about what makes this term, and with it the whole record, an error (`permerror`); null = nothing. */
    fault: string | null;
  }[];
}

/** The record as one sender's mail meets it. */
interface SpfWalk {
  root: SpfNode;
  /** Terms that cause DNS queries (RFC 7208 §4.6.4: at most 10). */
  lookups: number;
  /** Those of them without an answer (at most 2). */
  voids: number;
  failure: Extract<DnsAnswer<string>, { kind: 'failure' }> | null;
}

/** The most of `lookups` and `voids` that any sender's mail costs. */
export interface SpfReport extends SpfWalk {
  /** Terms that are an error, and why. */
  faults: readonly { term: SpfTerm; fault: string }[];
  /** For each address that mail leaves from. */
  results: readonly { address: string; result: SpfResult }[];
}

/** The qualifier of the term that matches, `none`, or `unknown` if it depends on what only the receiver knows. */
type SpfResult = SpfTerm['qualifier'] | 'none' | 'unknown';

/** The look-ups of SPF. */
export interface SpfResolver {
  txt(name: string): Promise<DnsAnswer<string>>;
  a(name: string): Promise<DnsAnswer<string>>;
  aaaa(name: string): Promise<DnsAnswer<string>>;
  mx(name: string): Promise<DnsAnswer<MxRecord>>;
}

/** RFC 7208 §4.6.4: receivers stop at more. */
export const MAX_LOOKUPS = 10;
/** RFC 7208 §4.6.4: an `mx` with more is an error. */
const MAX_MX = 10;
const MAX_NODES = 12;
/** Look-ups that the doctor makes. */
export const MAX_WALKED = 30;
/**
 * Looks up the record of `host`, where the return paths of our mail are, and the records it refers to. `own`: asks the zone's
 * servers; `others`: for included names. `senders`: what mail leaves from; empty = unknown.
 */
export async function walkSpf(
  own: SpfResolver,
  others: SpfResolver,
  host: string,
  senders: readonly SendingAddress[],
): Promise<SpfReport> {
  const first = await walkFor(own, others, host, senders[0] ?? null);
  const walks = [first];
  // Without macros that differ from sender to sender, all see the same.
  for (const sender of first.differs ? senders.slice(1) : [])
    walks.push(await walkFor(own, others, host, sender));
  const faults = walks.flatMap(({ root }) =>
    root.terms.flatMap(({ term, fault }) => (fault === null ? [] : [{ term, fault }])),
  );
  return {
    ...first,
    lookups: Math.max(...walks.map(({ lookups }) => lookups)),
    voids: Math.max(...walks.map(({ voids }) => voids)),
    failure: walks.find(({ failure }) => failure !== null)?.failure ?? null,
    faults: [...new Map(faults.map((each) => [each.fault, each])).values()],
    results: senders.map(({ address }, i) => ({
      address,
      result: evaluateSpf((walks[i] ?? first).root, address),
    })),
  };
}

/** `differs`: another sender's mail may need other look-ups. */
async function walkFor(
  own: SpfResolver,
  others: SpfResolver,
  host: string,
  from: SendingAddress | null,
): Promise<SpfWalk & { differs: boolean }> {
  const report: SpfWalk & { differs: boolean } = {
    ...{ root: nodeOf(host), lookups: 0, voids: 0, failure: null, differs: false },
  };
  let nodes = 0;
  report.root = await walk(host, own, false);
  return report;

  /** `decided`: an earlier term matches our mail. */
  async function walk(at: string, resolver: SpfResolver, decided: boolean): Promise<SpfNode> {
    const node = nodeOf(at);
    if (++nodes > MAX_NODES) return { ...node, state: 'unanswered' };
    const answer = await resolver.txt(at);
    if (answer.kind === 'failure') {
      report.failure ??= answer;
      return { ...node, state: 'unanswered' };
    }
    const texts = answer.kind === 'found' ? answer.records.filter(isSpf) : [];
    const [text] = texts;
    if (text === undefined) {
      if (at !== host) report.voids += answer.kind === 'found' ? 0 : 1;
      return node;
    }
    if (texts.length > 1) return { ...node, texts, state: 'several' };
    const parsed = parseSpf(text);
    if (parsed.kind === 'unreadable') return { ...node, texts, state: 'unreadable', detail: parsed.why };
    const hasAll = parsed.terms.some(({ name }) => name === 'all');
    const terms: SpfNode['terms'][number][] = [];
    let matched = decided;
    for (const term of parsed.terms) {
      // Ignored beside `all`, wherever that is (RFC 7208 §6.1).
      if (term.name === 'redirect' && hasAll) continue;
      const filled = await fill(term, at, resolver, matched);
      terms.push(filled);
      // Terms after `all` are never reached (RFC 7208 §5.1).
      if (term.name === 'all') break;
      matched ||= from !== null && termMatches(filled, from.address) === 'match';
    }
    return { ...node, texts, state: 'record', terms };
  }

  async function fill(
    term: SpfTerm,
    at: string,
    resolver: SpfResolver,
    decided: boolean,
  ): Promise<SpfNode['terms'][number]> {
    const plain = { term, networks: [], child: null, unknown: false, fault: null };
    if (term.name === 'all') return plain;
    if (term.name === 'ip4' || term.name === 'ip6')
      return { ...plain, networks: [maskedNetwork(term.value)] };
    report.lookups += 1;
    if (report.lookups > MAX_WALKED) return { ...plain, unknown: true };
    const macros = { local: null, domain: host, current: at, from };
    const value = expandSpf(term.value, macros);
    if (expandSpf(term.value, { ...macros, from: null }) === null) {
      report.differs = true;
      // A receiver does not get here with our mail, and what others' mail leads to says nothing.
      if (decided) return plain;
    }
    if (value === null) return { ...plain, unknown: true };
    const target = value === '' ? at : value.toLowerCase().replace(/\.$/, '');
    const asks = target === at ? resolver : others;
    switch (term.name) {
      case 'include':
      case 'redirect': {
        const child = await walk(target, others, decided);
        return { ...plain, child, fault: faultOf(child) };
      }
      case 'a':
        return { ...plain, ...(await addresses([target], term, asks)) };
      case 'mx': {
        const answer = await asks.mx(target);
        if (answer.kind === 'failure') return { ...plain, unknown: true };
        if (answer.kind !== 'found') report.voids += 1;
        const hosts = (answer.kind === 'found' ? answer.records : [])
          .map(({ exchange }) => exchange)
          .filter((name) => name !== '');
        const found = await addresses(hosts.slice(0, MAX_MX), term, others, false);
        const crowded = hosts.length > MAX_MX;
        const fault = crowded ? `${showable(target)} has more than ${MAX_MX} MX records` : null;
        return { ...plain, ...found, fault };
      }
      case 'exists': {
        const answer = await asks.a(target);
        if (answer.kind === 'failure') return { ...plain, unknown: true };
        if (answer.kind !== 'found') report.voids += 1;
        // Any record counts, whatever its address (RFC 7208 §5.7).
        return { ...plain, networks: answer.kind === 'found' ? ['0.0.0.0/0', '::/0'] : [] };
      }
      case 'ptr':
        return { ...plain, unknown: true };
    }
  }

  async function addresses(hosts: readonly string[], term: SpfTerm, asks: SpfResolver, counts = true) {
    const networks: string[] = [];
    let unknown = false;
    for (const name of hosts) {
      const [v4, v6] = await Promise.all([asks.a(name), asks.aaaa(name)]);
      if (v4.kind === 'found')
        networks.push(...v4.records.map((ip) => maskedNetwork(`${ip}/${term.prefixes[0]}`)));
      if (v6.kind === 'found')
        networks.push(...v6.records.map((ip) => maskedNetwork(`${ip}/${term.prefixes[1]}`)));
      if (v4.kind === 'failure' || v6.kind === 'failure') unknown = true;
      else if (counts && v4.kind !== 'found' && v6.kind !== 'found') report.voids += 1;
    }
    return { networks: networks.slice(0, 100), unknown };
  }
}

function nodeOf(host: string): SpfNode {
  return { host, texts: [], state: 'none', detail: '', terms: [] };
}

/** What makes a record that another refers to an error of that one, too (RFC 7208 §5.2, §6.1); null = nothing. */
function faultOf({ state, host, detail, terms }: SpfNode): string | null {
  const at = showable(host);
  switch (state) {
    case 'none':
      return `${at} has no SPF record`;
    case 'several':
      return `${at} has several SPF records`;
    case 'unreadable':
      return `the SPF record at ${at} cannot be read (${detail})`;
    case 'record':
      return terms.find(({ fault }) => fault !== null)?.fault ?? null;
    case 'unanswered':
      return null;
  }
}

function evaluateSpf(node: SpfNode, address: string): SpfResult {
  if (node.state === 'unanswered') return 'unknown';
  if (node.state !== 'record') return 'none';
  /** Of the terms that may match. */
  const open = new Set<SpfResult>();
  for (const filled of node.terms) {
    const { qualifier, name } = filled.term;
    if (name === 'redirect') continue;
    const matches = termMatches(filled, address);
    if (matches === 'no match') continue;
    open.add(qualifier);
    if (matches === 'match') return open.size === 1 ? qualifier : 'unknown';
  }
  if (open.size > 0) return 'unknown';
  const redirect = node.terms.findLast(({ term }) => term.name === 'redirect')?.child ?? null;
  return redirect === null ? '?' : evaluateSpf(redirect, address);
}

function termMatches(
  { term, networks, child, unknown }: SpfNode['terms'][number],
  address: string,
): 'match' | 'no match' | 'unknown' {
  if (term.name === 'all') return 'match';
  if (term.name === 'include' && child !== null) {
    const inner = evaluateSpf(child, address);
    return inner === '+' ? 'match' : inner === 'unknown' ? 'unknown' : 'no match';
  }
  const ip = parseIp(address);
  const fits = networks.some((text) => {
    const network = parseNetwork(text);
    return ip !== undefined && network.kind === 'network' && inNetwork(ip, network.network);
  });
  return fits ? 'match' : unknown || ip === undefined ? 'unknown' : 'no match';
}
