/**
 * Builds the delivery engine: acceptance, queue and delivery with everything they use. Takes the store, a clock,
 * randomness, name resolution and everything else outside; returns one service. The server runs it, and so does the
 * simulation, which simulates everything outside.
 *
 * Without `start()` messages are accepted, and nothing is sent. It stops in two steps, because mail may arrive while
 * the last transactions finish: `drain` sends nothing new, `stop` releases what is still leased and stores what is not
 * stored yet. `createEngine` throws only for a mistake in an operator's file, or an error of the store.
 */
import type { Registry } from 'prom-client';
import type { RouteRule, SourceConfig } from './config-routing.ts';
import type { Loggers } from './lib/log.ts';
import type { Service } from './lib/service.ts';
import type { DomainSettings } from './model/domain.ts';
import type { NodeLease } from './model/node.ts';
import { allTargets, type Route } from './model/route.ts';
import type { GuardedHttp } from './net/guarded-http.ts';
import { type AcceptOptions, createAcceptance } from './pipeline/accept/accept.ts';
import { createAcceptMetrics } from './pipeline/accept/accept-metrics.ts';
import { createDeliver, type Deliver } from './pipeline/deliver/deliver.ts';
import type { DeliverDeps, DeliverOptions } from './pipeline/deliver/deliver-deps.ts';
import { createDeliverMetrics } from './pipeline/deliver/deliver-metrics.ts';
import type { Classifier } from './pipeline/deliver/outcome/classifier/classify.ts';
import { createEndLog } from './pipeline/deliver/outcome/finish.ts';
import { createSenderEffects } from './pipeline/deliver/outcome/sender-effects.ts';
import { createSettlementRules } from './pipeline/deliver/outcome/settlement.ts';
import { relaysAsTried } from './pipeline/deliver/path/relay-times.ts';
import { createPathStates } from './pipeline/deliver/path/states.ts';
import { createPersonalTexts, type PersonalTexts } from './pipeline/deliver/prepare/personal-texts.ts';
import { createEgressLeases } from './pipeline/deliver/routing/egress-leases.ts';
import { createPort25Watch, type Port25Watch } from './pipeline/deliver/routing/port-25.ts';
import {
  createRelayHealth,
  type RelayHealth,
  type RelayState,
} from './pipeline/deliver/routing/relay-health.ts';
import { createRoutes, type Routes } from './pipeline/deliver/routing/routes.ts';
import { createSites } from './pipeline/deliver/routing/sites.ts';
import { createTlsCounter } from './pipeline/deliver/tls/counters.ts';
import { createMtaSts } from './pipeline/deliver/tls/mta-sts.ts';
import { createTryNow, type TryNow } from './pipeline/deliver/try-now.ts';
import { createQueue } from './pipeline/queue/create-queue.ts';
import type { Gate, KeptBack, SiteQuestion } from './pipeline/queue/gate.ts';
import type { Membership } from './pipeline/queue/membership.ts';
import type { Queue, QueueOptions } from './pipeline/queue/queue.ts';
import { createNodeMetrics, createQueueMetrics } from './pipeline/queue/queue-metrics.ts';
import { createRetrySchedule } from './pipeline/queue/retry-schedule.ts';
import type { DomainService } from './policy/domains/domains.ts';
import { type Hold, holdReason, siteNames } from './policy/limits/holds.ts';
import { createSenderPauses, type SenderPause } from './policy/limits/shaping/sender-pauses.ts';
import type { Storage } from './policy/limits/storage.ts';
import { createWarmup, type Warmup } from './policy/limits/warmup/warmup.ts';
import { createSandboxRules, type SandboxRules } from './policy/sandbox/sandbox-rules.ts';
import { openTraffic, type TrafficParts } from './traffic.ts';

type OfDelivery =
  | 'store'
  | 'clock'
  | 'random'
  | 'resolver'
  | 'filter'
  | 'tlsContexts'
  | 'connect'
  | 'tokens'
  | 'personalTokens'
  | 'failpoints';

