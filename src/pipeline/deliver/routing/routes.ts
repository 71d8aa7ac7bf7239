/**
 * The egress of a recipient (source and targets), and its site. Mail of one site shares connections and limits; a site
 * is the sandbox, one list of relays, or one recipient domain. Depends only on the configuration and the recipient.
 */
import { isIPv6 } from 'node:net';
import { SHARED_FROM_BYTES } from '../../../model/delivery.ts';
import type { SandboxResult } from '../../../model/message.ts';
import { type Route, relaySite } from '../../../model/route.ts';
import { routeKeyOf, routeKeyParts } from '../../../model/route-key.ts';
import type { Families } from '../../../net/mx-hosts.ts';
import { firstRule, type RouteMatch, type RouteQuestion, stablePlace, tagsNamed } from './route-rules.ts';

export const SANDBOX_SITE = 'sandbox';

/** The source of connections. */
export interface EgressSource {
  /** '' if none is configured. */
  id: string;
  /** Local addresses that sockets bind to, by family; a family without one is not used. Both null: the system's choice. */
  address: string | null;
  ipv6: string | null;
  /** Name in EHLO, or null for the server's own. */
  heloName: string | null;
}

export const ANY_SOURCE: EgressSource = { id: '', address: null, ipv6: null, heloName: null };

type Addresses = Pick<EgressSource, 'address' | 'ipv6'>;

/** The families over which mail leaves from a source. */
export function familiesOf({ address, ipv6 }: Addresses): Families {
  const any = address === null && ipv6 === null;
  return { ipv4: any || address !== null, ipv6: any || ipv6 !== null };
}

/** The address from which a source connects to a host; undefined = the system's choice. */
export function localAddressOf({ address, ipv6 }: Addresses, host: string): string | undefined {
  return (isIPv6(host) ? ipv6 : address) ?? undefined;
}

/** How mail of a recipient leaves; each path has one. Recipients with the same egress share the same object. */
export type Egress =
  | { kind: 'sandbox' }
  | {
      kind: 'smtp';
      source: EgressSource;
      /** Tried in this order. Never empty. */
      targets: readonly Exclude<Route, { kind: 'sandbox' }>[];
      /**
       * Sites of relays (`relaySite`), several joined with `|`; '' if the targets include no relay. A further list of the
       * same relays, with another login, ends with `#2`, `#3` … in the order of the configuration, which is the same on
       * every node and after every start.
       */
      relays: string;
      /** The targets include the recipient domain's own hosts, so its site is part of the path. */
      direct: boolean;
    };

/** Mail whose egress is needed. Without a lane, rules that name one do not match. */
export interface EgressQuestion extends RouteQuestion {
  sandbox: SandboxResult | null;
}

/** A recipient of mail that is being accepted. */
export interface RoutedMail extends Omit<RouteQuestion, 'routeKey'> {
  address: string;
  tags: readonly string[];
  /** Octets of the message. */
  size: number;
}

export interface Routes {
  /** The route key of a recipient's queue, from which its egress is found again; '' = none needed. */
  keyOf(mail: RoutedMail): string;
  /** Whether such mail leaves this machine. */
  leadsOut(mail: Omit<RoutedMail, 'address' | 'size'>): boolean;
  /** Tags that rules name, sorted. */
  readonly tags: readonly string[];
  /** The route as the configuration writes it: `routes[1] smtp://mail.example.net`. */
  shown(question: EgressQuestion): string;
  /**
   * The egress of a recipient, decided by configuration alone, without waiting. Sources that are `full` at the moment
   * are replaced by others of their pool, then by the relays of the list; if there are none, they stay.
   */
  egressOf(recipient: EgressQuestion, full?: (source: EgressSource) => boolean): Egress;
}

/** The configured routes: rules with their targets, in order. */
export interface RoutesConfig {
  rules: readonly (RouteMatch & { targets: readonly Route[]; shown?: string })[];
  /** If no rule matches. */
  targets: readonly Route[];
  sources: readonly (Omit<EgressSource, 'heloName'> & { ehlo: string | null; pool: string })[];
}

const SANDBOX: Egress = { kind: 'sandbox' };
const DEFAULT_POOL = 'default';

