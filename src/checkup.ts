/**
 * Builds the domain doctor and the check of this server: how to ask the servers of a zone, what this server is
 * (this-server.ts), and what it finds by trying (checkup-probes.ts). Returns a doctor for domains and a function that
 * examines the instance; at most one such examination runs at a time.
 */

import { createProbes, type ProbeParts, type Seen } from './checkup-probes.ts';
import { bounceDomainOf } from './config/bounce-domain.ts';
import { publicUrl } from './config/public-url.ts';
import { createSharedWork } from './lib/shared-work.ts';
import { differingSettings } from './model/node.ts';
import { createZoneServers } from './net/zone-servers.ts';
import type { DomainCheck } from './policy/domains/doctor/check.ts';
import { createDomainDoctor, type DomainDoctor } from './policy/domains/doctor/domain-doctor.ts';
import { CHECKED_HERE, examineHere, examineInstance } from './policy/domains/doctor/instance.ts';
import type { InstanceFacts, OtherNode } from './policy/domains/doctor/instance-facts.ts';
import { relayInclude } from './policy/domains/relay-spf.ts';
import { createThisServer } from './this-server.ts';

export interface Checkup {
  domains: DomainDoctor;
  /** Addresses that mail leaves from, as far as they are known. */
  addresses(): Promise<string[]>;
  /** The SPF includes of the relays in use, if their providers are known. */
  spfIncludes: readonly string[];
  /** What the last examination of the instance found, with the checks of `examineHere` taken anew; null: there was none. */
  last(): Promise<{ at: number; checks: readonly DomainCheck[] } | null>;
  /** Examines the instance now; a call while that runs gets the same result. */
  instance(seen: Seen): Promise<DomainCheck[]>;
}

interface Parts extends ProbeParts {
  /** For tests: the port of zones' servers. */
  zonePort?: number | undefined;
}

/** Contacts nobody until it is called. */
export function createCheckup(parts: Parts): Checkup {
  const { config, resolver, filter, clock, random, zonePort } = parts;
  const server = createThisServer(parts);
  const { probes, certificateOf } = createProbes(parts, server);
  const examining = createSharedWork<DomainCheck[]>();
  let last: { at: number; seen: Seen; checks: readonly DomainCheck[] } | null = null;
  const domains = createDomainDoctor({
    resolver,
    clock,
    random,
    zoneServers: (fresh) =>
      createZoneServers(
        { resolver: fresh ? resolver.fresh() : resolver, filter, clock, random },
        zonePort === undefined ? {} : { port: zonePort },
      ),
    certificate: (host, fresh) => certificateOf(host, fresh ? resolver.fresh() : resolver),
    addresses: () => server.sendingAddresses(),
    relays: server.relays.map(({ host }) => ({ host, include: relayInclude(host) })),
  });

  return {
    domains,
    addresses,
    spfIncludes: server.relays.flatMap(({ host }) => relayInclude(host) ?? []),
    async last() {
      if (last === null) return null;
      const { at, seen, checks } = last;
      const here = await examineHere(probes(seen, resolver), factsHere());
      return { at, checks: [...checks.filter(({ id }) => !CHECKED_HERE.has(id)), ...here] };
    },
    instance: (seen) =>
      examining.of(
        'instance',
        () => examine(seen),
        (checks) => {
          last = { at: clock.now(), seen, checks };
        },
      ),
  };

  async function addresses(): Promise<string[]> {
    return (await server.sendingAddresses()).map(({ address }) => address);
  }

  async function examine(seen: Seen): Promise<DomainCheck[]> {
    // Mostly somebody waits for it who has just changed a record.
    const fresh = resolver.fresh();
    const sending = await server.sendingAddresses(fresh);
    return examineInstance(
      { resolver: fresh, probes: probes(seen, fresh), now: clock.now() },
      {
        hostname: config.hostname,
        bounceDomain: bounceDomainOf(config),
        direct: server.direct,
        ...factsHere(),
        addresses: sending,
        relays: server.relays.map(({ host, port, auth }) => ({
          host,
          port,
          login: auth !== null,
          maxMessageBytes: config['max-message-bytes'],
        })),
        returns: seen.returns,
        https: seen.https === null ? null : { host: new URL(publicUrl(config, seen.https)).hostname },
        links: server.linksOf(seen.https ?? config.http),
        operatorAddress: config['operator-address'],
        blockLists: config['doctor-dnsbl'],
        identityIssuer: parts.identityProvider === undefined ? null : config['oidc-issuer'],
      },
    );
  }

  function factsHere(): Pick<InstanceFacts, 'dataFolder' | 'unusedIpv6'> {
    return { dataFolder: parts.dataFolder, unusedIpv6: server.unusedIpv6() };
  }
}

/** A node as the store lists it. */
interface ListedNode {
  epoch: number;
  nodeId: string;
  host: string;
  version: string;
  settings: Readonly<Record<string, string>>;
  endedAt: number | null;
}

/** What the doctor is told of the nodes beside that of `epoch`. */
export function otherNodes(
  rows: readonly ListedNode[],
  { epoch, version }: { epoch: number; version: string },
): OtherNode[] {
  const own = rows.find((row) => row.epoch === epoch)?.settings ?? {};
  return rows
    .filter((row) => row.endedAt === null && row.epoch !== epoch)
    .map((row) => ({
      name: row.host || row.nodeId,
      otherVersion: row.version === version ? null : row.version || 'unknown',
      differsIn: differingSettings(own, row.settings),
    }));
}
