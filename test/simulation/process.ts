/**
 * One process of the server as far as delivery goes, put together as `src/server.ts` does it: store, traffic,
 * placements, queue, deliver, acceptance. Only what is outside is played: clock, randomness, DNS servers, the network.
 * `stop` is the orderly end; `die` is kill -9: from that instant nothing it planned happens, nothing it asks for
 * reaches the store or the network, and nobody is told.
 */
import { Registry } from 'prom-client';
import type { Clock } from '../../src/lib/clock.ts';
import type { Failpoints } from '../../src/lib/failpoints.ts';
import { silentLogger } from '../../src/lib/log.ts';
import type { Random } from '../../src/lib/random.ts';
import { createSealer } from '../../src/lib/seal.ts';
import { createPersonalTokens } from '../../src/mail/personal-token.ts';
import type { ReturnPathTokens } from '../../src/mail/verp.ts';
import { createAddressFilter } from '../../src/net/address-filter.ts';
import { createGuardedHttp } from '../../src/net/guarded-http.ts';
import { createResolver } from '../../src/net/resolver.ts';
import { type Acceptance, createAcceptance } from '../../src/pipeline/accept/accept.ts';
import { createAcceptMetrics } from '../../src/pipeline/accept/accept-metrics.ts';
import { type Classifier, createClassifier } from '../../src/pipeline/deliver/classifier/classify.ts';
import { createDeliver, type Deliver } from '../../src/pipeline/deliver/deliver.ts';
import { createDeliverMetrics } from '../../src/pipeline/deliver/deliver-metrics.ts';
import { createPlacements } from '../../src/pipeline/deliver/placements.ts';
import { createPort25Watch } from '../../src/pipeline/deliver/port-25.ts';
import { createRelayHealth } from '../../src/pipeline/deliver/relay-health.ts';
import { createRoutes } from '../../src/pipeline/deliver/routes.ts';
import { createSettlementRules } from '../../src/pipeline/deliver/settlement.ts';
import { createTenantLessons } from '../../src/pipeline/deliver/tenant-lessons.ts';
import { createTlsCounters, createTlsMetrics } from '../../src/pipeline/deliver/tls-counters.ts';
import { createMtaSts } from '../../src/pipeline/deliver/tls-mta-sts.ts';
import {
  createQueue,
  type Queue,
  type QueueOptions,
  type SiteQuestion,
} from '../../src/pipeline/queue/queue.ts';
import { createRetrySchedule } from '../../src/pipeline/queue/retry-schedule.ts';
import { createDomainService } from '../../src/policy/domains/domains.ts';
import { type Hold, holdReason, siteNames } from '../../src/policy/limits/holds.ts';
import { createTenantPauses } from '../../src/policy/limits/shaping/tenant-pauses.ts';
import type { PathLimits } from '../../src/policy/limits/shaping/types.ts';
import { createWarmup } from '../../src/policy/limits/warmup/warmup.ts';
import { createSandboxRules } from '../../src/policy/sandbox/sandbox-rules.ts';
import { createTlsContexts } from '../../src/smtp/client-tls.ts';
import type { Store } from '../../src/store/store.ts';
import { openTraffic, type TrafficParts } from '../../src/traffic.ts';
import type { Names } from './names.ts';
import type { Network } from './network.ts';

/** An egress source of every process. */
export interface Source {
  id: string;
  address: string;
}

export interface ProcessDeps {
  clock: Clock;
  random: Random;
  store: Store;
  names: Names;
  network: Network;
  tokens: ReturnPathTokens;
}

export interface ProcessOptions {
  /** Holds the operator's shaping.json. */
  folder: string;
  sources: readonly Source[];
  queue: QueueOptions;
  ipv6: boolean;
  /** Dies when so many far ends' 250 have been read; null = not. */
  diesAfter: number | null;
}

