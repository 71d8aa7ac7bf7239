/**
 * The composition root: configuration in, a running server out.
 *
 *   data folder and secrets → store → node epoch → parts → roles started in order
 *
 * Only this file knows which clock is used. `stop` has an order of its own: it ends sending, then listening, lets running
 * transactions finish, stores what is left, releases leases, and closes the store last. The larger parts are built in the
 * files beside this one.
 */

import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { openAccounts } from './accounts.ts';
import { createCheckup, otherNodes } from './checkup.ts';
import type { Mode } from './config/key-facts.ts';
import type { Role } from './config/keys/server.ts';
import { settingDigests } from './config/node-settings.ts';
import { publicUrl } from './config/public-url.ts';
import type { LoadedConfig } from './config.ts';
import { openDataFolder } from './data-folder.ts';
import { isShared, openDatabase } from './database.ts';
import { createEngine } from './engine.ts';
import { createHttpApi } from './http-api.ts';
import { type Clock, sleep, systemClock } from './lib/clock.ts';
import { createFailpoints, type Failpoints, NO_FAILPOINTS } from './lib/failpoints.ts';
import { uuidv7 } from './lib/ids.ts';
import type { Loggers } from './lib/log.ts';
import type { Service } from './lib/loop.ts';
import { paced } from './lib/paced.ts';
import { createSystemRandom } from './lib/random.ts';
import { createSealer, type Sealer } from './lib/seal.ts';
import { type Certificates, openCertificates } from './lib/server-certificates.ts';
import { createSignal } from './lib/signal.ts';
import { createSlewedClock } from './lib/slewed-clock.ts';
import { createPersonalTokens } from './mail/personal-token.ts';
import { createReturnPathTokens } from './mail/verp.ts';
import { soleLease } from './model/node.ts';
import { allTargets } from './model/route.ts';
import { openNetwork } from './network.ts';
import { createRefusalMetrics } from './pipeline/accept/refusal-metrics.ts';
import { createAlertMailer } from './pipeline/alerts/alert-mail.ts';
import { createAlertMetrics } from './pipeline/alerts/alert-metrics.ts';
import { createAlerts } from './pipeline/alerts/alerts.ts';
import { createClassifier } from './pipeline/deliver/outcome/classifier/classify.ts';
import { sharedSources } from './pipeline/deliver/routing/egress-leases.ts';
import { createGuardMetrics } from './pipeline/events/guard-metrics.ts';
import { createReaderFacts } from './pipeline/events/reader-facts.ts';
import { createReaderMetrics } from './pipeline/events/reader-metrics.ts';
import { createNoticeMetrics } from './pipeline/notices/notice-metrics.ts';
import { createNotices } from './pipeline/notices/notices.ts';
import { NODE_TIMES, type NodeTimes, openMembership } from './pipeline/queue/membership.ts';
import { createStoreMetrics } from './pipeline/queue/queue-metrics.ts';
import { createSingletonJob } from './pipeline/queue/singleton-job.ts';
import { createStrays } from './pipeline/queue/strays.ts';
import { requireSealingSecret } from './policy/access/signing-keys.ts';
import { createAuthAlarm } from './policy/domains/auth-alarm.ts';
import { createDomainService } from './policy/domains/domains.ts';
import { addServiceDomain } from './policy/domains/service-domain.ts';
import { createGuardRails } from './policy/limits/guard-rails.ts';
import { createStorage } from './policy/limits/storage.ts';
import { createRetention, keptFor } from './policy/retention/retention.ts';
import { createDiskWatch, missingSources } from './readiness.ts';
import {
  connectionsInAll,
  engineOptions,
  httpConnections,
  IDEMPOTENCY_WINDOW_MS,
  identitySettings,
  submissionConnections,
} from './server-options.ts';
import { createTlsContexts } from './smtp/client-tls.ts';
import type { ListenAddress } from './smtp/server-listener.ts';
import { openSmtpListeners } from './smtp-listeners.ts';
import { createUpkeep } from './upkeep.ts';
import { createWebhooks } from './webhooks.ts';

