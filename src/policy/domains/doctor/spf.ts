/**
 * SPF (RFC 7208): reads the record of a host with all its includes, counts the look-ups that a receiver needs, and
 * says for each address that mail leaves from whether it may send. Macros are expanded as for our mail. Records come from
 * strangers, so the tree is limited to 12 records and 30 look-ups, which also ends loops.
 */
import type { DnsAnswer, MxRecord } from '../../../net/dns-types.ts';
import { formatIp, inNetwork, parseIp, parseNetwork } from '../../../net/ip-address.ts';
import { type DomainCheck, type OpenCheck, openCheck, showable } from './check.ts';
import type { SendingAddress } from './instance-facts.ts';
import { expandSpf, isDomainSpec, withoutMacros } from './spf-macros.ts';

export interface SpfTerm {
  /** Result if it matches: `+` pass, `-` fail, `~` soft fail, `?` neutral. */
  qualifier: '+' | '-' | '~' | '?';
  /** Mechanism, or the modifier `redirect`; lower case. */
  name: 'all' | 'include' | 'a' | 'mx' | 'ptr' | 'ip4' | 'ip6' | 'exists' | 'redirect';
  /** The text after the colon or equals sign, lower case except in macros; '' if there is none. */
  value: string;
  /** Prefix lengths after a slash, for IPv4 and IPv6. */
  prefixes: readonly [v4: number, v6: number];
}

export type SpfParsed =
  | { kind: 'record'; terms: readonly SpfTerm[] }
  /** `why`: a clause about the first term that makes the whole record invalid (RFC 7208 §4.6). */
  | { kind: 'unreadable'; why: string };

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

/** A relay in use. `include`: the name under which its provider publishes its addresses; null = unknown. */
export interface SpfRelay {
  host: string;
  include: string | null;
}

/** The look-ups of SPF. */
export interface SpfResolver {
  txt(name: string): Promise<DnsAnswer<string>>;
  a(name: string): Promise<DnsAnswer<string>>;
  aaaa(name: string): Promise<DnsAnswer<string>>;
  mx(name: string): Promise<DnsAnswer<MxRecord>>;
}

const MAX_LOOKUPS = 10;
const MAX_VOIDS = 2;
/** RFC 7208 §4.6.4: an `mx` with more is an error. */
const MAX_MX = 10;
const MAX_NODES = 12;
const MAX_WALKED = 30;
/** More than any record needs; the rest of a longer text is ignored. */
const MAX_TEXT = 16_384;
const VERSION = /^v=spf1(?: |$)/i;
const TERM = /^([-+~?]?)(all|include|a|mx|ptr|ip4|ip6|exists)(?::(.*?))?((?:\/\d{1,3})?(?:\/\/\d{1,3})?)$/i;
const MODIFIER = /^([a-z][a-z0-9_.-]*)=(\S*)$/i;

/** Whether a text is an SPF record. */
export function isSpf(text: string): boolean {
  return VERSION.test(text.slice(0, MAX_TEXT));
}

/** The terms of a record for which `isSpf` is true. */
export function parseSpf(text: string): SpfParsed {
  const terms: SpfTerm[] = [];
  const modifiers = new Set<string>();
  const wrong = (why: string): SpfParsed => ({ kind: 'unreadable', why });
  for (const word of text.slice(0, MAX_TEXT).split(' ').slice(1)) {
    if (word === '') continue;
    const modifier = MODIFIER.exec(word);
    const name = lower(modifier?.[1]);
    // Others are ignored, however often they occur (RFC 7208 §6).
    if (modifier !== null && name !== 'redirect' && name !== 'exp') continue;
    if (modifiers.has(name)) return wrong(`it has ${name}= twice`);
    const term = modifier === null ? readTerm(word) : readModifier(lowerName(modifier[2]));
    if (term === null) return wrong(`"${showable(word)}" is not a term of SPF`);
    if (modifier !== null) modifiers.add(name);
    // `exp=` only explains a refusal.
    if (name !== 'exp') terms.push(term);
  }
  return { kind: 'record', terms };
}

function readModifier(value: string): SpfTerm | null {
  return isDomainSpec(value) ? { qualifier: '+', name: 'redirect', value, prefixes: [32, 128] } : null;
}

/** Lower case, except for macros: the case of their letters has a meaning. */
function lowerName(text: string | undefined): string {
  return text?.includes('%') ? text : lower(text);
}

