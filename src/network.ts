/**
 * Builds the outgoing network: name resolution, which addresses may be connected to, and HTTP that respects both.
 * Nothing is contacted yet; `close` ends the connections. Throws with a sentence for the operator if `dns` or
 * `allow-networks` cannot be read.
 */
import type { Config } from './config/table.ts';
import type { Clock } from './lib/clock.ts';
import { StartRefused } from './lib/errors.ts';
import { ownAddresses } from './lib/own-addresses.ts';
import type { Random } from './lib/random.ts';
import { type AddressCheck, createAddressFilter } from './net/address-filter.ts';
import { createGuardedHttp, type GuardedHttp } from './net/guarded-http.ts';
import { type CachingResolver, createResolver } from './net/resolver.ts';
import { createSystemServers, type DnsServer, parseServers } from './net/system-resolvers.ts';

/** Everything that connects to other machines. */
export interface NetworkParts {
  resolver: CachingResolver;
  filter: AddressCheck;
  /** For mail servers: our own listeners are excluded. */
  mxFilter: AddressCheck;
  /** For URLs that customers name. */
  http: GuardedHttp;
  /** For policies of recipients' domains, on their own web servers. */
  policyHttp: GuardedHttp;
  /** For URLs of the operator's own choice, also within private networks. */
  operatorHttp: GuardedHttp;
  close(): void;
}

const ANY_ADDRESS: AddressCheck = { check: () => ({ allowed: true, listed: true }) };

/** `ca`: for tests, certificate authorities to trust instead of the built-in ones for recipients' policies. */
export function openNetwork(
  { clock, random }: { clock: Clock; random: Random },
  config: Config,
  ca: readonly string[] | undefined,
): NetworkParts {
  const filter = filterOf(config, []);
  const mxFilter = filterOf(
    config,
    addressesOf([config.http, config.submission, config['submission-tls'], config.returns]),
  );
  const resolver = createResolver({
    clock,
    random,
    servers: config.dns.length === 0 ? createSystemServers(clock) : namedServers(config),
    trustedAd: config['dns-trusted'],
  });
  const policyHttp = createGuardedHttp({ clock, resolver, filter }, ca === undefined ? {} : { ca });
  const http = createGuardedHttp({ clock, resolver, filter });
  const operatorHttp = createGuardedHttp(
    { clock, resolver, filter: ANY_ADDRESS },
    ca === undefined ? {} : { ca },
  );
  return {
    resolver,
    filter,
    mxFilter,
    http,
    policyHttp,
    operatorHttp,
    close() {
      http.close();
      policyHttp.close();
      operatorHttp.close();
      resolver.close();
    },
  };
}

function namedServers(config: Config): () => readonly DnsServer[] {
  const servers = parseServers(config.dns.join(','));
  if (servers.kind === 'invalid') throw new StartRefused(`dns "${servers.text}": ${servers.detail}`);
  return () => servers.servers;
}

function filterOf(config: Config, own: ReturnType<typeof addressesOf>): AddressCheck {
  const filter = createAddressFilter({ allowNetworks: config['allow-networks'], own });
  if (filter.kind === 'invalid') throw new StartRefused(`allow-networks "${filter.text}": ${filter.detail}`);
  return filter;
}

/**
 * Addresses of this machine, so that mail for a domain whose MX we are is not sent in a circle: of the interfaces without
 * loopback (which is refused in any case), and of listeners bound to one address.
 */
function addressesOf(listeners: readonly ({ host: string } | null)[]): string[] {
  const own = new Set<string>();
  for (const { address, internal } of ownAddresses()) if (!internal) own.add(address);
  for (const listener of listeners) {
    const host = listener?.host ?? '';
    if (/^[0-9.]+$|:/.test(host) && host !== '0.0.0.0' && host !== '::') own.add(host);
  }
  return [...own];
}
