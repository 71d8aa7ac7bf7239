/**
 * Builds the domain doctor and the check of this server: which addresses mail leaves from, how to ask the servers of a
 * zone, and the checks that are not DNS. Returns a doctor for domains and a function that examines the instance; at
 * most one such examination runs at a time.
 */

import { readdir, stat, statfs } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { bounceDomainOf } from './config/bounce-domain.ts';
import type { ListenAddress } from './config/forms.ts';
import { publicUrl } from './config/public-url.ts';
import type { Config } from './config/table.ts';
import { isSourceOf, type Routing } from './config-routing.ts';
import type { Clock } from './lib/clock.ts';
import { isLoopbackAddress } from './lib/loopback.ts';
import { missingSources, ownAddresses } from './lib/own-addresses.ts';
import type { Random } from './lib/random.ts';
import { createSharedWork } from './lib/shared-work.ts';
import { differingSettings } from './model/node.ts';
import { reachOf } from './model/personal.ts';
import { allTargets, capturesAll, type Route } from './model/route.ts';
import { type AddressCheck, createAddressFilter } from './net/address-filter.ts';
import { type CertificateFacts, probeCertificate } from './net/certificate-probe.ts';
import type { GuardedHttp } from './net/guarded-http.ts';
import { resolveMxHosts } from './net/mx-hosts.ts';
import type { CachingResolver } from './net/resolver.ts';
import { parseServers } from './net/system-resolvers.ts';
import { createZoneServers } from './net/zone-servers.ts';
import { probePort25 } from './pipeline/deliver/routing/port-25.ts';
import { relayAddresses, relayTlsMode } from './pipeline/deliver/routing/relay-host.ts';
import { ANY_SOURCE, familiesOf } from './pipeline/deliver/routing/routes.ts';
import type { DomainCheck } from './policy/domains/doctor/check.ts';
import { createDomainDoctor, type DomainDoctor } from './policy/domains/doctor/domain-doctor.ts';
import { CHECKED_HERE, examineHere, examineInstance } from './policy/domains/doctor/instance.ts';
import type {
  InstanceFacts,
  InstanceProbes,
  OtherNode,
  RelayFacts,
  RelayProbe,
  SendingAddress,
} from './policy/domains/doctor/instance-facts.ts';
import { relayInclude } from './policy/domains/relay-spf.ts';
import { openSession } from './smtp/client-session.ts';
import { createTlsContexts } from './smtp/client-tls.ts';
import type { OpenFailure } from './smtp/client-types.ts';

export interface Checkup {
  domains: DomainDoctor;
  /** Addresses that mail leaves from, as far as they are known. */
  addresses(): Promise<string[]>;
  /** The SPF includes of the relays in use, if their providers are known. */
  spfIncludes: readonly string[];
  /** What the last examination of the instance found, with the checks of `examineHere` taken anew; null: there was none. */
  last(): Promise<{ at: number; checks: readonly DomainCheck[] } | null>;
  /** Examines the instance now; a call while that runs gets the same result. */
  instance(seen: {
    suspicion: string | null;
    /** What is wrong with the files of certificates in use; absent: none are in use. */
    certificateProblems?: () => Promise<readonly string[]>;
    returns: InstanceFacts['returns'];
    /** Where the API listens with TLS; null = it has none. */
    https: ListenAddress | null;
  }): Promise<DomainCheck[]>;
}

type Seen = Parameters<Checkup['instance']>[0];
type Relay = Extract<Route, { kind: 'relay' }>;

