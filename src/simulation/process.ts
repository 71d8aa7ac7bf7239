/**
 * One process of the server as far as delivery goes: the engine as the server composes it (`src/engine.ts`). Only what
 * is outside is played: clock, randomness, DNS servers, the network.
 * `stop` is the orderly end; `die` is kill -9: from that instant nothing it planned happens, nothing it asks for
 * reaches the store or the network, and nobody is told.
 */
import { Registry } from 'prom-client';
import type { RouteRule } from '../config-routing.ts';
import { createEngine, type Engine, type EngineOptions, MOST_CONNECTIONS_IN_ALL } from '../engine.ts';
import type { Clock } from '../lib/clock.ts';
import { createClockWatch } from '../lib/clock-watch.ts';
import type { Failpoints } from '../lib/failpoints.ts';
import { silentLogger, silentLoggers } from '../lib/log.ts';
import type { Random } from '../lib/random.ts';
import { createSealer, type Sealer } from '../lib/seal.ts';
import { createSlewedClock } from '../lib/slewed-clock.ts';
import { createPersonalTokens, type PersonalTokens } from '../mail/personal-token.ts';
import type { ReturnPathTokens } from '../mail/verp.ts';
import { type NodeLease, soleLease } from '../model/node.ts';
import type { Route } from '../model/route.ts';
import { createAddressFilter } from '../net/address-filter.ts';
import { createGuardedHttp } from '../net/guarded-http.ts';
import { createResolver } from '../net/resolver.ts';
import { type Classifier, createClassifier } from '../pipeline/deliver/outcome/classifier/classify.ts';
import { type Membership, NODE_TIMES, openMembership } from '../pipeline/queue/membership.ts';
import type { QueueOptions } from '../pipeline/queue/queue.ts';
import { createStrays } from '../pipeline/queue/strays.ts';
import { createDomainService, type DomainService } from '../policy/domains/domains.ts';
import { createTlsContexts, type TlsContexts } from '../smtp/client-tls.ts';
import type { Store } from '../store/store.ts';
import { createLife, type Life } from './life.ts';
import type { Names } from './names.ts';
import type { Network } from './network.ts';

/** An egress source of every process. */
export interface Source {
  id: string;
  address: string;
  /** null or absent: none. */
  ipv6?: string | null;
  /** Default: `default`. */
  pool?: string;
  /** The source is warmed up from this time on (epoch milliseconds); null or absent = it has been in use for long. */
  newSince?: number | null;
}

/** What all processes of a run share, because it takes milliseconds to make and never changes. */
interface ProcessParts {
  classifier: Classifier;
  tlsContexts: TlsContexts;
  sealer: Sealer;
  personalTokens: PersonalTokens;
}

/** Changes one part of the engine before anything is sent: to add a deliberate bug, or to watch it. */
export interface Change {
  store?(store: Store): Store;
  engine?(engine: Engine, clock: Clock): void;
  domains?(domains: DomainService): DomainService;
}

interface ProcessDeps {
  parts: ProcessParts;
  clock: Clock;
  random: Random;
  /** Opens the store of this process, on its own clock. */
  openStore(clock: Clock): Promise<Store>;
  names: Names;
  network: Network;
  tokens: ReturnPathTokens;
}

interface ProcessOptions {
  /** Holds the operator's shaping.json. */
  folder: string;
  sources: readonly Source[];
  queue: QueueOptions;
  ipv6: boolean;
  /** The process dies when it has read this many 250 replies to messages; null = it does not. */
  diesAfter: number | null;
  /** null = the engine as it is. */
  change: Change | null;
  /** Default: the MX hosts of the recipients. */
  targets?: readonly Route[];
  rules?: readonly RouteRule[];
  /** Sign mail, with the keys in the store of its sender domain. */
  signs?: boolean;
  /** Delay of each answer of the store after the start, because a real one takes time too. */
  storeMs?: () => number;
  /** The sources are new, and are warmed up. */
  newSources?: boolean;
  /** Keep the contents of mail that has ended; default true. */
  keepsContent?: boolean;
  /** Keys of the configuration. */
  keys?: Pick<EngineOptions, 'maxConnections' | 'transactionsInFlight' | 'retry'> & {
    maxAgeMs: number | null;
  };
  /** The messages that each stands for. */
  weight?: number;
  /** Connections of all paths together. */
  maxConnectionsInAll?: number;
  /** Other processes work on the same store and send from the same sources; its name among them. Absent: none does. */
  node?: string;
}

export interface Process {
  readonly alive: boolean;
  /** Monotonic; null while it lives. */
  readonly diedAtMs: number | null;
  readonly epoch: number;
  readonly engine: Engine;
  readonly store: Store;
  /** Its own; stands still with it. */
  readonly clock: Clock;
  stop(deadlineMs: number): Promise<void>;
  die(): void;
  /** It stands still: what falls due, is answered or arrives meanwhile waits for `resume`. Its connections stay open. */
  pause(): void;
  resume(): void;
}

export const BOUNCE_DOMAIN = 'bounce.sender.test';

