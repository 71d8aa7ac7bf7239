/**
 * Routes: their text form, and the structured part of `postrider.json`, `sources[]` (addresses that mail leaves from)
 * and `routes[]` (which mail uses which route). Takes the content of the file; returns checked values, or problems that
 * name the position, the value and the correction.
 */
import { isIPv4, isIPv6 } from 'node:net';
import { isNodeName } from './config/forms.ts';
import { dayOf } from './lib/instant.ts';
import { isJsonObject, type JsonObject } from './lib/json-object.ts';
import { shortestIpv6 } from './lib/loopback.ts';
import type { Route } from './model/route.ts';

/** What mail leaves from: an IPv4 address, an IPv6 address, or one of each. */
export interface SourceConfig {
  /** Its name in shaping, warm-up and paths. */
  id: string;
  /** IPv4 address of this machine; null = nothing is sent over IPv4. */
  address: string | null;
  /** IPv6 address of this machine, in its shortest form; null = nothing is sent over IPv6. */
  ipv6: string | null;
  /** Name in EHLO; null = the key `hostname`. */
  ehlo: string | null;
  pool: string;
  /**
   * First day of use (UTC midnight, epoch milliseconds), from which it is warmed up. null = already in use for long.
   */
  newSince: number | null;
  /** Several nodes send from it (NAT, one address): the node with the lease keeps its limits. */
  shared: boolean;
  /** `node-name` of the only node that sends from it; null = of every node that names it. */
  node: string | null;
}

/** Mail that matches every given list uses `targets`; an absent list matches all mail. */
export interface RouteRule {
  senderDomain: readonly string[] | null;
  recipientDomain: readonly string[] | null;
  priority: readonly string[] | null;
  /** The message has one of these tags. */
  tag: readonly string[] | null;
  targets: readonly Route[];
  /** As written, without passwords. */
  shown: string;
}

export interface Routing {
  sources: readonly SourceConfig[];
  routes: readonly RouteRule[];
}

/** Whether the node of this name sends from it. */
export function isSourceOf(nodeName: string, { node }: SourceConfig): boolean {
  return node === null || node === nodeName;
}

const DEFAULT_POOL = 'default';
const PRIORITIES = ['critical', 'normal', 'bulk'];
const MAX_ROUTES = 1000;
const MAX_SOURCES = 256;
const MAX_TAG = 128;
const ID = /^[A-Za-z0-9][A-Za-z0-9._-]{0,31}$/;
const DOMAIN = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;
const PATTERN = new RegExp(`^(?:\\*\\.)?${DOMAIN.source.slice(1)}`);
const ROUTE_FORMS =
  'sandbox, mx, pool:NAME, smtp://user:password@host:port or smtps://host:port, or a list of these';

