/**
 * The composition root: configuration in, a running server out.
 *
 *   data folder and secrets → store → node epoch → parts → roles started in order → stopped in reverse
 *
 * Nothing else in the program knows which engine, clock or resolver is used. `stop` drains: nothing new is taken,
 * transactions under way finish, leases are given back, the store is closed last. It is one piece, though long, because
 * every part is made here and nowhere else: what each is given stands in one place.
 */
import { dirname, join } from 'node:path';
import { collectDefaultMetrics, Registry } from 'prom-client';
import { createCheckup } from './checkup.ts';
import type { Mode } from './config/key-facts.ts';
import type { Role } from './config/keys/server.ts';
import { publicUrl } from './config/public-url.ts';
import { configRows } from './config/shown.ts';
import type { LoadedConfig } from './config.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { type Clock, sleep, systemClock } from './lib/clock.ts';
import { createFailpoints, type Failpoints, NO_FAILPOINTS } from './lib/failpoints.ts';
import { uuidv7 } from './lib/ids.ts';
import type { Loggers } from './lib/log.ts';
import type { Service } from './lib/loop.ts';
import { createSystemRandom } from './lib/random.ts';
import { createSealer } from './lib/seal.ts';
import { createSignal } from './lib/signal.ts';
import { createHealthRoutes } from './listeners/health/health.ts';
import { DEFAULT_EMAIL_LIMITS } from './listeners/http/contract/email-limits.ts';
import { createHttpListener } from './listeners/http/server.ts';
import { createReturns, type Returns } from './listeners/returns/open-returns.ts';
import { createSubmissionListener, DEFAULT_SUBMISSION_OPTIONS } from './listeners/submission/listener.ts';
import { createTrackingRoutes } from './listeners/tracking/tracking.ts';
import { createPersonalTokens } from './mail/personal-token.ts';
import { createReturnPathTokens } from './mail/verp.ts';
import type { Caller } from './model/submission.ts';
import { createAddressFilter } from './net/address-filter.ts';
import { createGuardedHttp } from './net/guarded-http.ts';
import { ownAddresses } from './net/own-addresses.ts';
import { createResolver } from './net/resolver.ts';
import { makeSelfSigned } from './net/self-signed.ts';
import { parseServers } from './net/system-resolvers.ts';
import { createAcceptance } from './pipeline/accept/accept.ts';
import { createAcceptMetrics } from './pipeline/accept/accept-metrics.ts';
import { createClassifier } from './pipeline/deliver/classifier/classify.ts';
import { createDeliver } from './pipeline/deliver/deliver.ts';
import { createDeliverMetrics } from './pipeline/deliver/deliver-metrics.ts';
import { createPlacements } from './pipeline/deliver/placements.ts';
import { createPort25Watch } from './pipeline/deliver/port-25.ts';
import { createRelayHealth } from './pipeline/deliver/relay-health.ts';
import { createRoutes } from './pipeline/deliver/routes.ts';
import { createSettlementRules } from './pipeline/deliver/settlement.ts';
import { createTenantLessons } from './pipeline/deliver/tenant-lessons.ts';
import { createTlsCounters, createTlsMetrics } from './pipeline/deliver/tls-counters.ts';
import { createMtaSts } from './pipeline/deliver/tls-mta-sts.ts';
import { createGuardMetrics } from './pipeline/events/guard-metrics.ts';
import { createReaderFacts } from './pipeline/events/reader-facts.ts';
import { createReaderMetrics } from './pipeline/events/reader-metrics.ts';
import { createReturnMetrics } from './pipeline/events/returns-metrics.ts';
import { createNoticeMetrics } from './pipeline/notices/notice-metrics.ts';
import { createNotices } from './pipeline/notices/notices.ts';
import { createQueue, QUEUE_DEFAULTS, type SiteQuestion } from './pipeline/queue/queue.ts';
import { createQueueMetrics } from './pipeline/queue/queue-metrics.ts';
import { createRetrySchedule } from './pipeline/queue/retry-schedule.ts';
import { createWebhookMetrics } from './pipeline/webhooks/metrics.ts';
import { createWebhookSender, type WebhookSender } from './pipeline/webhooks/sender.ts';
import { createWebhookService } from './pipeline/webhooks/webhooks.ts';
import { createAccess } from './policy/access/access.ts';
import { requireSealingSecret } from './policy/access/signing-keys.ts';
import { createSmtpCredentials } from './policy/access/smtp-credentials.ts';
import { createAuthAlarm } from './policy/domains/auth-alarm.ts';
import { createDomainService } from './policy/domains/domains.ts';
import { addServiceDomain } from './policy/domains/service-domain.ts';
import { createGuardRails } from './policy/limits/guard-rails.ts';
import { type Hold, holdReason, siteNames } from './policy/limits/holds.ts';
import { createSendRate } from './policy/limits/send-rate.ts';
import { createTenantPauses } from './policy/limits/shaping/tenant-pauses.ts';
import { createWarmup } from './policy/limits/warmup/warmup.ts';
import { createRetention, keptFor } from './policy/retention/retention.ts';
import { createSandboxRules } from './policy/sandbox/sandbox-rules.ts';
import { createDiskWatch, missingSources, readiness } from './readiness.ts';
import { createTlsContexts } from './smtp/client-tls.ts';
import { openCertificates } from './smtp/server-certificates.ts';
import type { ListenAddress } from './smtp/server-listener.ts';
import { openSqliteStore } from './store/sqlite/open.ts';
import { openTraffic } from './traffic.ts';
import { createUpkeep } from './upkeep.ts';

