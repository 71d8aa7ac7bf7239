/**
 * Builds the HTTP listener: the API, and on the same port health, metrics, tracking and the dashboard. Nothing listens before it is
 * started.
 */
import { fileURLToPath } from 'node:url';
import type { Registry } from 'prom-client';
import type { Accounts } from './accounts.ts';
import type { Checkup } from './checkup.ts';
import type { ListenAddress } from './config/forms.ts';
import type { Mode } from './config/key-facts.ts';
import { knownUrl } from './config/public-url.ts';
import { configRows } from './config/shown.ts';
import type { Config } from './config/table.ts';
import type { LoadedConfig } from './config.ts';
import type { Engine } from './engine.ts';
import type { Clock } from './lib/clock.ts';
import type { ClockWatch } from './lib/clock-watch.ts';
import { serverProof } from './lib/data-files.ts';
import type { Logger } from './lib/log.ts';
import { isLoopbackHost } from './lib/loopback.ts';
import type { Random } from './lib/random.ts';
import type { Sealer } from './lib/seal.ts';
import type { Certificates } from './lib/server-certificates.ts';
import type { Signal } from './lib/signal.ts';
import type { SlowWatch } from './lib/slow-watch.ts';
import { createDashboard } from './listeners/dashboard/dashboard.ts';
import { createHealthRoutes, type ReadyCheck } from './listeners/health/health.ts';
import type { SubmissionPort } from './listeners/http/answer-schemas.ts';
import type { HttpOptions } from './listeners/http/deps.ts';
import { DEFAULT_EMAIL_LIMITS } from './listeners/http/send/limits.ts';
import { createHttpListener, type HttpListener } from './listeners/http/server.ts';
import type { Returns } from './listeners/returns/open-returns.ts';
import { createTrackingRoutes } from './listeners/tracking/tracking.ts';
import type { PersonalTokens } from './mail/personal-token.ts';
import type { NodeLease } from './model/node.ts';
import { allTargets, capturesAll, isRelaySite } from './model/route.ts';
import { SCOPES, type Scope } from './model/token.ts';
import type { CachingResolver } from './net/resolver.ts';
import type { ReaderFacts } from './pipeline/events/reader-facts.ts';
import { goodForMs } from './policy/domains/doctor/instance.ts';
import type { DomainService } from './policy/domains/domains.ts';
import type { GuardRails } from './policy/limits/guard-rails.ts';
import type { Storage } from './policy/limits/storage.ts';
import { createSpamd } from './policy/sandbox/spamd.ts';
import { readiness } from './readiness.ts';
import type { Store } from './store/store.ts';
import type { WebhookParts } from './webhooks.ts';

interface Parts {
  store: Store;
  clock: Clock;
  random: Random;
  log: Logger;
  registry: Registry;
  resolver: CachingResolver;
  domains: DomainService;
  accounts: Accounts;
  node: NodeLease;
  clockWatch: Pick<ClockWatch, 'suspicion'>;
  storeSpeed: Pick<SlowWatch, 'slow'>;
  /** Why the log is not written; null: it is. */
  logTrouble(): string | null;
  /** How many run, with this one. */
  nodes(): number;
  engine: Engine;
  guard: GuardRails;
  webhooks: Pick<WebhookParts, 'service'>;
  checkup: Checkup;
  storage: Storage;
  personalTokens: PersonalTokens;
  sealer: Sealer;
  readerFacts: ReaderFacts;
  /** Where SMTP submission listens. */
  submissionPorts(): { submission: ListenAddress | null; submissionTls: ListenAddress | null };
  /** null = returned mail is not received here. */
  returns: Returns | null;
  eventsStored(): void;
  /** Announces that this process stored something. */
  stored: Signal;
  publicUrl(): string;
  /** Of TLS on the listener; null = plain HTTP. */
  certificates: Certificates | null;
  /** Of the SMTP listeners. */
  smtpCertificates: Pick<Certificates, 'problem'>;
}

/** The output of the build of ui/. */
const DASHBOARD = fileURLToPath(new URL('../dist/ui', import.meta.url));
/** Not for the dashboard without a session: what makes secrets that open the server later, and everything. */
const KEPT_FROM_PAGE: readonly Scope[] = ['tokens:write', 'smtp:write', 'admin'];
const PAGE_SCOPES = SCOPES.filter((one) => !KEPT_FROM_PAGE.includes(one));
/** Beyond its scopes: `admin` would let it make tokens. */
const PAGE_OPERATIONS: ReadonlySet<string> = new Set([
  ...['getQueue', 'listPaths', 'getSite', 'tryPath', 'listHolds', 'holdQueue', 'releaseQueue'],
  ...['listOverrides', 'deleteOverride', 'listCauses', 'getCause', 'resendCause'],
  ...['getWarmup', 'runDoctor', 'getConfig', 'listNodes'],
]);