/** Throws TypeError for an empty list of targets. */
export function createRoutes({ rules, targets, sources }: RoutesConfig): Routes {
  // Created once, so that recipients with the same egress share the same object.
  const lists = new Map<string, string[]>();
  const choicesAtLast = choicesOf(targets);
  const choicesOfRules = rules.map((rule) => choicesOf(rule.targets));
  const tags = tagsNamed(rules);
  const named = new Set(tags);
  /** Nothing of a recipient is needed except its queue's domains and lane. */
  const isPlain =
    tags.length === 0 && [...choicesOfRules, choicesAtLast].every(({ choices }) => choices.length === 1);

  return {
    egressOf,
    keyOf,
    leadsOut(mail) {
      const routeKey = routeKeyOf({ tags: namedOf(mail.tags), place: 0 });
      return egressOf({ ...mail, sandbox: null, routeKey }).kind !== 'sandbox';
    },
    tags,
    shown,
  };

  function keyOf(mail: RoutedMail): string {
    if (isPlain) return '';
    const found = namedOf(mail.tags);
    const { choices } = listOf({ ...mail, routeKey: routeKeyOf({ tags: found, place: 0 }) });
    // Mail of one sender to one recipient always has the same source, as greylisting expects; recipients of a large
    // message stay together, so that they can share a transaction.
    const spread = choices.length > 1 && mail.size <= SHARED_FROM_BYTES;
    const place = spread ? stablePlace(`${mail.senderDomain} ${mail.address}`, choices.length) : 0;
    return routeKeyOf({ tags: found, place });
  }

  function namedOf(all: readonly string[]): readonly string[] {
    return all.length === 0 || named.size === 0 ? [] : all.filter((tag) => named.has(tag));
  }

  function listOf(question: RouteQuestion) {
    const rule = rules.length === 0 ? -1 : firstRule(rules, question);
    return choicesOfRules[rule] ?? choicesAtLast;
  }

  function shown(question: EgressQuestion): string {
    if (question.sandbox !== null) return 'sandbox';
    const rule = firstRule(rules, question);
    const { shown: text = targetsText(rules[rule]?.targets ?? targets) } = rules[rule] ?? {};
    return `${rule < 0 ? 'route' : `routes[${rule}]`} ${text}`;
  }

  function egressOf(question: EgressQuestion, full: (source: EgressSource) => boolean = () => false): Egress {
    if (question.sandbox !== null) return SANDBOX;
    const { choices, relaysOnly } = listOf(question);
    const usual = choices[choices.length === 1 ? 0 : placeOf(question, choices.length)] ?? SANDBOX;
    if (usual.kind === 'sandbox' || !usual.direct || !full(usual.source)) return usual;
    return choices.find((egress) => egress.kind === 'smtp' && !full(egress.source)) ?? relaysOnly ?? usual;
  }

  /** One egress per source of the pool, and one with only the list's relays if it has any besides `mx`. */
  function choicesOf(list: readonly Route[]): { choices: readonly Egress[]; relaysOnly: Egress | null } {
    if (list.length === 0) throw new TypeError('at least one route is needed');
    if (list[0]?.kind === 'sandbox') return { choices: [SANDBOX], relaysOnly: null };
    const smtp = list.filter((target) => target.kind !== 'sandbox');
    const direct = smtp.find((target) => target.kind === 'mx');
    const relays = relaysOf(smtp);
    const pool = direct?.kind === 'mx' ? (direct.pool ?? DEFAULT_POOL) : null;
    const from = sources.filter((source) => source.pool === pool).map(toEgress);
    const choices = (from.length === 0 ? [ANY_SOURCE] : from).map(
      (source): Egress => ({
        kind: 'smtp',
        source,
        targets: smtp,
        relays,
        direct: direct !== undefined,
      }),
    );
    if (direct === undefined || relays === '') return { choices, relaysOnly: null };
    const targets = smtp.filter((target) => target.kind === 'relay');
    const relaysOnly: Egress = {
      ...{ kind: 'smtp', source: ANY_SOURCE, targets, relays: relaysOf(targets), direct: false },
    };
    return { choices, relaysOnly };
  }

  /** The name of the relays of a list: two lists of the same relays may log in differently. */
  function relaysOf(list: readonly Route[]): string {
    const relays = list.flatMap((target) => (target.kind === 'relay' ? [relaySite(target)] : [])).join('|');
    if (relays === '') return '';
    // Names with the domain's own hosts never equal those without.
    const key = relays + (list.some(({ kind }) => kind === 'mx') ? '+mx' : '');
    const same = lists.get(key) ?? [];
    lists.set(key, same);
    const text = JSON.stringify(list);
    const known = same.indexOf(text);
    const place = known < 0 ? same.push(text) : known + 1;
    return place === 1 ? relays : `${relays}#${place}`;
  }
}

/** Always the same source for one queue. If a pool has grown or shrunk, every key still selects a source. */
function placeOf({ senderDomain, recipientDomain, routeKey }: EgressQuestion, sources: number): number {
  const first = stablePlace(`${senderDomain} ${recipientDomain}`, sources);
  return (first + routeKeyParts(routeKey).place) % sources;
}

/** Targets as the configuration writes them, without logins. */
function targetsText(targets: readonly Route[]): string {
  return targets
    .map((target) => {
      if (target.kind === 'sandbox') return 'sandbox';
      if (target.kind === 'mx') return target.pool === undefined ? 'mx' : `pool:${target.pool}`;
      return `${target.implicitTls ? 'smtps' : 'smtp'}://${target.host}:${target.port}`;
    })
    .join(',');
}

function toEgress({ id, address, ipv6, ehlo }: RoutesConfig['sources'][number]): EgressSource {
  return { id, address, ipv6, heloName: ehlo };
}