export interface RunningServer {
  /** `http://127.0.0.1:8025`, where the listener really is. */
  readonly localUrl: string;
  /** What clients and links use. */
  readonly publicUrl: string;
  /** Where SMTP submission listens; null = off. */
  readonly submission: { plain: ListenAddress | null; tls: ListenAddress | null };
  /** Where mail that comes back is taken; null = off. */
  readonly returns: ListenAddress | null;
  /** The administrator's token, also in the file `admin-token`. */
  readonly adminToken: string;
  readonly version: string;
  /** Reads certificates, shaping data and reply rules again (SIGHUP). */
  reload(): Promise<void>;
  stop(deadlineMs: number): Promise<void>;
}

export interface ServerParams {
  mode: Mode;
  loaded: LoadedConfig;
  logs: Loggers;
  version: string;
  /** A failpoint specification; given only under test. */
  failpoints?: string | undefined;
  /** Ends the process at once. */
  kill?: () => void;
  clock?: Clock;
  /**
   * Under test: authorities to trust in place of the built-in ones for mail servers and MTA-STS policies, the port of
   * these, and that of the name servers of zones.
   */
  trust?: { ca: readonly string[]; mtaStsPort: number; zonePort?: number };
}

const IDEMPOTENCY_WINDOW_MS = 24 * 3_600_000;
/** Calls start at the latest this long after their event; between them the sender is not asked. */
const WEBHOOK_WAKE_MS = 50;
/** Who has not sent the rest of a message by then sends it again. */
const SMTP_DRAIN_MS = 10_000;
/** Requests that run end within this. */
const HTTP_DRAIN_MS = 5_000;
/** Writing down what is given back takes at least this, however long the rest took. */
const GIVE_BACK_MS = 1_000;
/** Who submits on loopback without a login; in development only. */
const WITHOUT_LOGIN: Caller = {
  tokenId: 'smtp-without-login',
  owner: 'smtp-without-login',
  domains: ['*'],
  scopes: new Set(['email:send']),
  sandbox: false,
  rateLimit: null,
};