/** If the port is in use, `start()` rejects. */
export function createHttpApi(
  parts: Parts,
  {
    loaded,
    mode,
    anyDomain,
    version,
    command,
    idempotencyWindowMs,
    connections,
  }: {
    loaded: LoadedConfig;
    mode: Mode;
    anyDomain: boolean;
    version: string;
    command?: string;
    idempotencyWindowMs: number;
    connections: Pick<HttpOptions, 'maxConnections' | 'maxConnectionsPerAddress'>;
  },
): HttpListener {
  const { store, clock, random, log, resolver, domains, accounts, engine, guard, eventsStored, returns } =
    parts;
  const { config } = loaded;
  const { access } = accounts;
  const url = knownUrl(config, config.http.port);
  const { traffic, deliver, port25 } = engine;
  const readyChecks = createReadyChecks(parts, loaded);
  const examine = () =>
    parts.checkup.instance({
      suspicion: port25.suspicion(),
      returns: returns?.address() ?? (config.returns === null ? 'off' : 'elsewhere'),
      https: parts.certificates === null ? null : listener.address(),
      certificateProblems: async () =>
        (await Promise.all([parts.certificates?.problem(), parts.smtpCertificates.problem()])).filter(
          (problem) => typeof problem === 'string',
        ),
    });
  const ownPage = async () => {
    const administrator = await access.authenticate(`Bearer ${accounts.adminToken}`, '127.0.0.1');
    return { ...administrator, scopes: new Set(PAGE_SCOPES), operations: PAGE_OPERATIONS };
  };

  const dashboard = createDashboard(DASHBOARD, parts.publicUrl);
  const listener = createHttpListener(
    {
      ...{ store, access, domains, guard, eventsStored, clock, random, log },
      ...(mode === 'dev' && !config.expose && url === null ? { ownPage } : {}),
      ...(parts.certificates === null ? {} : { certificates: parts.certificates }),
      storage: parts.storage,
      ownUrl: parts.publicUrl,
      fingerprintKey: parts.sealer.deriveKey('fingerprints'),
      smtpCredentials: accounts.smtpCredentials,
      submission: () => portsShown(config, parts.submissionPorts()),
      people: accounts.people,
      sessions: accounts.sessions,
      secondFactors: accounts.secondFactors,
      identityProvider: accounts.identityProvider,
      sendRate: accounts.sendRate,
      checkSpam: config.spamassassin === null ? null : createSpamd({ clock }, config.spamassassin),
      refusals: accounts.refusals,
      acceptance: engine.acceptance,
      doctor: {
        instance: examine,
        sendingAddresses: parts.checkup.addresses,
        async lastInstance() {
          const last = await parts.checkup.last();
          // A development server sends nothing, and is not examined unless somebody asks.
          if (mode === 'serve' && (last === null || clock.now() - last.at > goodForMs(last.checks)))
            examine().catch((err: unknown) => log.warn({ err }, 'this server could not be examined'));
          return last;
        },
      },
      problems: readyChecks.problems,
      webhooks: parts.webhooks.service,
      queue: engine.queue,
      sandboxRules: engine.sandboxRules,
      leadsOut: engine.routes.leadsOut,
      onStored: parts.stored.subscribe,
      warmup: engine.warmup,
      personalTexts: engine.personalTexts,
      node: parts.node,
      nodes: parts.nodes,
      traffic: {
        overrides: traffic.overrides,
        holds: traffic.holds,
        heldBy: (question) => engine.heldBy({ ...question, sandbox: null }),
        pausedBy: (question) => engine.pausedBy({ ...question, sandbox: null }),
        blockedFor: (question) => engine.blockedFor({ ...question, sandbox: null }),
        pathOf: (question) => engine.pathOf({ ...question, sandbox: null }),
        tryNow: engine.tryNow,
        routeOf: (question) =>
          engine.routes.shown({ ...question, sandbox: question.sandbox ? 'deliver' : null }),
        sitesOf: (question) => engine.sitesOf({ ...question, sandbox: null }),
        paths: deliver.paths,
        waits: deliver.waits,
        relays: engine.failingRelays,
        limitsFor: traffic.shaping.limitsFor,
        isProvider: traffic.shaping.isProvider,
        async providerOf(domain) {
          const found = await resolver.mx(domain);
          if (found.kind === 'failure') return 'unclear';
          const hosts = found.kind === 'found' ? found.records.map(({ exchange }) => exchange) : [];
          return { provider: traffic.shaping.groupingOf(domain, hosts).provider };
        },
      },
      config: () => ({
        Mode: mode,
        Version: version,
        Items: configRows(mode, loaded).map((row) => ({
          Key: row.key,
          Value: row.value,
          Source: row.source,
          Default: row.default,
          Meaning: row.meaning,
        })),
      }),
      missingPage: dashboard.missingPage,
      routes: [
        ...dashboard.routes,
        ...createHealthRoutes({
          metrics: parts.registry,
          access,
          metricsFrom: config['metrics-from'],
          ready: readyChecks.ready,
          prove: (challenge) => serverProof(accounts.adminToken, listener.address().url, challenge),
        }),
        ...createTrackingRoutes({
          tokens: parts.personalTokens,
          facts: parts.readerFacts,
          publicUrl: parts.publicUrl,
        }),
      ],
    },
    {
      mode,
      anyDomain,
      ...(command === undefined ? {} : { command }),
      dataFolder: config.data,
      host: config.http.host,
      port: config.http.port,
      ...(url === null ? {} : { publicUrl: url }),
      trustedProxies: config['trusted-proxies'],
      blockedExtensions: config['blocked-extensions'],
      email: { ...DEFAULT_EMAIL_LIMITS, maxRecipients: config['max-recipients'] },
      streamsPerTenant: config['streams-per-tenant'],
      maxAgeMs: config['max-age'],
      simulatorDomain: config['simulator-domain'],
      idempotencyWindowMs,
      ...connections,
    },
  );
  return listener;
}