/** What acceptance, queue and delivery need. */
export interface EngineDeps extends Pick<DeliverDeps, OfDelivery> {
  logs: Loggers;
  registry: Registry;
  /** The node of this process. */
  node: NodeLease;
  /** Set if other nodes work on the same store. */
  membership?: Membership;
  /** Fetches the policies of recipients' domains. */
  policyHttp: GuardedHttp;
  domains: DomainService;
  classifier: Classifier;
  /** Called when events were stored: webhook calls may be due. */
  eventsStored(): void;
  /** Called when a receiver says that authentication of a sender domain fails. */
  authFailing: Parameters<typeof createSenderEffects>[0]['authFailing'];
  /** Called when a receiver says that a sender domain is listed: its bulk mail must wait. */
  holdBulk: Parameters<typeof createSenderEffects>[0]['holdBulk'];
  /** Whether contents of a sender domain with these settings are kept when every recipient is final. */
  keepsContent(settings: DomainSettings | undefined): boolean;
  /** How much each sender domain may store; absent = no limit. */
  storage?: Storage;
  /** Reasons other than a full queue for refusing mail, or null. */
  refusing(): string | null;
  /** Mail is not given up for its age meanwhile: the clock may be wrong. Absent = never. */
  suspectsClock?: () => boolean;
  /** Base of personal links of domains without a tracking host; absent = no such links. */
  publicUrl?(): string;
}

/** Its configuration. */
export interface EngineOptions {
  /** The folder of the operator's files. */
  folder: string;
  /** A mistake in these files is thrown; otherwise it is logged. */
  strict: boolean;
  rules: readonly RouteRule[];
  targets: readonly Route[];
  sources: readonly SourceConfig[];
  /** Those that other nodes alone send from. */
  foreignSources?: ReadonlySet<string>;
  /** The key `max-connections` if set. */
  maxConnections: number | null;
  /** The key `transactions-in-flight` if set. */
  transactionsInFlight?: number | null;
  /** Waits between attempts; null = the built-in ones. */
  retry: Parameters<typeof createRetrySchedule>[1];
  queue: QueueOptions;
  accept: AcceptOptions;
  deliver: Omit<DeliverOptions, 'maxConnections'>;
  /** In a simulation of a sample, the messages that each stands for in a warm-up. */
  weight?: number;
  /** For tests: the port of policy hosts. */
  mtaStsPort?: number;
}

/** Acceptance, queue and delivery of one process. It accepts as soon as it is created, and delivers after `start`. */
export interface Engine extends Service {
  /** The texts for the token slots of one recipient's copy. */
  personalTexts: PersonalTexts;
  readonly acceptance: ReturnType<typeof createAcceptance>;
  readonly queue: Queue;
  readonly deliver: Deliver;
  readonly traffic: TrafficParts;
  readonly routes: Routes;
  readonly warmup: Warmup;
  readonly sandboxRules: SandboxRules;
  readonly relays: RelayHealth;
  readonly port25: Port25Watch;
  /** Relays that fail, worst first, with the time at which their mail is tried again. */
  failingRelays(): readonly RelayState[];
  readonly tryNow: TryNow;
  /** Every name of the site of such mail; asks the DNS if it is not known yet. */
  sitesOf(question: SiteQuestion): Promise<readonly string[]>;
  /** The hold of the operator or of a guard-rail that applies; null = none. */
  heldBy(question: SiteQuestion): Hold | null;
  /** The name of the path of such mail; null: its site is not known yet, or it is the sandbox. */
  pathOf(question: SiteQuestion): string | null;
  /** The path of such mail, and why it is blocked; null: it is not. */
  blockedFor(question: SiteQuestion): (KeptBack & { path: string }) | null;
  /** The pause that a receiver requested for this sender; null = none. */
  pausedBy(question: SiteQuestion): SenderPause | null;
  /** Another node has changed holds, overrides or sandbox rules. */
  readAgain(): void;
  /** Starts no more transactions; resolves when the running ones have ended, after `deadlineMs` at the latest. */
  drain(deadlineMs: number): Promise<void>;
}

/** The shaping data sets the connections of a path; this is the maximum. */
const MAX_CONNECTIONS = 1000;
/** Of all paths. Each takes about 40 KB of memory. */
export const MOST_CONNECTIONS_IN_ALL = 10_000;
/** If a later part cannot start, those already started are stopped within this time. */
const GIVE_UP_MS = 1_000;