/** Starts every role of the configuration. Rejects with a message an operator can act on. */
export async function startServer(params: ServerParams): Promise<RunningServer> {
  const { config, routing } = params.loaded;
  const { logs } = params;
  const clock = params.clock ?? systemClock;
  const random = createSystemRandom();
  const failpoints: Failpoints =
    params.failpoints === undefined || params.kill === undefined
      ? NO_FAILPOINTS
      : createFailpoints(params.failpoints, params.kill);

  const folder = await openDataFolder(config.data, config['secret-key'], random);
  const store = await openSqliteStore({
    path: sqlitePath(config.database, folder),
    clock,
    failStoreWrites: failpoints.failStoreWrites,
    log: (level, message, fields) => logs.service[level](fields, message),
  });
  const started: Service[] = [];
  try {
    const sealer = createSealer(folder.secrets);
    await requireSealingSecret(store, sealer);
    const instanceId = await store.instanceId({ proposedId: uuidv7(clock, random) });
    const epoch = await store.beginEpoch({ nodeId: folder.nodeId, now: clock.now() });
    const roles = new Set<Role>(config.roles);
    const registry = new Registry();
    collectDefaultMetrics({ register: registry });

    const servers = parseServers(config.dns.length === 0 ? 'system' : config.dns.join(','));
    if (servers.kind === 'invalid') throw new Error(`dns "${servers.text}": ${servers.detail}`);
    const resolver = createResolver({
      clock,
      random,
      servers: servers.servers,
      trustedAd: config['dns-trusted'],
    });
    const filter = createAddressFilter({ allowNetworks: config['allow-networks'] });
    if (filter.kind === 'invalid') throw new Error(`allow-networks "${filter.text}": ${filter.detail}`);

    // Policies of recipients' domains: a web server of theirs, and authorities of ours under test.
    const policyHttp = createGuardedHttp(
      { clock, resolver, filter },
      params.trust === undefined ? {} : { ca: params.trust.ca },
    );
    const bounceDomain = config['bounce-domain'] ?? config.hostname;
    const sandboxRules = createSandboxRules({ store, clock, random });
    await sandboxRules.load();
    const routes = createRoutes({
      rules: routing.routes,
      targets: config.route,
      sources: routing.sources,
    });
    const allTargets = [...config.route, ...routing.routes.flatMap(({ targets }) => targets)];
    const anyDomain = params.mode === 'dev' && allTargets.every((route) => route.kind === 'sandbox');
    const checkup = createCheckup({
      config,
      routing,
      resolver,
      filter,
      http: policyHttp,
      clock,
      random,
      dataFolder: folder.path,
      zonePort: params.trust?.zonePort,
      ca: params.trust?.ca,
    });
    const domains = createDomainService(
      { store, resolver, sealer, clock, random, doctor: checkup.domains },
      {
        anyDomain,
        selectorPrefix: 'pr',
        bounceDomain,
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
    const access = createAccess({ store, clock, random, sealer, instanceId, log: logs.service });
    const smtpCredentials = createSmtpCredentials({ store, clock, random, log: logs.service });
    const sendRate = createSendRate(clock, { perSecond: config['rate-limit'] });
    const adminToken = await folder.adminToken(async (existing) => {
      if (existing !== null && (await isUsable(existing))) return existing;
      const minted = await access.mint({
        name: 'admin',
        domains: ['*'],
        scopes: ['admin'],
        expiresInSeconds: null,
        sandbox: false,
        ipAllowList: [],
        rateLimit: null,
      });
      return minted.jwt;
    });

    let webhookSender: WebhookSender | null = null;
    const stored = createSignal();
    const wakeWebhooks = coalesced(clock, WEBHOOK_WAKE_MS, () => webhookSender?.wake());
    const eventsStored = (): void => {
      wakeWebhooks();
      stored.notify();
    };
    const classifier = createClassifier();
    const traffic = await openTraffic(
      { store, clock, random, classifier, log: logs.service },
      {
        folder: folder.path,
        maxConnections: config['max-connections'],
        sourceIds: new Set(routing.sources.map(({ id }) => id)),
        // A command that looks something up is not to fail over a file that only delivery reads.
        strict: roles.has('deliver'),
      },
    );
    const { holds, shaping } = traffic;
    const guard = createGuardRails({
      store,
      holds,
      clock,
      random,
      log: logs.service,
      eventsStored,
    });
    createGuardMetrics(registry, guard.levels);
    const retry = createRetrySchedule(random, config.retry);
    const relayed = allTargets.some((route) => route.kind === 'relay');
    const authAlarm = createAuthAlarm({ domains, store, clock, random, log: logs.service, eventsStored });
    const rules = createSettlementRules({
      clock,
      random,
      epoch,
      retry,
      relayed,
      atMostOnce: domains.sendsAtMostOnce,
    });
    const newSources = routing.sources.flatMap(({ id, newSince }) => (newSince === null ? [] : [id]));
    const warmup = createWarmup({ store, clock, log: logs.service }, { sources: newSources });
    await warmup.start();
    const placements = createPlacements({ routes, resolver, shaping, warmup, clock });
    const heldBy = (question: SiteQuestion): Hold | null =>
      holds.heldBy({ ...question, sites: placements.sitesOf(question).flatMap(siteNames) });
    const pauses = createTenantPauses(traffic.overrides);
    const pausedBy = (question: SiteQuestion) => {
      const place = pauses.any() ? placements.placement(placements.nameOf(question)) : null;
      return place?.kind === 'path' ? pauses.of(question.senderDomain, place) : null;
    };
    const queue = createQueue(
      {
        store,
        clock,
        random,
        log: logs.service,
        epoch,
        siteOf: placements.nameOf,
        expire: rules.expire,
        suppressed: rules.suppressed,
        heldBy(question) {
          const hold = heldBy(question);
          return hold === null ? pausedBy(question) : { reason: holdReason(hold), until: hold.until };
        },
        eventsStored,
      },
      { ...QUEUE_DEFAULTS, highWaterMark: config['queue-limit'] },
    );
    holds.onChange(() => queue.holdsChanged());
    const personalTokens = createPersonalTokens(
      sealer
        .deriveKeys('personal-links', 32)
        .map(({ id, key }) => ({ id: Number.parseInt(id.charAt(0), 16), secret: key })),
    );
    const returnPathKeys = sealer
      .deriveKeys('return-path', 32)
      .map(({ id, key }) => ({ id: Number.parseInt(id.charAt(0), 16), secret: key }));
    const mxFilter = createAddressFilter({
      allowNetworks: config['allow-networks'],
      own: ownAddresses([config.http, config.submission, config['submission-tls'], config.returns]),
    });
    if (mxFilter.kind === 'invalid') throw new Error(`allow-networks "${mxFilter.text}": ${mxFilter.detail}`);
    const tlsCounters = createTlsCounters({
      store,
      clock,
      log: logs.service,
      metrics: createTlsMetrics(registry),
    });
    const mtaSts = createMtaSts(
      {
        store,
        resolver,
        http: policyHttp,
        clock,
        log: logs.service,
        failed: (domain, result) => tlsCounters.count({ domain, policy: 'sts', mxHost: '', result }),
      },
      params.trust === undefined ? {} : { port: params.trust.mtaStsPort },
    );
    const returnPathTokens = createReturnPathTokens(returnPathKeys);
    for (const source of missingSources(routing.sources)) {
      logs.service.warn({ source: source.id, address: source.address }, 'this machine has no such address');
    }
    const relays = createRelayHealth(clock);
    const port25 = createPort25Watch({ clock, log: logs.service }, { port: config['mx-port'] });
    const deliver = createDeliver(
      {
        store,
        queue,
        placements,
        shaping,
        warmup,
        overrides: traffic.overrides,
        memory: traffic.pathMemory,
        rules,
        retry,
        signers: domains,
        senders: domains,
        tokens: returnPathTokens,
        personalTokens,
        resolver,
        filter: mxFilter,
        tlsContexts: createTlsContexts({ ca: params.trust?.ca }),
        mtaSts,
        tlsCounters,
        clock,
        random,
        log: logs.service,
        mailLog: logs.mail,
        classifier,
        metrics: createDeliverMetrics(registry),
        relays,
        port25,
        tenantLessons: createTenantLessons({
          clock,
          log: logs.service,
          overrides: traffic.overrides,
          authFailing: authAlarm.raise,
          holdBulk: (name, why) => guard.holdListed(name, why),
        }),
        faults: sandboxRules,
        failpoints,
      },
      {
        heloName: config.hostname,
        bounceDomain,
        mxPort: config['mx-port'],
        ipv6: config.ipv6,
        // The shaping data says how many; this is what it may say at most.
        maxConnections: 1000,
      },
    );

    const guardedHttp = createGuardedHttp({ clock, resolver, filter });
    const allowHttp = config['webhook-allow-http'] ? 'always' : 'listed-networks';
    const webhooks = createWebhookService({ store, http: guardedHttp, clock, random, sealer }, { allowHttp });
    const sender = createWebhookSender(
      {
        store,
        http: guardedHttp,
        clock,
        random,
        sealer,
        epoch,
        log: logs,
        metrics: createWebhookMetrics(registry),
      },
      { allowHttp, ...(config['webhook-retry'] === null ? {} : { retryDelaysMs: config['webhook-retry'] }) },
    );

    let returns: Returns | null = null;
    const returnsReadiness = () => {
      if (returns === null) return [];
      const refused = returns.refusing();
      return [{ name: 'returns', ok: refused === null, detail: refused ?? '' }];
    };
    const disk = createDiskWatch(clock, dirname(sqlitePath(config.database, folder)));
    const kept = {
      contentMs: config['retain-content'],
      eventsMs: config['retain-events'],
      callsMs: config['retain-calls'],
      capturesMs: config['retain-captures'],
      contentBytes: config['retain-content-bytes'],
    };
    /** Known once the listener is up; nothing is accepted before. */
    let listensAt: { host: string; port: number } | null = null;
    const ownUrl = (): string => publicUrl(config, listensAt ?? config.http);
    const readerFacts = createReaderFacts({
      store,
      clock,
      random,
      log: logs.service,
      metrics: createReaderMetrics(registry),
      eventsStored,
    });
    const acceptance = createAcceptance(
      {
        store,
        senders: domains,
        keepsContent: async (name) => keptFor(await domains.settingsOf(name), kept).contentMs > 0,
        queue,
        clock,
        random,
        epoch,
        log: logs.mail,
        metrics: createAcceptMetrics(registry),
        failpoints,
        eventsStored,
        refusing: () => disk.refusing(),
        publicUrl: ownUrl,
        faultMayFit: (mail) =>
          sandboxRules.mayPlay(mail) && routes.wayOf({ ...mail, sandbox: null }).kind === 'sandbox',
      },
      {
        // An unsubscribe address helps only where somebody reads what comes there.
        mailtoDomain: config.returns === null ? null : bounceDomain,
        maxMessageBytes: config['max-message-bytes'],
        simulatorDomain: config['simulator-domain'],
        maxAgeMs: config['max-age'],
        idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS,
      },
    );
    createQueueMetrics(registry, { store, queue, clock });
    const notices = createNotices(
      { store, acceptance, clock, random, log: logs.service, metrics: createNoticeMetrics(registry) },
      {
        hostname: config.hostname,
        waitMs: config['notice-wait'],
        perHour: config['notices-per-hour'],
      },
    );

    const http = createHttpListener(
      {
        store,
        access,
        smtpCredentials,
        sendRate,
        acceptance,
        domains,
        doctor: {
          instance: () =>
            checkup.instance({
              suspicion: port25.suspicion(),
              returns: returns?.address() ?? (config.returns === null ? 'off' : 'elsewhere'),
            }),
        },
        guard,
        webhooks,
        queue,
        sandboxRules,
        leadsOut: (mail) => routes.wayOf({ ...mail, sandbox: null }).kind !== 'sandbox',
        eventsStored,
        onStored: stored.subscribe,
        warmup,
        traffic: {
          overrides: traffic.overrides,
          holds,
          heldBy: (question) => heldBy({ ...question, sandbox: null }),
          pausedBy: (question) => pausedBy({ ...question, sandbox: null })?.reason ?? null,
          paths: deliver.paths,
          waits: deliver.waits,
          relays: relays.unhealthy,
          limitsFor: shaping.limitsFor,
          async providerOf(domain) {
            const found = await resolver.mx(domain);
            const hosts = found.kind === 'found' ? found.records.map(({ exchange }) => exchange) : [];
            return shaping.groupingOf(domain, hosts).provider;
          },
        },
        config: () =>
          configRows(params.mode, params.loaded).map((row) => ({
            Key: row.key,
            Value: row.value,
            Source: row.source,
            Default: row.default,
            Meaning: row.meaning,
          })),
        clock,
        random,
        log: logs.service,
        routes: [
          ...createHealthRoutes({
            metrics: registry,
            access,
            ready: async () => [
              ...(await readiness(store, acceptance.refusing, port25.suspicion)),
              ...returnsReadiness(),
            ],
          }),
          ...createTrackingRoutes({ tokens: personalTokens, facts: readerFacts, publicUrl: ownUrl }),
        ],
      },
      {
        host: config.http.host,
        port: config.http.port,
        ...(config['public-url'] === null ? {} : { publicUrl: config['public-url'] }),
        trustedProxies: config['trusted-proxies'],
        blockedExtensions: config['blocked-extensions'],
        email: { ...DEFAULT_EMAIL_LIMITS, maxRecipients: config['max-recipients'] },
        sendsPerSecond: config['rate-limit'],
        maxAgeMs: config['max-age'],
        simulatorDomain: config['simulator-domain'],
        idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS,
      },
    );

    const certificates = await openCertificates(
      { clock, report: (message, err) => logs.service.error({ err }, message) },
      // Who does not listen, a command for example, needs no files.
      (roles.has('submission') || config.returns !== null) &&
        config['tls-cert'] !== null &&
        config['tls-key'] !== null
        ? { kind: 'files', cert: config['tls-cert'], key: config['tls-key'] }
        : { kind: 'pair', pair: makeSelfSigned({ clock, random }, [config.hostname]) },
    );
    const submission = createSubmissionListener(
      {
        access,
        credentials: smtpCredentials,
        sendRate,
        acceptance,
        senders: domains,
        certificates,
        clock,
        random,
        log: logs.service,
      },
      {
        submission: config.submission,
        submissionTls: config['submission-tls'],
        hostname: config.hostname,
        loopbackCaller: params.mode === 'dev' ? WITHOUT_LOGIN : null,
        limits: {
          ...DEFAULT_SUBMISSION_OPTIONS.limits,
          maxMessageBytes: config['max-message-bytes'],
          // RFC 5321 §4.5.3.1.8: never fewer than a hundred.
          maxRecipients: Math.max(100, config['max-recipients']),
        },
      },
    );

    if (config.returns !== null && roles.has('returns')) {
      returns = createReturns(
        {
          store,
          tokens: returnPathTokens,
          classifier,
          keys: async (name) => {
            const answer = await resolver.txt(name);
            if (answer.kind === 'found') return { kind: 'found', texts: answer.records };
            return { kind: answer.kind === 'failure' ? 'failure' : 'none' };
          },
          certificates,
          clock,
          random,
          log: logs.service,
          metrics: createReturnMetrics(registry),
          acceptance,
          senders: domains,
          eventsStored,
        },
        {
          listen: config.returns,
          hostname: config.hostname,
          bounceDomain,
          operatorAddress: config['operator-address'],
          data: folder.path,
        },
      );
    }

    const upkeep = createUpkeep(
      {
        store,
        domains,
        retention: createRetention({ store, clock }, kept),
        clock,
        log: logs.service,
      },
      { idempotencyWindowMs: IDEMPOTENCY_WINDOW_MS, checkDomains: !anyDomain },
    );
    // Delivery is ready before work is handed out; listeners come last.
    if (roles.has('deliver')) await start(tlsCounters);
    if (roles.has('deliver')) await start(mtaSts);
    if (roles.has('deliver')) await start(deliver);
    if (roles.has('deliver')) await start(queue);
    if (roles.has('webhooks')) await start(sender);
    webhookSender = sender;
    if (roles.has('upkeep')) await start(upkeep);
    if (roles.has('upkeep')) await start(guard);
    if (roles.has('upkeep')) await start(notices);
    await start(disk);
    await start(readerFacts);
    await start(http);
    listensAt = http.address();
    if (roles.has('submission')) await start(submission);
    if (returns !== null) await start(returns);
    const { host, port, url } = http.address();
    await folder.announce({ url, pid: process.pid });
    logs.service.info({ url, epoch, roles: config.roles, version: params.version }, 'started');

    return {
      localUrl: url,
      publicUrl: publicUrl(config, { host, port }),
      submission: { plain: submission.addresses().submission, tls: submission.addresses().submissionTls },
      returns: returns?.address() ?? null,
      adminToken,
      version: params.version,
      async reload() {
        await Promise.all([certificates.reload(), traffic.reload()]);
      },
      async stop(deadlineMs) {
        logs.service.info({}, 'stopping');
        const endMs = clock.monotonicMs() + deadlineMs;
        const leftMs = () => Math.max(0, endMs - clock.monotonicMs());
        // All draw on one deadline. Nothing new is sent or called from now on; what still arrives is kept for the next
        // start.
        const working = [upkeep, guard, notices, sender, deliver].filter((service) =>
          started.includes(service),
        );
        const finished = Promise.all(working.map((service) => service.stop(leftMs())));
        // Messages that are arriving by SMTP may still be taken; everybody else is told to come back.
        if (started.includes(submission)) await submission.stop(Math.min(leftMs(), SMTP_DRAIN_MS));
        if (returns !== null) await returns.stop(Math.min(leftMs(), SMTP_DRAIN_MS));
        acceptance.close();
        await http.stop(Math.min(leftMs(), HTTP_DRAIN_MS));
        await readerFacts.stop(Math.max(leftMs(), GIVE_BACK_MS));
        await disk.stop(0);
        await finished;
        // The queue gives back what was never started, and waits for the last outcomes to be stored.
        if (started.includes(queue)) await queue.stop(Math.max(leftMs(), GIVE_BACK_MS));
        await traffic.flush();
        await warmup.stop();
        for (const service of [mtaSts, tlsCounters])
          if (started.includes(service)) await service.stop(leftMs());
        await Promise.race([authAlarm.settled(), sleep(clock, Math.min(leftMs(), GIVE_BACK_MS))]);
        guardedHttp.close();
        policyHttp.close();
        resolver.close();
        await store.close();
        await folder.withdraw();
        logs.service.info({}, 'stopped');
      },
    };

    async function start(service: Service): Promise<void> {
      await service.start();
      started.push(service);
    }

    async function isUsable(jwt: string): Promise<boolean> {
      return access.authenticate(`Bearer ${jwt}`, '127.0.0.1').then(
        () => true,
        () => false,
      );
    }
  } catch (cause) {
    for (const service of started.reverse()) await service.stop(1_000).catch(() => undefined);
    await store.close();
    throw cause;
  }
}

function sqlitePath(database: string, folder: DataFolder): string {
  const path = database.slice('sqlite:'.length);
  return path === '' ? join(folder.path, 'postrider.db') : path;
}

/** `fire` once within `delayMs` of the first call, however many calls there are until then. */
function coalesced(clock: Clock, delayMs: number, fire: () => void): () => void {
  let waiting = false;
  return () => {
    if (waiting) return;
    waiting = true;
    clock.setTimer(delayMs, () => {
      waiting = false;
      fire();
    });
  };
}