/** `ready`: what /readyz shows. `problems`: the same without a relay that fails. */
function createReadyChecks(parts: Parts, { config, routing }: LoadedConfig) {
  const { engine, returns } = parts;
  const { deliver, port25 } = engine;
  /** Mail is still accepted and kept, but an operator should know before it is late. */
  const failingRelay = (): string | null => {
    const [worst] = engine.relays.unhealthy();
    if (worst !== undefined) return `the relay ${worst.relay} fails: ${worst.why}`;
    const closed = deliver
      .paths()
      .filter(({ site, elsewhere }) => isRelaySite(site) && !elsewhere)
      .map((path) => path.snapshot())
      .find(({ breaker }) => breaker.kind !== 'closed');
    return closed === undefined
      ? null
      : `${closed.site} fails: ${closed.reason ?? closed.lastFailure?.text ?? ''}`;
  };
  /** Whatever the far ends do: it is told once, not for each of them. */
  const failsHere = (): string | null => {
    const waiting = deliver
      .paths()
      .filter(({ blocked }) => blocked)
      .map((path) => path.snapshot())
      .filter(
        ({ waitsFor, waiting: { critical, normal, bulk } }) =>
          waitsFor === 'local' && critical + normal + bulk > 0,
      );
    const [first] = waiting;
    if (first === undefined) return null;
    const whose = waiting.length === 1 ? first.site : `${waiting.length} sites`;
    return `mail to ${whose} waits because of this machine: ${first.reason ?? ''}`;
  };
  const returnsReadiness = () => {
    if (returns === null) return [];
    const refused = returns.refusing();
    return [{ name: 'returns', ok: refused === null, detail: refused ?? '' }];
  };
  const checks = async (outgoing: () => string | null) => [
    ...(await readiness(parts.store, engine.acceptance.refusing, outgoing)),
    // Mail is still accepted, slowly.
    fine('store-speed', parts.storeSpeed.slow()),
    fine('log', parts.logTrouble()),
    fine('connections', failsHere()),
    // As of what leaves, so nothing waits for it where all mail is captured.
    fine('resolver', capturesAll(allTargets(config.route, routing.routes)) ? null : parts.resolver.trouble()),
    fine('clock', parts.clockWatch.suspicion()),
    // Mail is still accepted and kept; another node may send it.
    fine('node', parts.node.trouble),
    ...returnsReadiness(),
  ];
  return {
    ready: () => checks(() => port25.suspicion() ?? failingRelay()),
    problems: () => checks(port25.suspicion),
  };
}

/** A condition of readiness that is met, with what an operator should know all the same. */
function fine(name: string, trouble: string | null): ReadyCheck {
  return { name, ok: true, detail: trouble ?? '' };
}

/** Encrypted ports first. By the name in the certificate, but for ports of this machine alone. */
function portsShown(
  config: Config,
  listens: ReturnType<Parts['submissionPorts']>,
): readonly SubmissionPort[] {
  // Where another process has the role, the configuration says its ports.
  const plain = listens.submission ?? config.submission;
  const tls = listens.submissionTls ?? config['submission-tls'];
  const shown = ({ host, port }: ListenAddress, Security: SubmissionPort['Security']): SubmissionPort => ({
    Host: isLoopbackHost(host) ? host : config.hostname,
    Port: port,
    Security,
  });
  return [
    ...(tls === null ? [] : [shown(tls, 'TLS')]),
    ...(plain === null ? [] : [shown(plain, config['submission-starttls'] ? 'StartTLS' : 'None')]),
  ];
}
