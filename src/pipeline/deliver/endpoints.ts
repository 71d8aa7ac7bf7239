/**
 * From a site to the addresses that are tried, in order: a relay's, or the recipient domain's MX hosts
 * (RFC 5321 §5.1). Gives the permanent answers (no such domain, null MX, nothing reachable) apart from the temporary
 * ones, because only the former end a delivery.
 */
import { isIP } from 'node:net';
import type { Random } from '../../lib/random.ts';
import type { AddressCheck } from '../../net/address-filter.ts';
import type { Resolver } from '../../net/dns-types.ts';
import { resolveMxHosts } from '../../net/mx-hosts.ts';
import type { TlsMode } from '../../smtp/client-tls.ts';
import type { Route } from './routes.ts';

export interface Endpoint {
  host: string;
  address: string;
  port: number;
  implicitTls: boolean;
  tls: TlsMode;
  auth: { user: string; pass: string } | null;
  /** A password may go without verified TLS: the peer is on loopback. */
  allowPlaintextAuth: boolean;
  route: 'mx' | 'relay';
}

export type EndpointAnswer =
  | { kind: 'endpoints'; endpoints: readonly Endpoint[] }
  /** Final for every recipient of the domain. `twice`: believed only when it is said again later. */
  | {
      kind: 'permanent';
      enhanced: string;
      category: 'domain_invalid' | 'routing_loop';
      detail: string;
      twice: boolean;
    }
  | { kind: 'temporary'; detail: string };

export interface Endpoints {
  /** Endpoints of one target for a recipient domain. Never rejects. */
  find(target: Exclude<Route, { kind: 'sandbox' }>, recipientDomain: string): Promise<EndpointAnswer>;
}

/** At most this many addresses are tried for one attempt (delivery.md §4.4). */
const MAX_ADDRESSES = 5;

interface Deps {
  resolver: Resolver;
  random: Random;
  /** For MX hosts; a configured relay may lie anywhere. */
  filter: AddressCheck;
}

export function createEndpoints({ resolver, random, filter }: Deps, options: { mxPort: number }): Endpoints {
  return {
    find: (target, recipientDomain) => (target.kind === 'relay' ? relay(target) : mx(recipientDomain)),
  };

  async function relay(target: Extract<Route, { kind: 'relay' }>): Promise<EndpointAnswer> {
    const found = isIP(target.host) === 0 ? await relayAddresses(target.host) : { addresses: [target.host] };
    if ('kind' in found) return found;
    const endpoints = found.addresses.slice(0, MAX_ADDRESSES).map((address): Endpoint => {
      const loopback = address === '::1' || address.startsWith('127.');
      return {
        host: target.host,
        address,
        port: target.port,
        implicitTls: target.implicitTls,
        tls:
          target.auth !== null && !loopback ? 'verified' : target.implicitTls ? 'required' : 'opportunistic',
        auth: target.auth === null ? null : { user: target.auth.user, pass: target.auth.password },
        allowPlaintextAuth: loopback,
        route: 'relay',
      };
    });
    return { kind: 'endpoints', endpoints };
  }

  async function relayAddresses(host: string): Promise<{ addresses: readonly string[] } | EndpointAnswer> {
    if (host === 'localhost') return { addresses: ['127.0.0.1', '::1'] };
    const [v4, v6] = await Promise.all([resolver.a(host), resolver.aaaa(host)]);
    const found = [v4, v6].flatMap((answer) => (answer.kind === 'found' ? answer.records : []));
    if (found.length > 0) return { addresses: found };
    const failure = [v4, v6].find((answer) => answer.kind === 'failure');
    const why = failure?.kind === 'failure' ? failure.detail : 'it has no address';
    // A relay is the operator's word: a missing name is a mistake that will be mended, never a bounce.
    return { kind: 'temporary', detail: `the relay ${host} cannot be resolved: ${why}` };
  }

  async function mx(domain: string): Promise<EndpointAnswer> {
    const answer = await resolveMxHosts(resolver, domain, { filter, random, ipv6: false });
    switch (answer.kind) {
      case 'hosts': {
        const endpoints = answer.hosts.flatMap((host) =>
          host.addresses.map(
            (address): Endpoint => ({
              host: host.name,
              address,
              port: options.mxPort,
              implicitTls: false,
              tls: 'opportunistic',
              auth: null,
              allowPlaintextAuth: false,
              route: 'mx',
            }),
          ),
        );
        return { kind: 'endpoints', endpoints: endpoints.slice(0, MAX_ADDRESSES) };
      }
      case 'null-mx':
        return permanent('5.1.10', 'domain_invalid', `${domain} takes no mail (null MX)`, false);
      case 'no-domain':
        return permanent('5.1.2', 'domain_invalid', `the domain ${domain} does not exist`, true);
      case 'no-hosts':
        return permanent(
          '5.4.4',
          'domain_invalid',
          `no mail server of ${domain} has an address: ${answer.detail}`,
          true,
        );
      case 'refused':
        return permanent(
          '5.4.6',
          'routing_loop',
          `the mail servers of ${domain} are not usable: ${answer.detail}`,
          true,
        );
      case 'temporary':
        return { kind: 'temporary', detail: `DNS for ${domain}: ${answer.detail}` };
    }
  }
}

function permanent(
  enhanced: string,
  category: 'domain_invalid' | 'routing_loop',
  detail: string,
  twice: boolean,
): EndpointAnswer {
  return { kind: 'permanent', enhanced, category, detail, twice };
}
