/**
 * Finds the addresses to try for a site, in order: a relay's, or those of the recipient domain's MX hosts (RFC 5321
 * §5.1). Permanent answers (no such domain, null MX, nothing reachable) are separate from temporary ones, because only
 * the former end a delivery.
 */

import { isIPv4 } from 'node:net';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import { isLoopbackAddress } from '../../../lib/loopback.ts';
import type { Random } from '../../../lib/random.ts';
import { createSharedWork } from '../../../lib/shared-work.ts';
import type { Route } from '../../../model/route.ts';
import type { AddressCheck } from '../../../net/address-filter.ts';
import { BOTH_FAMILIES, type Families, type MxHost, resolveMxHosts } from '../../../net/mx-hosts.ts';
import type { CachingResolver } from '../../../net/resolver.ts';
import { type EgressMemory, readFlag } from '../../../policy/limits/shaping/egress-memory.ts';
import type { Category } from '../outcome/classifier/categories.ts';
import type { CountTls } from '../tls/counters.ts';
import type { AttemptBudget, Endpoint } from '../tls/endpoint.ts';
import type { MtaSts } from '../tls/mta-sts.ts';
import { planTls, relayTlsPlan, type TlsPlan } from '../tls/plan.ts';
import { relayAddresses, relayTlsMode } from './relay-host.ts';
import { type TriedHosts, untriedFirst } from './tried-hosts.ts';

/** Requirements of the mail that asks for endpoints. */
export interface EndpointWish {
  /** The sender's domain requires verified TLS. */
  requireTls?: boolean | undefined;
  /** For whose mail; absent = for this server. */
  senderDomain?: string | undefined;
  /** According to the provider's data, it requires TLS. */
  providerRequiresTls?: boolean | undefined;
  critical?: boolean | undefined;
  /** Addresses that earlier attempts tried without success: others come first. */
  tried?: Pick<TriedHosts, 'has'> | undefined;
  /** The relay failed before and another works, so it gets little time: mail waits for the test. */
  isTest?: boolean | undefined;
  /** Families of the addresses that the source has; absent = both. IPv6 is used for MX hosts only where it is switched on. */
  families?: Families | undefined;
}

type PermanentCategory = 'domain_invalid' | 'routing_loop' | 'ipv4_only' | 'ipv6_only';

export type EndpointAnswer =
  | { kind: 'endpoints'; endpoints: readonly Endpoint[] }
  /** Final for every recipient of the domain. `twice`: only when the same answer comes again later. */
  | {
      kind: 'permanent';
      enhanced: string;
      category: PermanentCategory;
      detail: string;
      confirm: boolean;
    }
  /** `category`: the reason, if it is not the DNS. */
  | { kind: 'temporary'; detail: string; category?: Category }
  /** This machine could not ask the DNS. */
  | { kind: 'local'; detail: string };

export interface Endpoints {
  /** Endpoints of one target for a recipient domain. Never rejects. */
  find(
    target: Exclude<Route, { kind: 'sandbox' }>,
    recipientDomain: string,
    wish?: EndpointWish,
  ): Promise<EndpointAnswer>;
  /** The DNS is asked again next time: no host answered, or the host was not responsible. */
  forget(recipientDomain: string): void;
  /**
   * Whether a domain may have its own TLS policy: an enforced MTA-STS policy, or DNSSEC and with it maybe DANE. Mail of
   * such a domain shares no connection with that of other domains. Also true if the DNS does not answer. Never rejects.
   */
  asksForTls(recipientDomain: string, senderDomain: string): Promise<boolean>;
  /** A refusal was caused by IPv6: mail to this domain is sent over IPv4 for a day, if possible. */
  avoidIpv6(recipientDomain: string): void;
}

/** At most this many addresses are tried in one attempt. */
const MAX_ADDRESSES = 5;
/** For connecting to all addresses of one attempt. */
const CONNECT_ALL_MS = 60_000;
/** For connecting to a relay that is tested, and for each step after that. */
const TEST_STEP_MS = 10_000;
const NONE_TRIED: Pick<TriedHosts, 'has'> = { has: () => false };
const AVOID_IPV6_MS = 24 * 3_600_000;
const ASKED_KEPT_MS = 60_000;
const MAX_ASKED = 10_000;