function readTerm(word: string): SpfTerm | null {
  const ip = /^([-+~?]?)(ip4|ip6):(\S+)$/i.exec(word);
  if (ip !== null) {
    const name = lower(ip[2]) === 'ip4' ? 'ip4' : 'ip6';
    const value = lower(ip[3]);
    const network = parseNetwork(loose(value));
    if (network.kind === 'invalid' || value.includes(':') !== (name === 'ip6')) return null;
    return { qualifier: sign(ip[1]), name, value, prefixes: [32, 128] };
  }
  const found = TERM.exec(word);
  if (found === null) return null;
  const [, qualifier, kind, value, slashes = ''] = found;
  const name = lower(kind) as Exclude<SpfTerm['name'], 'redirect'>;
  if (withoutMacros(value ?? '').includes('/') || (slashes !== '' && name !== 'a' && name !== 'mx'))
    return null;
  if (name === 'ip4' || name === 'ip6') return null;
  if (value === undefined ? name === 'include' || name === 'exists' : !isDomainSpec(value)) return null;
  if (name === 'all' && value !== undefined) return null;
  const [, v4, v6] = /^(?:\/(\d+))?(?:\/\/(\d+))?$/.exec(slashes) ?? [];
  const prefixes = [Number(v4 ?? 32), Number(v6 ?? 128)] as const;
  if (prefixes[0] > 32 || prefixes[1] > 128) return null;
  return { qualifier: sign(qualifier), name, value: lowerName(value), prefixes };
}

/** `192.0.2.1/24`: receivers mask the bits after the prefix; our strict reader of networks would refuse them. */
function loose(value: string): string {
  const slash = value.indexOf('/');
  if (slash < 0) return value;
  const ip = parseIp(value.slice(0, slash));
  const bits = Number(value.slice(slash + 1));
  if (ip === undefined || !/^\d{1,3}$/.test(value.slice(slash + 1)) || bits > ip.bytes.length * 8)
    return value;
  const bytes = ip.bytes.map((byte, i) => byte & (0xff00 >> Math.min(8, Math.max(0, bits - i * 8))) & 0xff);
  return `${formatIp(bytes)}/${bits}`;
}

function sign(text: string | undefined): SpfTerm['qualifier'] {
  return text === '-' || text === '~' || text === '?' ? text : '+';
}

function lower(text: string | undefined): string {
  return (text ?? '').toLowerCase();
}

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
    if (term.name === 'ip4' || term.name === 'ip6') return { ...plain, networks: [loose(term.value)] };
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
    const target = value === '' ? at : lower(value).replace(/\.$/, '');
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
      if (v4.kind === 'found') networks.push(...v4.records.map((ip) => loose(`${ip}/${term.prefixes[0]}`)));
      if (v6.kind === 'found') networks.push(...v6.records.map((ip) => loose(`${ip}/${term.prefixes[1]}`)));
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

/** Checks the record at `report.root.host`. */
export function judgeSpf(
  report: SpfReport,
  params: {
    id: string;
    expected: string;
    /** Absent = none. */
    relays?: readonly SpfRelay[];
    informational?: boolean;
  },
): DomainCheck {
  const { root } = report;
  const { expected } = params;
  const addresses = report.results.map(({ address }) => address);
  const host = showable(root.host);
  const check = openCheck(params.id, 'TXT', root.host, { expected, found: root.texts });
  const fail = params.informational === true ? check.warn : check.fail;
  switch (root.state) {
    case 'unanswered':
      if (report.failure !== null) check.unanswered(root.host, report.failure.reason);
      else {
        check.unknown(
          `The SPF record at ${host} includes too much to be read to its end.`,
          'Remove includes that are no longer used.',
        );
      }
      return check.done();
    case 'none':
      if (params.informational === true) {
        return check.done(`${host} has no SPF record; return paths are elsewhere, so none is needed here.`);
      }
      fail(`There is no SPF record at ${host}, the host of the return paths.`, publish(host, expected));
      return check.done();
    case 'several':
      fail(
        `There are ${root.texts.length} SPF records at ${host}; with more than one, none counts.`,
        'Merge them into one record that begins with v=spf1 once.',
      );
      return check.done();
    case 'unreadable':
      fail(
        `The SPF record at ${host} cannot be read: ${root.detail}, so the whole record counts for nothing.`,
        'Correct or remove that term.',
      );
      return check.done();
    case 'record':
      judgeTerms(report, expected, { ...check, fail });
      judgeRelays(root, params.relays ?? [], check);
      return check.done(
        addresses.length === 0
          ? `The SPF record at ${host} is sound and costs ${report.lookups} of ${MAX_LOOKUPS} look-ups.`
          : `The SPF record at ${host} lets ${addresses.join(', ')} send and costs ${report.lookups} of ${MAX_LOOKUPS} look-ups.`,
      );
  }
}