/** One route from its text, or null. Of a login, the user or the password may be empty: see `loginProblem`. */
export function parseRoute(item: string): Route | null {
  if (item === 'sandbox' || item === 'mx') return { kind: item };
  if (item.startsWith('pool:')) return ID.test(item.slice(5)) ? { kind: 'mx', pool: item.slice(5) } : null;
  if (!/^smtps?:\/\//i.test(item)) return null;
  let url: URL;
  let auth: { user: string; password: string } | null;
  try {
    // The WHATWG parser is tolerant of unknown schemes; with http it applies its rules for host and port.
    url = new URL(item.replace(/^smtps?:/i, 'http:'));
    const { username, password } = url;
    auth =
      username === '' && password === ''
        ? null
        : { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  } catch {
    return null;
  }
  const implicitTls = /^smtps:/i.test(item);
  if (url.hostname === '' || (url.pathname !== '/' && url.pathname !== '') || url.search !== '') return null;
  const port = /:(\d+)\/?$/.exec(item.replace(/^.*@/, ''))?.[1];
  return {
    kind: 'relay',
    host: url.hostname.replace(/^\[|\]$/g, ''),
    port: port === undefined ? (implicitTls ? 465 : 25) : Number(port),
    implicitTls,
    auth,
  };
}

/** Why the login of a relay cannot be used, as the end of a refusal; null = it is complete, or there is none. */
export function loginProblem(route: Route): string | null {
  if (route.kind !== 'relay' || route.auth === null) return null;
  const { user, password } = route.auth;
  if (user !== '' && password !== '') return null;
  const half = user === '' ? 'a password and no user' : 'a user and no password';
  const scheme = route.implicitTls ? 'smtps' : 'smtp';
  return `the login has ${half}; write ${scheme}://user:password@host:port, or ${scheme}://host:port if the relay needs no login`;
}

/** `smtp://host:port`, a bare host or a word: the only parts of an unreadable route that may be shown. */
const PLAIN_ROUTE = /^(?:(?:[a-z]+:\/\/)?(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::\d{1,5})?\/?|pool:[\w.-]*)$/i;

/**
 * Routes without their users and passwords. A route that can be read is written again without them. Of a route that
 * cannot be read, nothing is shown if any part could be a password, because its position is unknown.
 */
export function withoutPasswords(text: string): string {
  // A comma in a password would cut it in two, so a list is split only where a route can begin.
  const items = text.split(/,(?=\s*(?:smtps?:|sandbox\b|mx\b|pool:))/i).map((item) => item.trim());
  const shown = items.flatMap((item) => {
    const target = parseRoute(item);
    if (target?.kind !== 'relay' || target.auth === null) return target === null ? [] : [item];
    return [item.replace(/\/\/.*@/s, '//(secret)@')];
  });
  if (shown.length === items.length) return shown.join(',');
  return items.every((item) => PLAIN_ROUTE.test(item)) ? text : '(not shown: it may hold a password)';
}

/** Reads `sources` and `routes` of the file. `final`: the key `route`, which comes last. */
export function readRouting(file: JsonObject, final: readonly Route[], problems: string[]): Routing {
  const say: Say = (where, message) => void problems.push(`postrider.json: ${where}: ${message}`);
  const sources = readList(file.sources, 'sources', MAX_SOURCES, say, readSource);
  const routes = readList(file.routes, 'routes', MAX_ROUTES, say, readRule);
  const ids = new Set<string>();
  const addresses = new Set<string>();
  sources.forEach(({ id, pool, ...source }, i) => {
    if (ids.has(id)) say(`sources[${i}].id`, `"${id}" is another source's; give each its own`);
    ids.add(id);
    for (const key of ['address', 'ipv6'] as const) {
      const address = source[key];
      if (address === null) continue;
      if (addresses.has(address))
        say(`sources[${i}].${key}`, `"${address}" is another source's; one source per address`);
      addresses.add(address);
    }
    if (source.address === null && sources.some((other) => other.pool === pool && other.address !== null))
      say(
        `sources[${i}].pool`,
        `"${pool}" also has sources with an IPv4 address, and mail to hosts without IPv6 cannot leave from this one; give it an "address", or a pool of its own`,
      );
  });
  const pools = new Set(sources.map(({ pool }) => pool));
  const known = pools.size === 0 ? 'there are no sources' : `pools are ${[...pools].join(', ')}`;
  for (const [i, { targets }] of routes.entries()) checkTargets(targets, `routes[${i}].route`);
  checkTargets(final, 'route');
  return { sources, routes };

  function checkTargets(targets: readonly Route[], where: string): void {
    const direct = targets.flatMap((target) => (target.kind === 'mx' ? [target.pool] : []));
    if (direct.length > 1)
      say(
        where,
        'names mx or a pool more than once; mail of one route leaves from one pool, so keep one of them',
      );
    if (targets.length > 1 && targets.some(({ kind }) => kind === 'sandbox'))
      say(
        where,
        'sandbox stands beside other ways; what is captured does not go anywhere else, so let it stand alone',
      );
    for (const pool of direct)
      if (pool !== undefined && !pools.has(pool))
        say(where, `no source is in the pool "${pool}"; ${known}: give a source "pool": "${pool}"`);
  }
}

/** Sources and routes as they are shown to people. */
export function routingRows({
  sources,
  routes,
}: Routing): readonly { key: string; value: string; meaning: string }[] {
  return [
    ...sources.map(({ id, address, ipv6, ehlo, pool, newSince, shared, node }, i) => ({
      key: `sources[${i}]`,
      value: [
        [id, address, ipv6].filter((part) => part !== null).join(' '),
        ...(ehlo === null ? [] : [`ehlo ${ehlo}`]),
        `pool ${pool}`,
        ...(newSince === null ? [] : [`new since ${dayOf(newSince)}`]),
        ...(shared ? ['shared'] : []),
        ...(node === null ? [] : [`node ${node}`]),
      ].join(', '),
      meaning: 'an address that mail leaves from',
    })),
    ...routes.map((rule, i) => {
      const match = (['senderDomain', 'recipientDomain', 'priority', 'tag'] as const).flatMap((name) => {
        const list = rule[name];
        return list === null ? [] : [`${name} ${list.join('|')}`];
      });
      return {
        key: `routes[${i}]`,
        value: `${match.length === 0 ? 'everything' : match.join(', ')} → ${rule.shown}`,
        meaning: 'which mail goes which way; the first that fits counts',
      };
    }),
  ];
}

type Say = (where: string, message: string) => void;

function readList<Item>(
  value: unknown,
  name: string,
  max: number,
  say: Say,
  read: (fields: JsonObject, where: string, say: Say) => Item | null,
): Item[] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > max) {
    say(name, `must be a list of at most ${max} objects`);
    return [];
  }
  return value.flatMap((item: unknown, i): Item[] => {
    if (!isJsonObject(item)) {
      say(`${name}[${i}]`, 'must be an object');
      return [];
    }
    const found = read(item, `${name}[${i}]`, say);
    return found === null ? [] : [found];
  });
}

