/**
 * What the check of this server finds by trying: it connects to relays, to its own listeners and to other mail servers,
 * and looks at the disk and the clock. Every probe ends within seconds; what it cannot find out is an answer too.
 */
import { readdir, stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { bounceDomainOf } from './config/bounce-domain.ts';
import type { ListenAddress } from './config/forms.ts';
import { publicUrl } from './config/public-url.ts';
import type { Config } from './config/table.ts';
import type { Routing } from './config-routing.ts';
import type { Clock } from './lib/clock.ts';
import { isLoopbackAddress } from './lib/loopback.ts';
import { missingSources } from './lib/own-addresses.ts';
import type { Random } from './lib/random.ts';
import type { AddressCheck } from './net/address-filter.ts';
import { type CertificateFacts, probeCertificate } from './net/certificate-probe.ts';
import type { GuardedHttp } from './net/guarded-http.ts';
import { resolveMxHosts } from './net/mx-hosts.ts';
import type { CachingResolver } from './net/resolver.ts';
import { parseServers } from './net/system-resolvers.ts';
import { probePort25 } from './pipeline/deliver/routing/port-25.ts';
import { relayAddresses, relayTlsMode } from './pipeline/deliver/routing/relay-host.ts';
import { ANY_SOURCE, familiesOf } from './pipeline/deliver/routing/routes.ts';
import type {
  InstanceFacts,
  InstanceProbes,
  OtherNode,
  RelayFacts,
  RelayProbe,
} from './policy/domains/doctor/instance-facts.ts';
import { openSession } from './smtp/client-session.ts';
import { createTlsContexts } from './smtp/client-tls.ts';
import type { OpenFailure } from './smtp/client-types.ts';
import type { ThisServer } from './this-server.ts';

/** What the running server knows of itself. */
export interface Seen {
  suspicion: string | null;
  /** What is wrong with the files of certificates in use; absent: none are in use. */
  certificateProblems?: () => Promise<readonly string[]>;
  returns: InstanceFacts['returns'];
  /** Where the API listens with TLS; null = it has none. */
  https: ListenAddress | null;
}

export interface ProbeParts {
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
  /** For tests: certificate authorities to trust. */
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
/** Mail servers that are asked for one answer. */
const MAX_PROBED = 3;

export function createProbes(parts: ProbeParts, server: ThisServer) {
  const { config, resolver, filter, clock, random, ca } = parts;
  return { probes, certificateOf };

  /** Connects and logs in as delivery would; sends nothing. */
  async function probeRelay(
    { host, port }: RelayFacts,
    asked: Pick<CachingResolver, 'a' | 'aaaa'>,
  ): Promise<RelayProbe> {
    const relay = server.relays.find((one) => one.host === host && one.port === port);
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

  function probes(seen: Seen, fresh: Pick<CachingResolver, 'a' | 'aaaa'>): InstanceProbes {
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
      missingSources: () => missingSources(server.ownSources()),
      readableByOthers: () => readableByOthers(parts.dataFolder),
      identityProvider: async () => (await parts.identityProvider?.()) ?? null,
      otherNodes: async () => (await parts.nodes?.()) ?? null,
      databaseUpkeep: async (asked) => (await parts.databaseUpkeep?.(asked)) ?? null,
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
    const own = (await server.sendingAddresses()).map((each) => each.address);
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
