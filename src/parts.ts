/**
 * Builds the parts of the server and tells each which others it uses. The larger ones are built in files beside this one.
 * Nothing runs and nothing listens yet: server.ts starts and stops what this file returns.
 */
import { type Accounts, openAccounts } from './accounts.ts';
import { createCheckup, otherNodes } from './checkup.ts';
import { publicUrl } from './config/public-url.ts';
import { createEngine, type Engine } from './engine.ts';
import type { Foundation, ServerParams } from './foundation.ts';
import { createHttpApi } from './http-api.ts';
import { missingSources } from './lib/own-addresses.ts';
import { paced } from './lib/paced.ts';
import type { Sealer } from './lib/seal.ts';
import { type Certificates, openCertificates } from './lib/server-certificates.ts';
import type { Service } from './lib/service.ts';
import { createSignal } from './lib/signal.ts';
import type { HttpListener } from './listeners/http/server.ts';
import { createPersonalTokens } from './mail/personal-token.ts';
import { createReturnPathTokens } from './mail/verp.ts';
import { createRefusalMetrics } from './pipeline/accept/refusal-metrics.ts';
import { createAlertMailer } from './pipeline/alerts/alert-mail.ts';
import { createAlertMetrics } from './pipeline/alerts/alert-metrics.ts';
import { createAlerts } from './pipeline/alerts/alerts.ts';
import { createClassifier } from './pipeline/deliver/outcome/classifier/classify.ts';
import { createGuardMetrics } from './pipeline/events/guard-metrics.ts';
import { createReaderFacts } from './pipeline/events/reader-facts.ts';
import { createReaderMetrics } from './pipeline/events/reader-metrics.ts';
import { createNoticeMetrics } from './pipeline/notices/notice-metrics.ts';
import { createNotices } from './pipeline/notices/notices.ts';
import { NODE_TIMES } from './pipeline/queue/membership.ts';
import { createSingletonJob } from './pipeline/queue/singleton-job.ts';
import { createStrays } from './pipeline/queue/strays.ts';
import { type AuthAlarm, createAuthAlarm } from './policy/domains/auth-alarm.ts';
import { createDomainService } from './policy/domains/domains.ts';
import { addServiceDomain } from './policy/domains/service-domain.ts';
import { createGuardRails } from './policy/limits/guard-rails.ts';
import { createStorage } from './policy/limits/storage.ts';
import { createRetention, keptFor } from './policy/retention/retention.ts';
import { createDiskWatch } from './readiness.ts';
import {
  alertSenders,
  domainOptions,
  engineOptions,
  httpConnections,
  IDEMPOTENCY_WINDOW_MS,
  identitySettings,
  keptTimes,
  noticeOptions,
  storageLimits,
  submissionConnections,
  takesAnyDomain,
} from './server-options.ts';
import { createTlsContexts } from './smtp/client-tls.ts';
import type { ListenAddress } from './smtp/server-listener.ts';
import { openSmtpListeners, type SmtpListeners } from './smtp-listeners.ts';
import { createUpkeep } from './upkeep.ts';
import { createWebhooks, type WebhookParts } from './webhooks.ts';

export interface Parts {
  accounts: Accounts;
  engine: Engine;
  webhooks: WebhookParts;
  submission: SmtpListeners['submission'];
  returns: SmtpListeners['returns'];
  http: HttpListener;
  /** Opens and clicks, written together. */
  readerFacts: Service;
  /** Finds work that other nodes left behind. */
  strays: Service;
  disk: Service;
  /** Upkeep, guard-rails, notices and alerts; of several nodes, one does them at a time. */
  jobs: readonly Service[];
  authAlarm: AuthAlarm;
  /** Reads certificates, shaping data and reply rules again. */
  reload(): Promise<void>;
}

/** However often others change settings. */
const READ_AGAIN_MS = 1_000;
/** Living ones come first. */
const MAX_NODES = 100;