function readSource(fields: JsonObject, where: string, say: Say): SourceConfig | null {
  const { id, address = null, ipv6 = null, ehlo = null, pool = DEFAULT_POOL, newSince = null } = fields;
  const { shared = false, node = null } = fields;
  const known = ['id', 'address', 'ipv6', 'ehlo', 'pool', 'newSince', 'shared', 'node'];
  let ok = onlyKnown(fields, known, where, say);
  const refuse = (name: string, value: unknown, fix: string): void => {
    say(`${where}.${name}`, `${shown(value)}: ${fix}`);
    ok = false;
  };
  if (typeof id !== 'string' || !ID.test(id))
    refuse('id', id, 'use 1 to 32 letters, digits, dots or hyphens');
  const addressFix = ipv4Problem(address);
  if (addressFix !== null) refuse('address', address, addressFix);
  const ipv6Fix = ipv6Problem(ipv6);
  if (ipv6Fix !== null) refuse('ipv6', ipv6, ipv6Fix);
  if (address === null && ipv6 === null)
    refuse(
      'address',
      fields.address,
      'use an IPv4 address of this machine, e.g. "192.0.2.10", or set "ipv6"',
    );
  if (ehlo !== null && (typeof ehlo !== 'string' || ehlo.length > 253 || !DOMAIN.test(ehlo)))
    refuse('ehlo', ehlo, 'use the name that the address resolves to and back, e.g. "mail1.example.com"');
  if (typeof pool !== 'string' || !ID.test(pool))
    refuse('pool', pool, 'use 1 to 32 letters, digits, dots or hyphens');
  const since =
    typeof newSince === 'string' && /^\d{4}-\d{2}-\d{2}$/.test(newSince) ? Date.parse(newSince) : null;
  if (newSince !== null && (since === null || Number.isNaN(since)))
    refuse('newSince', newSince, 'use the date of its first day, e.g. "2027-01-31"');
  if (typeof shared !== 'boolean')
    refuse('shared', shared, 'use true where several nodes send from it, or leave it out');
  if (node !== null && (typeof node !== 'string' || !isNodeName(node)))
    refuse('node', node, 'use the node-name of the node that has this address');
  if (node !== null && shared === true)
    refuse('shared', shared, 'leave it out where node names the only one');
  if (!ok) return null;
  return {
    id: id as string,
    address: address as string | null,
    ipv6: ipv6 === null ? null : shortestIpv6(ipv6 as string),
    ehlo: ehlo as string | null,
    pool: pool as string,
    newSince: since,
    shared: shared as boolean,
    node: node as string | null,
  };
}

/** Why it cannot be the IPv4 address of a source, as what to use; null = it can, or there is none. */
function ipv4Problem(address: unknown): string | null {
  if (address === null) return null;
  if (typeof address === 'string' && isIPv6(address))
    return 'use an IPv4 address here; an IPv6 address is given as "ipv6"';
  if (typeof address !== 'string' || !isIPv4(address))
    return 'use an IPv4 address of this machine, e.g. "192.0.2.10"';
  return /^2(?:2[4-9]|3\d)\./.test(address)
    ? 'nothing is sent from a multicast address; use one of this machine'
    : null;
}