/** Made once for a run, or for many. */
export function createProcessParts(): ProcessParts {
  return {
    classifier: createClassifier(),
    tlsContexts: createTlsContexts(),
    sealer: createSealer([{ id: '1', secret: new Uint8Array(32).fill(7) }]),
    personalTokens: createPersonalTokens([{ id: 1, secret: new Uint8Array(32).fill(9) }]),
  };
}

/** Starts a process on the store; its queue reclaims the leases of an earlier one. One that cannot start is dead. */
export async function startProcess(deps: ProcessDeps, options: ProcessOptions): Promise<Process> {
  const life = createLife(deps.clock);
  try {
    return await start(life, deps, options);
  } catch (cause) {
    life.end();
    throw cause;
  }
}

async function start(life: Life, deps: ProcessDeps, options: ProcessOptions): Promise<Process> {
  const { random, names, network, tokens } = deps;
  const { classifier, tlsContexts, sealer, personalTokens } = deps.parts;
  const slewed = createSlewedClock(life.clock);
  const clock = options.node === undefined ? life.clock : slewed;
  const whole = life.whileAlive(await deps.openStore(clock));
  const store = options.change?.store?.(whole) ?? whole;
  const plug = network.plugIn(clock, life.whenAwake);
  const sources = options.sources.map(({ id }) => id);
  const membership =
    options.node === undefined
      ? null
      : await openMembership(
          { store, clock, random, log: silentLogger, follow: slewed.follow },
          {
            nodeId: options.node,
            about: { host: options.node, pid: 0, version: '', roles: [], sources, settings: {} },
            sharedSources: new Set(sources),
          },
        );
  const node: NodeLease =
    membership ?? soleLease(await store.beginEpoch({ nodeId: 'simulated', now: clock.now() }));
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

  const resolver = createResolver({ clock, random, servers: () => [], client: names.client(clock) });
  const filter = createAddressFilter({ allowNetworks: [] });
  if (filter.kind === 'invalid') throw new Error(filter.detail);
  const { signs = false } = options;
  const service = createDomainService(
    { store, resolver, sealer, clock, random },
    { anyDomain: !signs, selectorPrefix: 'pr', bounceDomain: BOUNCE_DOMAIN, dkim: signs },
  );
  const domains = options.change?.domains?.(service) ?? service;
  const http = createGuardedHttp({ clock, resolver, filter }, {});
  const engine = await createEngine(
    {
      ...{
        store,
        clock,
        random,
        node,
        resolver,
        filter,
        tlsContexts,
        domains,
        tokens,
        personalTokens,
      },
      ...(membership === null ? {} : { membership }),
      ...{ classifier, failpoints },
      logs: silentLoggers,
      registry: new Registry(),
      policyHttp: http,
      connect: plug.connect,
      eventsStored() {},
      // No domain is checked and no bulk mail is held here: that is not part of the engine.
      authFailing() {},
      holdBulk() {},
      keepsContent: () => options.keepsContent ?? true,
      refusing: () => null,
      suspectsClock: createClockWatch({ clock, log: silentLogger }, null).isSuspect,
    },
    {
      folder: options.folder,
      strict: true,
      rules: options.rules ?? [],
      targets: options.targets ?? [{ kind: 'mx', pool: 'default' }],
      sources: options.sources.map((source) => ({
        ehlo: null,
        ipv6: null,
        pool: 'default',
        node: null,
        newSince: options.newSources === true ? deps.clock.now() : null,
        ...source,
        shared: membership !== null,
      })),
      ...{ maxConnections: null, retry: null, ...options.keys },
      ...(options.weight === undefined ? {} : { weight: options.weight }),
      queue: options.queue,
      accept: {
        mailtoDomain: null,
        maxMessageBytes: 30_000_000,
        simulatorDomain: 'simulator.test',
        maxAgeMs: options.keys?.maxAgeMs ?? null,
        idempotencyWindowMs: 86_400_000,
      },
      deliver: {
        ...{ heloName: 'sender.test', bounceDomain: BOUNCE_DOMAIN, mxPort: 25, ipv6: options.ipv6 },
        maxConnectionsInAll: options.maxConnectionsInAll ?? MOST_CONNECTIONS_IN_ALL,
      },
    },
  );
  options.change?.engine?.(engine, clock);
  const others = membership === null ? null : besides(membership, engine);
  await membership?.start();
  await engine.start();
  await others?.start();
  if (options.storeMs !== undefined) life.answersAfter(options.storeMs);

  /** What gives back the leases whose answer was lost. */
  function besides(among: Membership, { queue }: Engine) {
    return createStrays(
      { store, node: among, clock, log: silentLogger, freed: () => queue.wake() },
      { deliveries: queue, calls: { holding: () => ({ ids: [], sinceMs: null }) } },
      NODE_TIMES.strayMs,
    );
  }

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
    get epoch() {
      return node.epoch;
    },
    engine,
    store,
    clock,
    die,
    pause: life.pause,
    resume: life.resume,
    async stop(deadlineMs) {
      await others?.stop(0);
      await engine.drain(deadlineMs);
      await engine.stop(Math.max(deadlineMs, 1_000));
      await membership?.stop(0);
      http.close();
      resolver.close();
      if (life.alive) await store.close();
      if (life.alive) die();
    },
  };
}