interface Parts {
  config: Config;
  routing: Routing;
  resolver: CachingResolver;
  filter: AddressCheck;
  http: Pick<GuardedHttp, 'get'>;
  clock: Clock;
  random: Random;
  dataFolder: string;
  /** Sender domains of the operator, whose mail servers are connected to as those of `operator-address` are. */
  ownDomains?: readonly string[];
  /** For tests: the port of zones' servers, and certificate authorities to trust. */
  zonePort?: number | undefined;
  ca?: readonly string[] | undefined;
  /** The other living nodes on the database. null or absent: it is alone. */
  nodes?: () => Promise<readonly OtherNode[] | null>;
  databaseUpkeep?: InstanceProbes['databaseUpkeep'];
  /** What is wrong with the identity provider, null = nothing. Absent: it is not asked. */
  identityProvider?: () => Promise<string | null> | null;
}

const PROBE_MS = 5_000;
const PROBE_TIMEOUTS = {
  connectMs: PROBE_MS,
  bannerMs: PROBE_MS,
  ehloMs: PROBE_MS,
  startTlsMs: PROBE_MS,
  authMs: PROBE_MS,
};
const MAX_ADDRESSES = 16;
/** Mail servers that are asked for one answer. */
const MAX_PROBED = 3;

/** Contacts nobody until it is called. */
export function createCheckup(parts: Parts): Checkup {
  const { config, resolver, filter, clock, random, zonePort, ca } = parts;
  const targets = allTargets(config.route, parts.routing.routes);
  const direct = targets.some(({ kind }) => kind === 'mx');
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
    addresses: () => sendingAddresses(),
    relays: relays().map(({ host }) => ({ host, include: relayInclude(host) })),
  });

  return {
    domains,
    addresses,
    spfIncludes: relays().flatMap(({ host }) => relayInclude(host) ?? []),
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
    return (await sendingAddresses()).map(({ address }) => address);
  }

  async function examine(seen: Seen): Promise<DomainCheck[]> {
    // Mostly somebody waits for it who has just changed a record.
    const fresh = resolver.fresh();
    const sending = await sendingAddresses(fresh);
    return examineInstance(
      { resolver: fresh, probes: probes(seen, fresh), now: clock.now() },
      {
        hostname: config.hostname,
        bounceDomain: bounceDomainOf(config),
        direct,
        ...factsHere(),
        addresses: sending,
        relays: relays().map(({ host, port, auth }) => ({
          host,
          port,
          login: auth !== null,
          maxMessageBytes: config['max-message-bytes'],
        })),
        returns: seen.returns,
        https: seen.https === null ? null : { host: new URL(publicUrl(config, seen.https)).hostname },
        links: capturesAll(targets) ? null : linksOf(seen.https ?? config.http),
        operatorAddress: config['operator-address'],
        blockLists: config['doctor-dnsbl'],
        identityIssuer: parts.identityProvider === undefined ? null : config['oidc-issuer'],
      },
    );
  }

  function factsHere(): Pick<InstanceFacts, 'dataFolder' | 'unusedIpv6'> {
    return { dataFolder: parts.dataFolder, unusedIpv6: direct ? unusedIpv6() : null };
  }

  function unusedIpv6(): InstanceFacts['unusedIpv6'] {
    const sources = ownSources();
    const isGiven = sources.some(({ ipv6 }) => ipv6 !== null);
    if (sources.length === 0 || isGiven === config.ipv6) return null;
    return isGiven ? 'off' : 'no-address';
  }

  function ownSources() {
    const nodeName = config['node-name'] ?? hostname();
    return parts.routing.sources.filter((source) => isSourceOf(nodeName, source));
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
    const configured = parts.routing.sources.flatMap((source) =>
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

  function linksOf(listening: ListenAddress): InstanceFacts['links'] {
    const url = publicUrl(config, listening);
    return { url, reach: reachOf(url) };
  }

  /** Every relay that some route names, once. */
  function relays(): Relay[] {
    const found = targets.filter((target): target is Relay => target.kind === 'relay');
    return [...new Map(found.map((relay) => [`${relay.host}:${relay.port}`, relay])).values()];
  }

  /** Connects and logs in as delivery would; sends nothing. */
  async function probeRelay(
    { host, port }: RelayFacts,
    asked: Pick<CachingResolver, 'a' | 'aaaa'>,
  ): Promise<RelayProbe> {
    const relay = relays().find((one) => one.host === host && one.port === port);
    if (relay === undefined) return { kind: 'unresolved', detail: 'no route names it' };
    const found = await relayAddresses(asked, host);
    if (found.kind !== 'addresses') return { kind: 'unresolved', detail: found.why };
    const [address = host] = found.addresses;
    const { auth, implicitTls } = relay;
    const opened = await openSession(
      { host, address, port, implicitTls },
      {
        clock,
        heloName: config.hostname,
        tls: relayTlsMode(relay, address),
        tlsContexts: createTlsContexts({ ca }),
        allowPlaintextAuth: isLoopbackAddress(address),
        ...(auth === null ? {} : { auth: { user: auth.user, pass: auth.password } }),
        timeouts: PROBE_TIMEOUTS,
      },
    );
    if (opened.kind === 'failed') return failedProbe(opened);
    const { session } = opened;
    session.quit();
    const tls = session.tls === null ? 'none' : session.tls.authorized ? 'verified' : 'unverified';
    return { kind: 'ready', tls, size: session.capabilities.maxSize };
  }

  async function certificateOf(
    host: string,
    asked: Pick<CachingResolver, 'a'>,
  ): Promise<CertificateFacts | null> {
    const answer = await asked.a(host);
    const address = answer.kind === 'found' ? answer.records[0] : undefined;
    if (address === undefined) return { kind: 'unreachable', detail: 'it has no address' };
    // If we may not connect to it, we cannot know: a proxy in front of us may have such an address.
    if (!filter.check(address).allowed) return null;
    return probeCertificate({ clock, host, address, ...(ca === undefined ? {} : { ca }) });
  }

  function probes(
    seen: Parameters<Checkup['instance']>[0],
    fresh: Pick<CachingResolver, 'a' | 'aaaa'>,
  ): InstanceProbes {
    return {
      async port25() {
        const servers = parseServers(config['doctor-probe'].join(','));
        const named = config['doctor-probe'].length > 0 && servers.kind === 'servers' ? servers.servers : [];
        if (named.length === 0 && seen.suspicion !== null) return { kind: 'blocked', detail: seen.suspicion };
        const targets = named.length > 0 ? named : await operatorsServers();
        const [source] = parts.routing.sources;
        return probePort25({
          clock,
          targets,
          timeoutMs: PROBE_MS,
          ...(source === undefined ? {} : { source }),
        });
      },
      relay: (relay) => probeRelay(relay, fresh),
      returns: () => probeReturns(seen.returns),
      https: () => probeHttps(seen.https),
      certificateProblems: seen.certificateProblems ?? (async () => []),
      async clockOffsetMs() {
        if (config['doctor-clock'] === null) return null;
        const answer = await parts.http.get(config['doctor-clock'], {
          timeoutMs: PROBE_MS,
          allowHttp: 'always',
        });
        const theirs = answer.kind === 'answered' ? Date.parse(answer.headers.date ?? '') : Number.NaN;
        // The Date header has whole seconds.
        return answer.kind !== 'answered' || Number.isNaN(theirs)
          ? null
          : Math.round(answer.answeredAt - theirs - 500);
      },
      async freeSpace() {
        try {
          const disk = await statfs(parts.dataFolder);
          return {
            bytes: disk.bavail * disk.bsize,
            share: disk.blocks === 0 ? 1 : disk.bavail / disk.blocks,
            // Some file systems make inodes as they are needed, and name none.
            fileShare: disk.files === 0 ? 1 : disk.ffree / disk.files,
          };
        } catch {
          return null;
        }
      },
      missingSources: () => missingSources(ownSources()),
      readableByOthers: () => readableByOthers(parts.dataFolder),
      identityProvider: async () => (await parts.identityProvider?.()) ?? null,
      otherNodes: async () => (await parts.nodes?.()) ?? null,
      databaseUpkeep: async () => (await parts.databaseUpkeep?.()) ?? null,
    };
  }

  /** Mail servers of the operator's own domains that are elsewhere: to those, a connection is expected. */
  async function operatorsServers(): Promise<{ address: string; port: number }[]> {
    const address = config['operator-address'];
    const named = [
      ...(address === null ? [] : [address.slice(address.lastIndexOf('@') + 1)]),
      ...(parts.ownDomains ?? []),
    ];
    const [source = ANY_SOURCE] = parts.routing.sources;
    const { ipv4 } = familiesOf(source);
    const families = { ipv4, ipv6: !ipv4 };
    const found = await Promise.all(
      [...new Set(named)].map((name) => resolveMxHosts(resolver, name, { filter, random, families })),
    );
    const own = (await sendingAddresses()).map((each) => each.address);
    return found
      .flatMap((each) => (each.kind === 'hosts' ? each.hosts : []))
      .flatMap((host) => host.addresses.slice(0, 1))
      .filter((each) => !own.includes(each))
      .slice(0, MAX_PROBED)
      .map((each) => ({ address: each, port: config['mx-port'] }));
  }

  async function probeHttps(at: ListenAddress | null): Promise<CertificateFacts> {
    if (at === null) return { kind: 'unreachable', detail: 'it has no TLS' };
    const { hostname: host } = new URL(publicUrl(config, at));
    const address = fromHere(at.host);
    return probeCertificate({ clock, host, address, port: at.port, ...(ca === undefined ? {} : { ca }) });
  }

  async function probeReturns(at: InstanceFacts['returns']): ReturnType<InstanceProbes['returns']> {
    if (typeof at === 'string') return { kind: 'unreachable', detail: at };
    const address = fromHere(at.host);
    const opened = await openSession(
      { host: bounceDomainOf(config), address, port: at.port, implicitTls: false },
      {
        clock,
        heloName: config.hostname,
        tls: 'opportunistic',
        tlsContexts: createTlsContexts({ ca }),
        timeouts: PROBE_TIMEOUTS,
      },
    );
    if (opened.kind === 'failed') return { kind: 'unreachable', detail: opened.detail };
    const { session } = opened;
    session.quit();
    if (session.tls === null) return { kind: 'no-tls', detail: 'STARTTLS is not offered' };
    const { authorized, authorizationError, validUntil } = session.tls;
    if (!authorized || validUntil === null) {
      return { kind: 'invalid', detail: authorizationError ?? 'not trusted' };
    }
    return { kind: 'valid', validUntil };
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

/** An address of this machine for what listens at `host`. */
function fromHere(host: string): string {
  return host === '0.0.0.0' || host === '::' || host === '' ? '127.0.0.1' : host;
}

function failedProbe({ stage, reason, detail, loginOffered }: OpenFailure): RelayProbe {
  if (loginOffered === false) return { kind: 'no-login', detail };
  if (stage === 'auth') return { kind: 'login', detail };
  if (stage === 'tls' || stage === 'starttls' || reason === 'tls') return { kind: 'tls', detail };
  return { kind: reason === 'reply' ? 'refused' : 'unreachable', detail };
}

/** The folder if others can enter it, otherwise the files in it that others can read. */
async function readableByOthers(folder: string): Promise<string[]> {
  const isOpen = async (path: string): Promise<boolean> => {
    try {
      return ((await stat(path)).mode & 0o077) !== 0;
    } catch {
      return false;
    }
  };
  // If others cannot enter the folder, they can read nothing in it.
  if (!(await isOpen(folder))) return [];
  const names = await readdir(folder).catch(() => []);
  const open = await Promise.all(
    names.slice(0, 100).map(async (name) => ((await isOpen(join(folder, name))) ? [name] : [])),
  );
  return open.flat();
}