interface Deps {
  resolver: CachingResolver;
  random: Random;
  clock: Clock;
  /** For MX hosts; a configured relay may have any address. */
  filter: AddressCheck;
  mtaSts: Pick<MtaSts, 'policyOf'>;
  countTls: CountTls;
  /** Stored over a restart. */
  egressMemory: Pick<EgressMemory, 'facts'>;
}

export function createEndpoints(deps: Deps, options: { mxPort: number; ipv6: boolean }): Endpoints {
  const { resolver, random, clock, filter, mtaSts, countTls } = deps;
  const ipv4Only = deps.egressMemory.facts('ipv4-only', readFlag, AVOID_IPV6_MS);
  const asked = new BoundedMap<string, { answer: boolean; untilMs: number }>(MAX_ASKED);
  const asking = createSharedWork<boolean>();
  return {
    find: (target, recipientDomain, wish = {}) =>
      target.kind === 'relay' ? relay(target, recipientDomain, wish) : mx(recipientDomain, wish),
    forget(recipientDomain) {
      resolver.flush(recipientDomain);
      asked.delete(recipientDomain);
      asking.forget();
    },
    asksForTls(recipientDomain, senderDomain) {
      const known = asked.get(recipientDomain);
      if (known !== undefined && clock.monotonicMs() < known.untilMs) return Promise.resolve(known.answer);
      return asking.of(
        `${senderDomain} ${recipientDomain}`,
        () => lookUpPolicy(recipientDomain, senderDomain),
        (answer) => asked.set(recipientDomain, { answer, untilMs: clock.monotonicMs() + ASKED_KEPT_MS }),
      );
    },
    avoidIpv6(recipientDomain) {
      ipv4Only.set(recipientDomain, true, clock.now() + AVOID_IPV6_MS);
    },
  };

  async function lookUpPolicy(domain: string, sender: string): Promise<boolean> {
    const [answer, policy] = await Promise.all([
      resolver.of(sender).mx(domain),
      mtaSts.policyOf(domain, sender),
    ]);
    return policy?.mode === 'enforce' || answer.kind === 'failure' || answer.secure;
  }

  async function relay(
    target: Extract<Route, { kind: 'relay' }>,
    recipientDomain: string,
    wish: EndpointWish,
  ): Promise<EndpointAnswer> {
    const found = await relayAddresses(resolver, target.host, wish.families);
    if (found.kind === 'local') return cannotAsk(found.why);
    if (found.kind !== 'addresses')
      return {
        kind: 'temporary',
        category: 'relay_unresolved',
        detail: `the relay ${target.host} cannot be found: ${found.why}`,
      };
    const { tried = NONE_TRIED } = wish;
    const all = found.addresses.map((address) => ({ address, port: target.port }));
    const addresses = untriedFirst(all, tried).slice(0, MAX_ADDRESSES);
    const budget = newBudget(wish, addresses.length);
    const endpoints = addresses.map(({ address }, i): Endpoint => {
      const mode = relayTlsMode(target, address);
      return {
        host: target.host,
        address,
        port: target.port,
        implicitTls: target.implicitTls,
        // A requirement of one sender that exceeds that of the route concerns only this sender's mail.
        tls:
          wish.requireTls === true && mode !== 'verified'
            ? relayTlsPlan('verified', 'sender')
            : relayTlsPlan(mode),
        auth: target.auth === null ? null : { user: target.auth.user, pass: target.auth.password },
        allowPlaintextAuth: isLoopbackAddress(address),
        route: 'relay',
        recipientDomain,
        isLast: i === addresses.length - 1,
        budget,
      };
    });
    return { kind: 'endpoints', endpoints };
  }

  async function mx(domain: string, wish: EndpointWish): Promise<EndpointAnswer> {
    const { senderDomain: sender = '', families = BOTH_FAMILIES } = wish;
    const used = { ipv4: families.ipv4, ipv6: options.ipv6 && families.ipv6 };
    const asking = resolver.of(sender);
    const [answer, policy] = await Promise.all([
      resolveMxHosts(asking, domain, { filter, random, families: used }),
      mtaSts.policyOf(domain, sender),
    ]);
    switch (answer.kind) {
      case 'hosts': {
        const found: Endpoint[] = [];
        const unusable: string[] = [];
        const budget = newBudget(wish);
        for (const host of byTurn(usableNow(answer.hosts, domain), wish.tried)) {
          if (found.length >= MAX_ADDRESSES) break;
          const planned = await planTls(asking, {
            recipientDomain: domain,
            mxSecure: answer.secure,
            host,
            port: options.mxPort,
            requireTls: wish.requireTls === true,
            providerRequires: wish.providerRequiresTls === true,
            policy,
          });
          if (planned.kind === 'unusable') {
            unusable.push(planned.detail);
            countTls(planned.policy, planned.result);
          } else found.push(...endpointsOf(host, domain, planned.plan, budget));
        }
        const endpoints = found.slice(0, MAX_ADDRESSES);
        const last = endpoints.at(-1);
        if (last === undefined) {
          const detail = unusable.slice(0, 3).join('; ');
          return { kind: 'temporary', category: 'tls_failed', detail };
        }
        last.isLast = true;
        return { kind: 'endpoints', endpoints };
      }
      case 'null-mx':
        return permanent('5.1.10', 'domain_invalid', `${domain} takes no mail (null MX)`, false);
      case 'no-domain':
        return permanent('5.1.2', 'domain_invalid', `the domain ${domain} does not exist`, true);
      case 'no-hosts': {
        const category = answer.only === null ? 'domain_invalid' : (`${answer.only}_only` as const);
        const why = `no mail server of ${domain} has an address that can be used: ${answer.detail}`;
        return permanent('5.4.4', category, why, true);
      }
      case 'refused': {
        const why = `the mail servers of ${domain} are not usable: ${answer.detail}`;
        return permanent('5.4.6', 'routing_loop', why, true);
      }
      case 'local':
        return cannotAsk(answer.detail);
      case 'temporary':
        return { kind: 'temporary', detail: `DNS for ${domain} gives no usable answer: ${answer.detail}` };
    }
  }

  /** Without IPv6 where a refusal was caused by it; a domain that only has IPv6 is still connected to over IPv6. */
  function usableNow(hosts: readonly MxHost[], domain: string): readonly MxHost[] {
    if (ipv4Only.get(domain) === null) return hosts;
    const over4 = hosts
      .map((host) => ({ ...host, addresses: host.addresses.filter(isIPv4) }))
      .filter(({ addresses }) => addresses.length > 0);
    return over4.length > 0 ? over4 : hosts;
  }

  function endpointsOf(host: MxHost, domain: string, tls: TlsPlan, budget: AttemptBudget): Endpoint[] {
    return host.addresses.map((address) => ({
      host: host.name,
      address,
      port: options.mxPort,
      implicitTls: false,
      tls,
      auth: null,
      allowPlaintextAuth: false,
      route: 'mx',
      recipientDomain: domain,
      isLast: false,
      budget,
    }));
  }

  /** Hosts with an untried address come first, each with that address first. */
  function byTurn(hosts: readonly MxHost[], tried: Pick<TriedHosts, 'has'> | undefined): readonly MxHost[] {
    if (tried === undefined) return hosts;
    const met = (address: string) => ({ address, port: options.mxPort });
    const done = hosts.filter(({ addresses }) => addresses.every((address) => tried.has(met(address))));
    const open = hosts.filter((host) => !done.includes(host));
    return [...open, ...done].map((host) => ({
      ...host,
      addresses: untriedFirst(host.addresses.map(met), tried).map(({ address }) => address),
    }));
  }
}

function newBudget(wish: EndpointWish, addresses = 1): AttemptBudget {
  const hurried = wish.critical === true;
  if (wish.isTest !== true) return { connectLeftMs: CONNECT_ALL_MS, hurried };
  // Each address gets its part: a silent one would be all that is ever tested.
  const test = { connectMs: TEST_STEP_MS / addresses, stepMs: TEST_STEP_MS };
  return { connectLeftMs: TEST_STEP_MS, hurried, test };
}

function cannotAsk(detail: string): EndpointAnswer {
  return { kind: 'local', detail: `the DNS cannot be asked: ${detail}` };
}

function permanent(
  enhanced: string,
  category: PermanentCategory,
  detail: string,
  confirm: boolean,
): EndpointAnswer {
  return { kind: 'permanent', enhanced, category, detail, confirm };
}