/** Rejects with a message that an operator can act on. */
export async function createParts(foundation: Foundation, params: ServerParams): Promise<Parts> {
  const { config, routing } = params.loaded;
  const { mode, version } = params;
  const { logs, clock, clockWatch, random, registry, failpoints, folder, database, store } = foundation;
  const { sealer, instanceId, node, membership, network, sources } = foundation;
  const { resolver, filter } = network;
  const anyDomain = takesAnyDomain(params.loaded, mode);

  // ── whose mail, and by whom ─────────────────────────────────────────────────────────────────────────────
  const checkup = createCheckup({
    ...{ config, routing, resolver, filter, http: network.policyHttp, clock, random },
    ...{ dataFolder: folder.path, zonePort: params.trust?.zonePort, ca: params.trust?.ca },
    identityProvider: () => accounts.identityProvider?.problem() ?? null,
    databaseUpkeep: store.databaseUpkeep,
    nodes: async () =>
      membership === null
        ? null
        : otherNodes(await store.listNodes({ limit: MAX_NODES }), { epoch: membership.epoch, version }),
  });
  const domains = createDomainService(
    { store, resolver, sealer, clock, random, doctor: checkup.domains },
    { ...domainOptions(config), anyDomain, spfIncludes: checkup.spfIncludes },
  );
  if (config.roles.includes('deliver'))
    await addServiceDomain(domains, config['service-domain'], logs.service);
  if (!config.dkim) logs.service.warn({}, 'messages are not signed (dkim=off); a relay behind must do it');
  const accounts = await openAccounts(
    {
      ...{ store, clock, random, sealer, instanceId, log: logs.service, mailLog: logs.mail },
      countRefusal: createRefusalMetrics(registry),
      ...{ http: network.http, operatorHttp: network.operatorHttp },
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
  const nodes = () => 1 + (membership?.others().length ?? 0);

  // ── what is told of it ──────────────────────────────────────────────────────────────────────────────────
  const webhooks = createWebhooks(
    {
      ...{ ...base, http: network.http, sealer, node, log: logs },
      nodes,
      suspectsClock: clockWatch.isSuspect,
    },
    config,
  );
  const stored = createSignal();
  const eventsStored = (): void => {
    webhooks.wake();
    stored.notify();
  };
  const authAlarm = createAuthAlarm({ ...base, eventsStored });

  // ── how it is sent ──────────────────────────────────────────────────────────────────────────────────────
  for (const { id, address } of missingSources(sources.own)) {
    logs.service.warn({ source: id, address }, 'this machine has no such address');
  }
  const disk = createDiskWatch({ clock, log: logs.service }, database.folder);
  const storage = createStorage({ store, clock, freeBytes: disk.freeBytes }, storageLimits(config));
  const kept = keptTimes(config);
  const classifier = createClassifier();
  const personalTokens = createPersonalTokens(keysFor(sealer, 'personal-links'));
  const tokens = createReturnPathTokens(keysFor(sealer, 'return-path'));
  /** Known once the listener is up. */
  let listensAt: ListenAddress | null = null;
  const ownUrl = (): string => publicUrl(config, listensAt ?? config.http);
  const engine = await createEngine(
    {
      ...(membership === null ? {} : { membership }),
      ...{ ...base, logs, node, classifier, failpoints, tokens, personalTokens, eventsStored, storage },
      filter: network.mxFilter,
      policyHttp: network.policyHttp,
      tlsContexts: createTlsContexts({ ca: params.trust?.ca }),
      authFailing: authAlarm.raise,
      holdBulk: (name, why) => guard.holdListed(name, why),
      keepsContent: (settings) => keptFor(settings, kept).contentMs > 0,
      refusing: () => disk.refusing(),
      suspectsClock: clockWatch.isSuspect,
      publicUrl: ownUrl,
    },
    {
      ...engineOptions(params.loaded, mode, folder.path, params),
      foreignSources: new Set(sources.foreign.map(({ id }) => id)),
    },
  );
  const { acceptance } = engine;
  const guard = createGuardRails({ ...base, node, holds: engine.traffic.holds, eventsStored });
  createGuardMetrics(registry, guard.levels);
  const readAgain = paced(clock, READ_AGAIN_MS, () => {
    for (const part of [domains, accounts, engine]) part.readAgain();
  });
  store.onHint(({ queues, calls, settings, suppressions }) => {
    engine.queue.hinted(queues);
    if (calls) eventsStored();
    if (settings) readAgain();
    if (suppressions) engine.queue.suppressionsChanged();
  });
  const { strayMs } = params.nodeTimes ?? NODE_TIMES;
  const strays = createStrays(
    { ...base, node, freed: () => [engine.queue.wake(), webhooks.wake()] },
    { deliveries: engine.queue, calls: webhooks.sender },
    strayMs,
  );

  // ── where it comes in ───────────────────────────────────────────────────────────────────────────────────
  const readerFacts = createReaderFacts({ ...base, metrics: createReaderMetrics(registry), eventsStored });
  const smtp = await openSmtpListeners(
    { ...base, engine, accounts, classifier, tokens, eventsStored },
    {
      ...{ config, mode, folder: folder.path, anyDomain },
      connections: submissionConnections(params.openFiles),
    },
  );
  const httpCertificates = await openHttpCertificates(foundation, params);
  const listener = createHttpApi(
    {
      ...{ ...base, node, nodes, engine, accounts, guard, webhooks, checkup, storage, sealer },
      ...{
        personalTokens,
        readerFacts,
        eventsStored,
        stored,
        publicUrl: ownUrl,
        clockWatch,
        storeSpeed: foundation.storeSpeed,
        logTrouble: params.logTrouble ?? (() => null),
      },
      ...{
        returns: smtp.returns,
        submissionPorts: smtp.submission.addresses,
        certificates: httpCertificates,
        smtpCertificates: smtp.certificates,
      },
    },
    {
      ...{ loaded: params.loaded, mode, anyDomain, version, idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS },
      ...(params.command === undefined ? {} : { command: params.command }),
      connections: httpConnections(params.openFiles),
    },
  );

  const http: HttpListener = {
    ...listener,
    async start() {
      await listener.start();
      listensAt = listener.address();
    },
  };

  // ── what is done for the whole instance ─────────────────────────────────────────────────────────────────
  const notices = createNotices(
    { ...base, acceptance, metrics: createNoticeMetrics(registry) },
    noticeOptions(config),
  );
  const retention = createRetention({ store, clock }, kept);
  const upkeep = createUpkeep(
    { ...base, retention, removeOldCopies: database.removeOldCopies, suspectsClock: clockWatch.isSuspect },
    { idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS, checkDomains: !anyDomain },
  );
  const mailer = createAlertMailer({ ...base, acceptance, senders: domains }, alertSenders(config));
  const alerts = createAlerts(
    {
      ...{ ...base, node, mailer, eventsStored },
      ...{ problems: http.problems, metrics: createAlertMetrics(registry) },
    },
    { hostname: config.hostname },
  );
  const once = [upkeep, guard, notices, alerts];
  return {
    ...{ accounts, engine, webhooks, http, readerFacts, strays, disk, authAlarm },
    ...{ submission: smtp.submission, returns: smtp.returns },
    jobs:
      membership === null
        ? once
        : [createSingletonJob({ membership, clock, log: logs.service }, 'upkeep', once)],
    async reload() {
      await Promise.all([smtp.certificates.reload(), httpCertificates?.reload(), engine.traffic.reload()]);
    },
  };
}

async function openHttpCertificates(
  { clock, logs }: Foundation,
  { loaded: { config } }: ServerParams,
): Promise<Certificates | null> {
  const { 'http-certificate': cert, 'http-certificate-key': key } = config;
  if (cert === null || key === null) return null;
  const report = (problem: string) => logs.service.error({}, problem);
  const renewed = (news: string) => logs.service.info({}, news);
  return openCertificates({ clock, report, renewed }, { kind: 'files', cert, key });
}

function keysFor(sealer: Sealer, purpose: string): { id: number; secret: Uint8Array }[] {
  return sealer
    .deriveKeys(purpose)
    .map(({ id, key }) => ({ id: Number.parseInt(id.charAt(0), 16), secret: key }));
}