export interface RunningServer {
  /** `http://127.0.0.1:8025`, the real address of the listener. */
  readonly localUrl: string;
  /** The URL that clients and links use. */
  readonly publicUrl: string;
  /** Addresses of SMTP submission; null = off. */
  readonly submission: { plain: ListenAddress | null; tls: ListenAddress | null };
  /** Address for returned mail; null = off. */
  readonly returns: ListenAddress | null;
  /** How many connections its mail may use at once. */
  readonly maxConnectionsInAll: number;
  /** The administrator's token, also in the file `admin-token`. */
  readonly adminToken: string;
  readonly version: string;
  /** Reads certificates, shaping data and reply rules again (SIGHUP). */
  reload(): Promise<void>;
  /** Resolves with the reason when this process cannot continue and must be restarted. */
  readonly failed: Promise<string>;
  stop(deadlineMs: number): Promise<void>;
}

export interface ServerParams {
  mode: Mode;
  loaded: LoadedConfig;
  logs: Loggers;
  version: string;
  /** A failpoint specification; only for tests. */
  failpoints?: string | undefined;
  /** Ends the process at once. */
  kill?: () => void;
  clock?: Clock;
  /** For tests on a virtual clock: the database works in this thread, and answers at once. */
  storeThreads?: 0;
  /** For tests: how many files the process may have open, instead of what the system says. */
  openFiles?: number;
  /** For tests: how fast nodes notice each other. */
  nodeTimes?: NodeTimes;
  /**
   * For tests: certificate authorities to trust instead of the built-in ones for mail servers and MTA-STS policies, the
   * port of these, and that of the name servers of zones.
   */
  trust?: { ca: readonly string[]; mtaStsPort: number; zonePort?: number };
}

/** A client that has not sent the rest of a message by then sends it again. */
const SMTP_DRAIN_MS = 10_000;
/** Running requests may take this long. */
const HTTP_DRAIN_MS = 5_000;
/** However often others change settings. */
const READ_AGAIN_MS = 1_000;
/** Living ones come first. */
const MAX_NODES = 100;
/** Releasing leases gets at least this long, however long the rest took. */
const GIVE_BACK_MS = 1_000;