/** The same of its IPv6 address. */
function ipv6Problem(address: unknown): string | null {
  if (address === null) return null;
  if (typeof address === 'string' && isIPv4(address))
    return 'use an IPv6 address here; an IPv4 address is given as "address"';
  if (typeof address !== 'string' || !isIPv6(address))
    return 'use an IPv6 address of this machine, e.g. "2001:db8::10"';
  const [plain = '', zone] = address.split('%');
  const short = shortestIpv6(plain);
  if (/^fe[89ab][0-9a-f]:/.test(short))
    return 'a link-local address reaches no host outside its network; use a global IPv6 address of this machine';
  if (zone !== undefined) return 'leave out what follows the percent sign';
  if (/^ff[0-9a-f]{2}:/.test(short))
    return 'nothing is sent from a multicast address; use one of this machine';
  if (/^::ffff:[\d.]+$/.test(short))
    return 'this is an IPv4 address in the form of IPv6; give it as "address"';
  return short === '::' ? 'this is no address; use an IPv6 address of this machine' : null;
}

function readRule(fields: JsonObject, where: string, say: Say): RouteRule | null {
  const known = ['senderDomain', 'recipientDomain', 'priority', 'tag', 'route'];
  let ok = onlyKnown(fields, known, where, say);
  const list = (name: string, form: (text: string) => boolean, fix: string): readonly string[] | null => {
    const value = fields[name];
    if (value === undefined) return null;
    const items: readonly unknown[] = Array.isArray(value) ? value : [value];
    const wrong = items.find((item) => typeof item !== 'string' || !form(item));
    if (items.length > 0 && wrong === undefined) return items as readonly string[];
    say(`${where}.${name}`, `${shown(wrong ?? value)}: use ${fix}, or a list of these`);
    ok = false;
    return null;
  };
  const domain = 'a lower-case domain such as "example.com", or "*.example.com" for all below it';
  const isDomain = (text: string) => text.length <= 253 && PATTERN.test(text);
  const rule = {
    senderDomain: list('senderDomain', isDomain, domain),
    recipientDomain: list('recipientDomain', isDomain, domain),
    priority: list('priority', (text) => PRIORITIES.includes(text), PRIORITIES.join(', ')),
    tag: list('tag', isTag, `a tag as messages have it, 1 to ${MAX_TAG} characters without line ends`),
  };
  const { route } = fields;
  const written: readonly unknown[] = Array.isArray(route) ? route : [route];
  const targets = written.flatMap((item) => {
    const target = typeof item === 'string' ? parseRoute(item.trim()) : null;
    const login = target === null ? null : loginProblem(target);
    if (target !== null && login === null) return [target];
    say(`${where}.route`, `${shownRoute(item)}: ${login ?? `use ${ROUTE_FORMS}`}`);
    ok = false;
    return [];
  });
  if (ok && targets.length === 0) {
    say(`${where}.route`, `${shownRoute(route)}: use ${ROUTE_FORMS}`);
    ok = false;
  }
  return ok ? { ...rule, targets, shown: withoutPasswords(written.join(',')) } : null;
}

/** The same rule as for tags of messages: trimmed, no control characters. */
function isTag(text: string): boolean {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  return text !== '' && text.length <= MAX_TAG && text === text.trim() && !/[\u0000-\u001f\u007f]/.test(text);
}

function onlyKnown(fields: JsonObject, known: readonly string[], where: string, say: Say): boolean {
  const unknown = Object.keys(fields).filter((name) => !known.includes(name));
  for (const name of unknown) say(`${where}.${name}`, `unknown key; known keys: ${known.join(', ')}`);
  return unknown.length === 0;
}

function shown(value: unknown): string {
  return (JSON.stringify(value) ?? 'is missing').slice(0, 120);
}

/** What is shown of a route, without anything that could be a password. */
function shownRoute(value: unknown): string {
  if (typeof value === 'string') return shown(withoutPasswords(value));
  return value === undefined || (Array.isArray(value) && value.length === 0)
    ? shown(value)
    : 'this is no text';
}