/** Loads the stored state; sends nothing before `start()`. */
export async function createEngine(deps: EngineDeps, options: EngineOptions): Promise<Engine> {
  const { store, clock, random, logs, registry, node, resolver, domains, classifier } = deps;
  const { failpoints, eventsStored, suspectsClock = () => false } = deps;
  const log = logs.service;
  const sandboxRules = createSandboxRules({ store, clock, random });
  await sandboxRules.load();
  const routes = createRoutes(options);
  const traffic = await openTraffic(
    { store, node, clock, random, classifier, log },
    {
      folder: options.folder,
      maxConnections: options.maxConnections,
      transactionsInFlight: options.transactionsInFlight ?? null,
      sourceIds: new Set(options.sources.map(({ id }) => id)),
      strict: options.strict,
    },
  );
  const { holds, shaping, overrides, egressMemory } = traffic;
  const retry = createRetrySchedule(random, options.retry);
  const targets = allTargets(options.targets, options.rules);
  const rules = createSettlementRules({
    clock,
    random,
    retry,
    relayed: targets.some(({ kind }) => kind === 'relay'),
    atMostOnce: domains.sendsAtMostOnce,
    suspectsClock,
  });
  const ended = createEndLog(logs.mail);
  const newSources = options.sources.flatMap(({ id, newSince }) => (newSince === null ? [] : [id]));
  const warmup = createWarmup(
    { store, node, clock, log },
    { sources: newSources, ...(options.weight === undefined ? {} : { weight: options.weight }) },
  );
  const { membership } = deps;
  const foreign = options.foreignSources ?? new Set<string>();
  const egress =
    membership === undefined && foreign.size === 0
      ? null
      : createEgressLeases(membership, options.sources, foreign);
  /** Foreign sources whose node is not there. */
  let absent: ReadonlySet<string> = foreign;
  await warmup.start();
  const sites = createSites({
    ...{ routes, resolver, shaping, warmup, egressMemory, clock },
    absent: ({ id }) => absent.has(id),
  });
  const heldBy = (question: SiteQuestion): Hold | null =>
    // The names of the site are needed only if there is a hold.
    holds.any() ? holds.heldBy({ ...question, sites: sites.sitesOf(question).flatMap(siteNames) }) : null;
  const pauses = createSenderPauses(overrides);
  const pausedBy = (question: SiteQuestion): SenderPause | null => {
    const site = pauses.any() ? sites.siteNamed(sites.nameOf(question)) : null;
    return site?.kind === 'path' ? pauses.of(question.senderDomain, site) : null;
  };
  const states = createPathStates({ clock, memory: traffic.pathMemory, overrides });
  const gate: Gate = {
    site: states.blocked,
    urgent: states.urgent,
    mail(question) {
      const hold = heldBy(question);
      return hold === null ? pausedBy(question) : { reason: holdReason(hold), until: hold.until };
    },
  };
  const queue = createQueue(
    {
      store,
      clock,
      random,
      log,
      node,
      siteOf: sites.nameOf,
      expire: (...given) => ended(given[0], rules.expire(...given)),
      suppressed(delivery, now) {
        const settlement = rules.suppressed(delivery, now);
        return settlement === null ? null : ended(delivery, settlement);
      },
      gate,
      eventsStored,
      routeTags: routes.tags,
      suspectsClock,
    },
    options.queue,
  );
  states.onChange(queue.gateChanged);
  holds.onChange(() => queue.gateChanged());
  const countTls = createTlsCounter(registry);
  const mtaSts = createMtaSts(
    {
      store,
      resolver,
      http: deps.policyHttp,
      clock,
      log,
      failed: (result) => countTls('sts', result),
    },
    options.mtaStsPort === undefined ? {} : { port: options.mtaStsPort },
  );
  const relays = createRelayHealth(clock);
  const port25 = createPort25Watch({ clock, log }, { port: options.deliver.mxPort });
  const deliver = createDeliver(
    {
      ...{
        store,
        queue,
        sites,
        states,
        gate,
        shaping,
        warmup,
        overrides,
        egressMemory,
        rules,
        retry,
        resolver,
        mtaSts,
        countTls,
      },
      ...{ clock, random, log, classifier, relays, port25, failpoints },
      signers: domains,
      senders: domains,
      tokens: deps.tokens,
      personalTokens: deps.personalTokens,
      filter: deps.filter,
      tlsContexts: deps.tlsContexts,
      mailLog: logs.mail,
      metrics: createDeliverMetrics(registry),
      senderEffects: createSenderEffects({
        clock,
        log,
        overrides,
        authFailing: deps.authFailing,
        holdBulk: deps.holdBulk,
      }),
      sandboxRules,
      ...(egress === null ? {} : { egress: egress.want }),
      ...(deps.connect === undefined ? {} : { connect: deps.connect }),
    },
    { ...options.deliver, maxConnections: MAX_CONNECTIONS },
  );
  const { reconnect, connectNow } = deliver;
  const tryNow = createTryNow({ states, overrides, sites, relays, queue, reconnect, connectNow, log });
  const acceptance = createAcceptance(
    {
      ...{ store, queue, clock, random, node, failpoints, eventsStored },
      senders: domains,
      keepsContent: deps.keepsContent,
      log: logs.mail,
      metrics: createAcceptMetrics(registry),
      refusing: deps.refusing,
      ...(deps.storage === undefined ? {} : { storage: deps.storage }),
      ...(deps.publicUrl === undefined ? {} : { publicUrl: deps.publicUrl }),
      ruleMayApply: (mail) => sandboxRules.mayApply(mail) && !routes.leadsOut(mail),
      routeKeyOf: routes.keyOf,
    },
    options.accept,
  );
  createQueueMetrics(registry, { store, queue, clock });
  if (deps.membership !== undefined) createNodeMetrics(registry, deps.membership);
  deps.membership?.onNewEpoch(queue.epochChanged);
  deps.membership?.onReclaimed(() => queue.wake());
  deps.membership?.onRefresh(async () => {
    const [isWarmupChanged] = await Promise.all([
      warmup.reread(egress?.ofOthers() ?? (() => false)),
      traffic.refresh(),
      sandboxRules.load(),
    ]);
    if (isWarmupChanged) sites.sourcesChanged();
    const gone = new Set([...foreign].filter((source) => membership?.serves(source) === false));
    if (gone.size === absent.size && [...gone].every((source) => absent.has(source))) return;
    absent = gone;
    sites.sourcesChanged();
  });

  /** In the order of starting: delivery is ready before the queue hands out work. */
  const services: readonly Service[] = [mtaSts, deliver, queue];
  const running = new Set<Service>();
  let draining: Promise<void> | null = null;

  function drain(deadlineMs: number): Promise<void> {
    draining ??= running.has(deliver) ? deliver.stop(deadlineMs) : Promise.resolve();
    return draining;
  }

  return {
    ...{ acceptance, queue, deliver, traffic, routes, warmup, sandboxRules, relays, port25, tryNow },
    heldBy,
    pausedBy,
    failingRelays: () => relaysAsTried(relays.unhealthy(), deliver.paths(), clock.now()),
    pathOf(question) {
      const name = sites.nameOf(question);
      return sites.siteNamed(name)?.kind === 'path' ? name : null;
    },
    blockedFor(question) {
      const path = sites.nameOf(question);
      const blocked = states.blocked(path);
      if (blocked === null) return null;
      const { reason, until } = blocked;
      return { path, reason, until };
    },
    async sitesOf(question) {
      if (sites.siteNamed(sites.nameOf(question))?.kind === 'unresolved')
        await sites.lookUp(question.recipientDomain, question.senderDomain);
      return sites.sitesOf(question);
    },
    personalTexts: createPersonalTexts(deps.personalTokens, deps.tokens),
    async start() {
      try {
        for (const service of services) {
          await service.start();
          running.add(service);
        }
      } catch (cause) {
        for (const service of [...running].reverse()) await service.stop(GIVE_UP_MS).catch(() => undefined);
        throw cause;
      }
    },
    readAgain() {
      Promise.all([traffic.refresh(), sandboxRules.load()]).catch((err: unknown) => {
        log.debug({ err }, 'settings could not be read again; the next heartbeat does');
      });
    },
    drain,
    async stop(deadlineMs) {
      acceptance.close();
      await drain(deadlineMs);
      // The queue releases rows that were never started, and waits until the last outcomes are stored.
      if (running.has(queue)) await queue.stop(deadlineMs);
      states.stop();
      await traffic.flush();
      await warmup.stop();
      if (running.has(mtaSts)) await mtaSts.stop(deadlineMs);
    },
  };
}