export interface Process {
  readonly alive: boolean;
  /** Monotonic; null while it lives. */
  readonly diedAtMs: number | null;
  readonly epoch: number;
  readonly queue: Queue;
  readonly deliver: Deliver;
  readonly traffic: TrafficParts;
  readonly acceptance: Acceptance;
  /** In force now, for a path by the world's own knowledge of the site. */
  limits(source: string, site: string, provider: string | null): PathLimits;
  stop(deadlineMs: number): Promise<void>;
  die(): void;
}

export const BOUNCE_DOMAIN = 'bounce.sender.test';

// Pure, and costs milliseconds: the same for all processes.
const classifier: Classifier = createClassifier();
const tlsContexts = createTlsContexts();
const sealer = createSealer([{ id: '1', secret: new Uint8Array(32).fill(7) }]);
const personalTokens = createPersonalTokens([{ id: 1, secret: new Uint8Array(32).fill(9) }]);

/** Starts a process over the store; the queue takes back what an earlier one held. */
export async function startProcess(deps: ProcessDeps, options: ProcessOptions): Promise<Process> {
  const { random, names, network, tokens } = deps;
  const life = createLife(deps.clock);
  const { clock } = life;
  const store = life.whileAlive(deps.store);
  const plug = network.plugIn(clock);
  const log = silentLogger;
  const registry = new Registry();
  const epoch = await store.beginEpoch({ nodeId: 'simulated', now: clock.now() });
  let confirmed = 0;
  let diedAtMs: number | null = null;
  const failpoints: Failpoints = {
    failStoreWrites: null,
    reach(name) {
      if (name !== 'after-remote-250') return;
      confirmed += 1;
      if (confirmed === options.diesAfter) die();
    },
  };

  const resolver = createResolver({ clock, random, servers: [], client: names.client(clock) });
  const filter = createAddressFilter({ allowNetworks: [] });
  if (filter.kind === 'invalid') throw new Error(filter.detail);
  const routes = createRoutes({
    rules: [],
    targets: [{ kind: 'mx', pool: 'default' }],
    sources: options.sources.map((source) => ({ ...source, ehlo: null, pool: 'default' })),
  });
  const domains = createDomainService(
    { store, resolver, sealer, clock, random },
    { anyDomain: true, selectorPrefix: 'pr', bounceDomain: BOUNCE_DOMAIN, dkim: false },
  );
  const traffic = await openTraffic(
    { store, clock, random, classifier, log },
    {
      folder: options.folder,
      maxConnections: null,
      sourceIds: new Set(options.sources.map(({ id }) => id)),
      strict: true,
    },
  );
  const { holds, shaping } = traffic;
  const retry = createRetrySchedule(random, null);
  const rules = createSettlementRules({
    clock,
    random,
    epoch,
    retry,
    relayed: false,
    atMostOnce: domains.sendsAtMostOnce,
  });
  const warmup = createWarmup({ store, clock, log }, { sources: [] });
  await warmup.start();
  const sandboxRules = createSandboxRules({ store, clock, random });
  await sandboxRules.load();
  const placements = createPlacements({ routes, resolver, shaping, warmup, clock });
  const pauses = createTenantPauses(traffic.overrides);
  const pausedBy = (question: SiteQuestion) => {
    const place = pauses.any() ? placements.placement(placements.nameOf(question)) : null;
    return place?.kind === 'path' ? pauses.of(question.senderDomain, place) : null;
  };
  const heldBy = (question: SiteQuestion): Hold | null =>
    holds.heldBy({ ...question, sites: placements.sitesOf(question).flatMap(siteNames) });
  const queue = createQueue(
    {
      store,
      clock,
      random,
      log,
      epoch,
      siteOf: placements.nameOf,
      expire: rules.expire,
      suppressed: rules.suppressed,
      heldBy(question) {
        const hold = heldBy(question);
        return hold === null ? pausedBy(question) : { reason: holdReason(hold), until: hold.until };
      },
      eventsStored() {},
    },
    options.queue,
  );
  holds.onChange(() => queue.holdsChanged());
  const tlsCounters = createTlsCounters({ store, clock, log, metrics: createTlsMetrics(registry) });
  const http = createGuardedHttp({ clock, resolver, filter }, {});
  const mtaSts = createMtaSts({ store, resolver, http, clock, log, failed() {} });
  const deliver = createDeliver(
    {
      store,
      queue,
      placements,
      shaping,
      overrides: traffic.overrides,
      memory: traffic.pathMemory,
      rules,
      retry,
      signers: domains,
      senders: domains,
      tokens,
      personalTokens,
      resolver,
      filter,
      tlsContexts,
      mtaSts,
      tlsCounters,
      clock,
      random,
      log,
      mailLog: log,
      classifier,
      metrics: createDeliverMetrics(registry),
      relays: createRelayHealth(clock),
      port25: createPort25Watch({ clock, log }, { port: 25 }),
      failpoints,
      warmup,
      // Nobody's records are looked at and nobody's bulk mail is held: that is not this part's.
      tenantLessons: createTenantLessons({
        clock,
        log,
        overrides: traffic.overrides,
        authFailing() {},
        holdBulk() {},
      }),
      faults: sandboxRules,
      connect: plug.connect,
    },
    {
      heloName: 'sender.test',
      bounceDomain: BOUNCE_DOMAIN,
      mxPort: 25,
      ipv6: options.ipv6,
      maxConnections: 1000,
    },
  );
  const acceptance = createAcceptance(
    {
      store,
      senders: domains,
      keepsContent: async () => true,
      queue,
      clock,
      random,
      epoch,
      log,
      metrics: createAcceptMetrics(registry),
      failpoints,
      eventsStored() {},
      refusing: () => null,
    },
    {
      mailtoDomain: null,
      maxMessageBytes: 30_000_000,
      simulatorDomain: 'simulator.test',
      maxAgeMs: null,
      idempotencyWindowMs: 86_400_000,
    },
  );
  for (const service of [tlsCounters, mtaSts, deliver, queue]) await service.start();

  function die(): void {
    diedAtMs ??= deps.clock.monotonicMs();
    life.end();
    plug.die();
  }

  return {
    get alive() {
      return life.alive;
    },
    get diedAtMs() {
      return diedAtMs;
    },
    epoch,
    queue,
    deliver,
    traffic,
    acceptance,
    limits: (source, site, provider) => shaping.limitsFor({ source, site, provider, route: 'mx' }).limits,
    die,
    async stop(deadlineMs) {
      acceptance.close();
      await deliver.stop(deadlineMs);
      await queue.stop(Math.max(deadlineMs, 1_000));
      await traffic.flush();
      await warmup.stop();
      for (const service of [mtaSts, tlsCounters]) await service.stop(1_000);
      http.close();
      resolver.close();
      if (life.alive) die();
    },
  };
}

/** A process's hold on the world: its timers and its store, both gone with it. */
function createLife(worldClock: Clock) {
  let alive = true;
  const never = new Promise<never>(() => {});
  const clock: Clock = {
    now: () => worldClock.now(),
    monotonicMs: () => worldClock.monotonicMs(),
    setTimer: (delayMs, fire) =>
      alive
        ? worldClock.setTimer(delayMs, () => {
            if (alive) fire();
          })
        : { cancel() {} },
  };
  return {
    clock,
    get alive() {
      return alive;
    },
    end() {
      alive = false;
    },
    whileAlive(store: Store): Store {
      return new Proxy(store, {
        get(target, name, receiver) {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== 'function' || name === 'writable') return value;
          return (...params: unknown[]) => {
            if (!alive) return never;
            const result: unknown = Reflect.apply(value, target, params);
            // What it asked for may be done, but nobody is there to hear of it.
            if (!(result instanceof Promise)) return result;
            return result.then(
              (answer: unknown) => (alive ? answer : never),
              (cause: unknown) => (alive ? Promise.reject(cause) : never),
            );
          };
        },
      });
    },
  };
}
