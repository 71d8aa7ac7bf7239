/**
 * What this server is, by its configuration and this machine: from which addresses it sends, the relays it uses, and where
 * its links point to. Connects to nothing but DNS.
 */
import { hostname } from 'node:os';
import type { ListenAddress } from './config/forms.ts';
import { publicUrl } from './config/public-url.ts';
import type { Config } from './config/table.ts';
import { isSourceOf, type Routing } from './config-routing.ts';
import { ownAddresses } from './lib/own-addresses.ts';
import { reachOf } from './model/personal.ts';
import { allTargets, capturesAll, type Route } from './model/route.ts';
import { createAddressFilter } from './net/address-filter.ts';
import type { CachingResolver } from './net/resolver.ts';
import type { InstanceFacts, SendingAddress } from './policy/domains/doctor/instance-facts.ts';

export type ThisServer = ReturnType<typeof createThisServer>;
type Relay = Extract<Route, { kind: 'relay' }>;

const MAX_ADDRESSES = 16;

export function createThisServer({
  config,
  routing,
  resolver,
}: {
  config: Config;
  routing: Routing;
  resolver: CachingResolver;
}) {
  const targets = allTargets(config.route, routing.routes);
  /** Some route leads to the mail servers of the recipients. */
  const direct = targets.some(({ kind }) => kind === 'mx');
  const relays = relaysOf(targets);

  return { direct, relays, unusedIpv6, ownSources, sendingAddresses, linksOf };

  function unusedIpv6(): InstanceFacts['unusedIpv6'] {
    const sources = ownSources();
    const isGiven = sources.some(({ ipv6 }) => ipv6 !== null);
    if (!direct || sources.length === 0 || isGiven === config.ipv6) return null;
    return isGiven ? 'off' : 'no-address';
  }

  function ownSources() {
    const nodeName = config['node-name'] ?? hostname();
    return routing.sources.filter((source) => isSourceOf(nodeName, source));
  }

  /**
   * The configured sources, otherwise the public addresses of this machine, otherwise the addresses of its own name.
   */
  async function sendingAddresses(asked: Pick<CachingResolver, 'a'> = resolver): Promise<SendingAddress[]> {
    if (!direct) return [];
    const ehlo = config.hostname;
    const publicOnly = createAddressFilter({ allowNetworks: [] });
    const isPublic = (address: string) =>
      publicOnly.kind === 'filter' &&
      publicOnly.check(address).allowed &&
      (config.ipv6 || !address.includes(':'));
    const configured = routing.sources.flatMap((source) =>
      [source.address, source.ipv6]
        .filter((address) => address !== null)
        .filter(isPublic)
        .map((address) => ({ address, ehlo: source.ehlo ?? ehlo })),
    );
    if (configured.length > 0) return configured.slice(0, MAX_ADDRESSES);
    const own = ownAddresses()
      .map(({ address }) => address)
      .filter(isPublic);
    if (own.length > 0) return own.slice(0, MAX_ADDRESSES).map((address) => ({ address, ehlo }));
    const named = await asked.a(ehlo);
    const behindNat = named.kind === 'found' ? named.records.filter(isPublic) : [];
    return behindNat.slice(0, MAX_ADDRESSES).map((address) => ({ address, ehlo }));
  }

  /** null: all mail is captured, so nobody follows any. */
  function linksOf(listening: ListenAddress): InstanceFacts['links'] {
    if (capturesAll(targets)) return null;
    const url = publicUrl(config, listening);
    return { url, reach: reachOf(url) };
  }
}

/** Every relay that some route names, once. */
function relaysOf(targets: readonly Route[]): readonly Relay[] {
  const found = targets.filter((target): target is Relay => target.kind === 'relay');
  return [...new Map(found.map((relay) => [`${relay.host}:${relay.port}`, relay])).values()];
}