/** Starts every configured role. Rejects with a message that an operator can act on. */
export async function startServer(params: ServerParams): Promise<RunningServer> {
  const { config, routing } = params.loaded;
  const { logs } = params;
  const clock = createSlewedClock(params.clock ?? systemClock);
  const random = createSystemRandom();
  const nodeName = config['node-name'] ?? hostname();
  const { own = [], foreign = [] } = Object.groupBy(routing.sources, ({ node }) =>
    node === null || node === nodeName ? 'own' : 'foreign',
  );
  const failpoints: Failpoints =
    params.failpoints === undefined || params.kill === undefined
      ? NO_FAILPOINTS
      : createFailpoints(params.failpoints, params.kill);

  const folder = await openDataFolder(config.data, random);
  const failed = Promise.withResolvers<string>();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const database = await openDatabase(
    {
      ...{ clock, failpoints, onLost: failed.resolve, onCommit: createStoreMetrics(registry) },
      log: (level, message, fields) => logs.service[level](fields, message),
      storeThreads: params.storeThreads,
    },
    config,
  );
  const { store } = database;
  const started: Service[] = [];
  try {
    const isAnySealed = async () => (await store.signingKeys()).length > 0;
    const sealer = createSealer(await folder.secrets(config['secret-key'], isAnySealed));
    await requireSealingSecret(store, sealer);
    const instanceId = await store.instanceId({ proposedId: uuidv7(clock, random) });
    const about = {
      host: nodeName,
      pid: process.pid,
      version: params.version,
      roles: config.roles,
      sources: config.roles.includes('deliver') ? own.map(({ id }) => id) : [],
      settings: settingDigests(params.loaded, sealer.deriveKey('node-settings')),
    };
    const membership = isShared(config)
      ? await openMembership(
          { store, clock, random, log: logs.service, follow: clock.follow },
          {
            nodeId: folder.nodeId,
            about,
            sharedSources: sharedSources(routing.sources),
            ...(params.nodeTimes === undefined ? {} : { times: params.nodeTimes }),
          },
        )
      : null;
    const node =
      membership ??
      soleLease(await store.beginEpoch({ nodeId: folder.nodeId, now: clock.now(), alone: true, about }));
    const roles = new Set<Role>(config.roles);
    const network = openNetwork({ clock, random }, config, params.trust?.ca);
    const { resolver, filter } = network;
    const bounceDomain = config['bounce-domain'] ?? config.hostname;
    const targets = allTargets(config.route, routing.routes);
    const anyDomain = params.mode === 'dev' && targets.every((route) => route.kind === 'sandbox');
    const checkup = createCheckup({
      config,
      routing,
      resolver,
      filter,
      http: network.policyHttp,
      clock,
      random,
      dataFolder: folder.path,
      zonePort: params.trust?.zonePort,
      ca: params.trust?.ca,
      identityProvider: () => accounts.identityProvider?.problem() ?? null,
      nodes: async () =>
        membership === null
          ? null
          : otherNodes(await store.listNodes({ limit: MAX_NODES }), {
              epoch: membership.epoch,
              version: params.version,
            }),
    });
    const domains = createDomainService(
      { store, resolver, sealer, clock, random, doctor: checkup.domains },
      {
        anyDomain,
        selectorPrefix: 'pr',
        bounceDomain,
        spfIncludes: checkup.spfIncludes,
        quota: {
          minute: config['quota-per-minute'],
          hour: config['quota-per-hour'],
          day: config['quota-per-day'],
        },
        trackingTarget:
          config['public-url'] === null ? config.hostname : new URL(config['public-url']).hostname,
        dkim: config.dkim,
        serviceDomain: config['service-domain'],
      },
    );
    if (roles.has('deliver')) await addServiceDomain(domains, config['service-domain'], logs.service);
    if (!config.dkim) logs.service.warn({}, 'messages are not signed (dkim=off); a relay behind must do it');
    const accounts = await openAccounts(
      {
        ...{ store, clock, random, sealer, instanceId },
        log: logs.service,
        mailLog: logs.mail,
        countRefusal: createRefusalMetrics(registry),
        http: network.http,
        operatorHttp: network.operatorHttp,
      },
      folder,
      {
        perSecond: config['rate-limit'],
        identity: identitySettings(config),
        requiresSecondFactor: config['require-totp'],
      },
    );
    /** What most parts are given. */
    const base = { store, clock, random, registry, resolver, domains, log: logs.service };

    const webhooks = createWebhooks(
      {
        ...{ ...base, http: network.http, sealer, node, log: logs },
        nodes: () => 1 + (membership?.others().length ?? 0),
      },
      config,
    );
    const { sender } = webhooks;
    const stored = createSignal();
    const eventsStored = (): void => {
      webhooks.wake();
      stored.notify();
    };
    const classifier = createClassifier();
    const personalTokens = createPersonalTokens(keysFor(sealer, 'personal-links'));
    const tokens = createReturnPathTokens(keysFor(sealer, 'return-path'));
    for (const source of missingSources(own)) {
      logs.service.warn({ source: source.id, address: source.address }, 'this machine has no such address');
    }
    const disk = createDiskWatch({ clock, log: logs.service }, database.folder);
    const storage = createStorage(
      { store, clock, freeBytes: disk.freeBytes },
      {
        limit: config['stored-bytes'],
        recipientLimit: config['queue-limit-per-domain'],
        queueLimit: config['queue-limit'],
      },
    );
    const kept = {
      contentMs: config['retain-content'],
      eventsMs: config['retain-events'],
      callsMs: config['retain-calls'],
      capturesMs: config['retain-captures'],
      optOutMs: config['retain-unsubscribe'],
      contentBytes: config['retain-content-bytes'],
    };
    /** Known once the listener is up; nothing is accepted before. */
    let listensAt: ListenAddress | null = null;
    const ownUrl = (): string => publicUrl(config, listensAt ?? config.http);
    const authAlarm = createAuthAlarm({ ...base, eventsStored });
    const engine = await createEngine(
      {
        ...(membership === null ? {} : { membership }),
        ...{ ...base, logs, node, classifier, failpoints, tokens, personalTokens, eventsStored },
        filter: network.mxFilter,
        policyHttp: network.policyHttp,
        tlsContexts: createTlsContexts({ ca: params.trust?.ca }),
        authFailing: authAlarm.raise,
        holdBulk: (name, why) => guard.holdListed(name, why),
        keepsContent: async (name) => keptFor(await domains.settingsOf(name), kept).contentMs > 0,
        storage,
        refusing: () => disk.refusing(),
        publicUrl: ownUrl,
      },
      {
        ...engineOptions(params.loaded, params.mode, folder.path, params),
        foreignSources: new Set(foreign.map(({ id }) => id)),
      },
    );
    const { acceptance } = engine;
    const readAgain = paced(clock, READ_AGAIN_MS, () => {
      for (const part of [domains, accounts, engine]) part.readAgain();
    });
    store.onHint(({ queues, calls, settings, suppressions }) => {
      engine.queue.hinted(queues);
      if (calls) eventsStored();
      if (settings) readAgain();
      if (suppressions) engine.queue.suppressionsChanged();
    });
    const guard = createGuardRails({ ...base, node, holds: engine.traffic.holds, eventsStored });
    createGuardMetrics(registry, guard.levels);
    const readerFacts = createReaderFacts({ ...base, metrics: createReaderMetrics(registry), eventsStored });
    const notices = createNotices(
      { ...base, acceptance, metrics: createNoticeMetrics(registry) },
      {
        hostname: config.hostname,
        waitMs: config['notice-wait'],
        perHour: config['notices-per-hour'],
      },
    );

    const { certificates, submission, returns } = await openSmtpListeners(
      { ...base, engine, accounts, classifier, tokens, eventsStored },
      {
        ...{ config, mode: params.mode, folder: folder.path, anyDomain },
        connections: submissionConnections(params.openFiles),
      },
    );
    const httpCertificates = await openHttpCertificates();
    const http = createHttpApi(
      {
        ...{ ...base, node, engine, accounts, guard, webhooks, checkup, returns, storage },
        sealer,
        submissionPorts: submission.addresses,
        ...{ personalTokens, readerFacts, eventsStored, stored, publicUrl: ownUrl },
        certificates: httpCertificates,
      },
      {
        loaded: params.loaded,
        mode: params.mode,
        version: params.version,
        idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS,
        connections: httpConnections(params.openFiles),
      },
    );
    const upkeep = createUpkeep(
      {
        ...base,
        retention: createRetention({ store, clock }, kept),
        removeOldCopies: database.removeOldCopies,
      },
      { idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS, checkDomains: !anyDomain },
    );
    const alerts = createAlerts(
      {
        ...{ ...base, node, problems: http.problems, metrics: createAlertMetrics(registry), eventsStored },
        mailer: createAlertMailer(
          { ...base, acceptance, senders: domains },
          {
            operatorAddress: config['operator-address'],
            ownDomains: [config['service-domain'] ?? [], bounceDomain, config.hostname].flat(),
          },
        ),
      },
      { hostname: config.hostname },
    );
    /** Done for the whole instance: by one node at a time if there are several. */
    const once = [upkeep, guard, notices, alerts];
    const jobs =
      membership === null
        ? once
        : [createSingletonJob({ membership, clock, log: logs.service }, 'upkeep', once)];
    if (membership !== null) await start(membership);
    // Listeners are started last.
    await start(roles.has('deliver') ? engine : engine.queue.counting);
    if (roles.has('webhooks')) await start(sender);
    if (roles.has('upkeep')) for (const job of jobs) await start(job);
    const { strayMs } = params.nodeTimes ?? NODE_TIMES;
    const strays = createStrays(
      { ...base, node, freed: () => [engine.queue.wake(), webhooks.wake()] },
      { deliveries: engine.queue, calls: sender },
      strayMs,
    );
    await start(strays);
    await start(disk);
    await start(readerFacts);
    await start(http);
    listensAt = http.address();
    if (roles.has('submission')) await start(submission);
    if (returns !== null) await start(returns);
    const { host, port, url } = http.address();
    await folder.announce({ url, pid: process.pid });
    logs.service.info({ url, epoch: node.epoch, roles: config.roles, version: params.version }, 'started');

    return {
      localUrl: url,
      publicUrl: publicUrl(config, { host, port }),
      maxConnectionsInAll: connectionsInAll(params.openFiles),
      submission: { plain: submission.addresses().submission, tls: submission.addresses().submissionTls },
      returns: returns?.address() ?? null,
      adminToken: accounts.adminToken,
      version: params.version,
      failed: failed.promise,
      async reload() {
        await Promise.all([certificates.reload(), httpCertificates?.reload(), engine.traffic.reload()]);
      },
      async stop(deadlineMs) {
        logs.service.info({}, 'stopping');
        const endMs = clock.monotonicMs() + deadlineMs;
        const leftMs = () => Math.max(0, endMs - clock.monotonicMs());
        // All parts share one deadline. From now on nothing new is sent or called; what still arrives is stored for the
        // next start.
        const working = [...jobs, strays, sender].filter((service) => started.includes(service));
        const finished = Promise.all([
          ...working.map((service) => service.stop(leftMs())),
          engine.drain(leftMs()),
        ]);
        // Messages that are arriving by SMTP may still be accepted; all other clients are asked to come back.
        if (started.includes(submission)) await submission.stop(Math.min(leftMs(), SMTP_DRAIN_MS));
        if (returns !== null) await returns.stop(Math.min(leftMs(), SMTP_DRAIN_MS));
        acceptance.close();
        await http.stop(Math.min(leftMs(), HTTP_DRAIN_MS));
        await readerFacts.stop(Math.max(leftMs(), GIVE_BACK_MS));
        await disk.stop(0);
        if (!roles.has('deliver')) await engine.queue.counting.stop(0);
        await finished;
        await engine.stop(Math.max(leftMs(), GIVE_BACK_MS));
        await Promise.race([authAlarm.settled(), sleep(clock, Math.min(leftMs(), GIVE_BACK_MS))]);
        if (membership !== null) await membership.stop(GIVE_BACK_MS);
        network.close();
        await database.close();
        await folder.withdraw();
        logs.service.info({}, 'stopped');
      },
    };

    async function openHttpCertificates(): Promise<Certificates | null> {
      const { 'http-certificate': cert, 'http-certificate-key': key } = config;
      if (cert === null || key === null) return null;
      const report = (problem: string) => logs.service.error({}, problem);
      return openCertificates({ clock, report }, { kind: 'files', cert, key });
    }

    async function start(service: Service): Promise<void> {
      await service.start();
      started.push(service);
    }
  } catch (cause) {
    for (const service of started.reverse()) await service.stop(1_000).catch(() => undefined);
    await database.close();
    throw cause;
  }
}

function keysFor(sealer: Sealer, purpose: string): { id: number; secret: Uint8Array }[] {
  return sealer
    .deriveKeys(purpose, 32)
    .map(({ id, key }) => ({ id: Number.parseInt(id.charAt(0), 16), secret: key }));
}