/** Whether the record covers the relays: a relay that keeps our return path is checked against it. */
function judgeRelays(root: SpfNode, relays: readonly SpfRelay[], check: OpenCheck): void {
  const host = showable(root.host);
  for (const { host: relay, include } of relays) {
    if (include !== null && includesHost(root, include)) continue;
    if (include === null) {
      check.unknown(
        `Whether the SPF record at ${host} covers the relay ${showable(relay)} is not known.`,
        `Ask its provider what to include. A relay that puts its own return path in place of ours needs nothing here.`,
      );
    } else {
      check.warn(
        `Mail leaves by ${showable(relay)}, and the SPF record at ${host} does not include ${include}.`,
        `Add include:${include} before its end. A relay that puts its own return path in place of ours needs nothing here.`,
      );
    }
  }
}

function includesHost(node: SpfNode, name: string): boolean {
  return node.terms.some(({ child }) => child !== null && (child.host === name || includesHost(child, name)));
}

function judgeTerms(
  report: SpfReport,
  expected: string,
  { fail, warn }: Pick<OpenCheck, 'fail' | 'warn'>,
): void {
  const { root, lookups, voids, faults, results } = report;
  const host = showable(root.host);
  const all = root.terms.find(({ term }) => term.name === 'all')?.term;
  if (all?.qualifier === '+') {
    fail(
      `The SPF record at ${host} ends with +all: it lets everybody in the world send.`,
      'End it with ~all.',
    );
  }
  if (lookups > MAX_LOOKUPS) {
    const count = lookups > MAX_WALKED ? `more than ${MAX_WALKED}` : `${lookups}`;
    fail(
      `The SPF record at ${host} takes ${count} look-ups; receivers stop at ${MAX_LOOKUPS} and take it as an error.`,
      'Remove includes that are no longer used, or name their addresses with ip4: instead.',
    );
  }
  if (voids > MAX_VOIDS) {
    fail(
      `${voids} names in the SPF record at ${host} do not exist; receivers stop at more than ${MAX_VOIDS}.`,
      'Remove the terms whose names are gone.',
    );
  }
  for (const { term, fault } of faults) {
    const { name, value } = term;
    const written = value === '' ? name : `${name}${name === 'redirect' ? '=' : ':'}${showable(value)}`;
    fail(
      `The SPF record at ${host} uses ${written}, but ${fault}: receivers take that as an error.`,
      name === 'mx'
        ? `Replace ${written} by ip4: terms with the addresses of its hosts that send.`
        : `Remove ${written}, or let the owner of that record correct it.`,
    );
  }
  if (root.terms.some(({ term }) => term.name === 'ptr')) {
    warn(
      `The SPF record at ${host} uses ptr, which is slow and not looked at by many receivers (RFC 7208 §5.5).`,
      'Replace ptr by ip4: terms with the addresses.',
    );
  }
  if (all === undefined && !root.terms.some(({ term }) => term.name === 'redirect')) {
    warn(`The SPF record at ${host} has no end, so it refuses nobody.`, 'End it with ~all.');
  }
  const open = results.filter(({ result }) => result === 'unknown').map(({ address }) => address);
  const missing = results
    .filter(({ result }) => result !== '+' && result !== 'unknown')
    .map(({ address }) => address);
  if (open.length > 0) {
    warn(
      `Whether ${open.join(', ')} may send by the SPF record at ${host} cannot be told: it depends on what only the receiver knows (macros for the local part of the return path, names for an address), or on names that did not answer.`,
      `To be sure, add ${ipTerms(open)} to it.`,
    );
  }
  if (missing.length > 0) {
    const terms = ipTerms(missing);
    fail(
      `The SPF record at ${host} does not cover ${missing.join(', ')}, from which mail leaves.`,
      `Add ${terms} before its end${expected === '' || expected.includes(terms) ? '' : `, or what "${expected}" names`}.`,
    );
  }
}

function publish(host: string, expected: string): string {
  return expected === ''
    ? `Publish a TXT record at ${host} that begins with v=spf1.`
    : `Publish a TXT record at ${host}: ${expected}`;
}

/** The terms that cover these addresses. */
export function ipTerms(addresses: readonly string[]): string {
  return addresses.map((address) => `${address.includes(':') ? 'ip6' : 'ip4'}:${address}`).join(' ');
}
