/**
 * One process of the server as far as delivery goes: the engine as the server composes it (`src/engine.ts`). Only what
 * is outside is played: clock, randomness, DNS servers, the network.
 * `stop` is the orderly end; `die` is kill -9: from that instant nothing it planned happens, nothing it asks for
 * reaches the store or the network, and nobody is told.
 */
import { Registry } from 'prom-client';
import type { RouteRule } from '../../src/config-routing.ts';
import { createEngine, type Engine } from '../../src/engine.ts';
import type { Clock } from '../../src/lib/clock.ts';
import type { Failpoints } from '../../src/lib/failpoints.ts';
import { silentLoggers } from '../../src/lib/log.ts';
import type { Random } from '../../src/lib/random.ts';
import { createSealer } from '../../src/lib/seal.ts';
import { createPersonalTokens } from '../../src/mail/personal-token.ts';
import type { ReturnPathTokens } from '../../src/mail/verp.ts';
import { soleLease } from '../../src/model/node.ts';
import type { Route } from '../../src/model/route.ts';
import { createAddressFilter } from '../../src/net/address-filter.ts';
import { createGuardedHttp } from '../../src/net/guarded-http.ts';
import { createResolver } from '../../src/net/resolver.ts';
import { type Classifier, createClassifier } from '../../src/pipeline/deliver/outcome/classifier/classify.ts';

import type { QueueOptions } from '../../src/pipeline/queue/queue.ts';
import { createDomainService } from '../../src/policy/domains/domains.ts';
import { createTlsContexts } from '../../src/smtp/client-tls.ts';
import type { Store } from '../../src/store/store.ts';
import type { Mutation } from './mutations.ts';
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
  /** Opens the store of this process, on its own clock. */
  openStore(clock: Clock): Promise<Store>;
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
  /** A bug made on purpose; null = as it is. */
  mutation: Mutation | null;
  /** Where mail goes; the recipients' own hosts where left out. */
  targets?: readonly Route[];
  rules?: readonly RouteRule[];
  /** Mail is signed, by the keys that the store has for its sender domain. */
  signs?: boolean;
  /** The store answers after so many milliseconds, once it has started: that takes time of the real world too. */
  storeMs?: number;
  /** Its sources are new, and warmed up. */
  newSources?: boolean;
}

export interface Process {
  readonly alive: boolean;
  /** Monotonic; null while it lives. */
  readonly diedAtMs: number | null;
  readonly epoch: number;
  readonly engine: Engine;
  readonly store: Store;
  stop(deadlineMs: number): Promise<void>;
  die(): void;
}

export const BOUNCE_DOMAIN = 'bounce.sender.test';

// Pure, and costs milliseconds: the same for all processes.
const classifier: Classifier = createClassifier();
const tlsContexts = createTlsContexts();
export const sealer = createSealer([{ id: '1', secret: new Uint8Array(32).fill(7) }]);
const personalTokens = createPersonalTokens([{ id: 1, secret: new Uint8Array(32).fill(9) }]);

/** Starts a process over the store; the queue takes back what an earlier one held. */
export async function startProcess(deps: ProcessDeps, options: ProcessOptions): Promise<Process> {
  const { random, names, network, tokens } = deps;
  const life = createLife(deps.clock);
  const { clock } = life;
  const whole = life.whileAlive(await deps.openStore(clock));
  const store = options.mutation?.store?.(whole) ?? whole;
  const plug = network.plugIn(clock);
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
  const { signs = false } = options;
  const service = createDomainService(
    { store, resolver, sealer, clock, random },
    { anyDomain: !signs, selectorPrefix: 'pr', bounceDomain: BOUNCE_DOMAIN, dkim: signs },
  );
  const domains = options.mutation?.domains?.(service) ?? service;
  const http = createGuardedHttp({ clock, resolver, filter }, {});
  const engine = await createEngine(
    {
      ...{
        store,
        clock,
        random,
        node: soleLease(epoch),
        resolver,
        filter,
        tlsContexts,
        domains,
        tokens,
        personalTokens,
      },
      ...{ classifier, failpoints },
      logs: silentLoggers,
      registry: new Registry(),
      policyHttp: http,
      connect: plug.connect,
      eventsStored() {},
      // Nobody's records are looked at and nobody's bulk mail is held: that is not this part's.
      authFailing() {},
      holdBulk() {},
      keepsContent: async () => true,
      refusing: () => null,
    },
    {
      folder: options.folder,
      strict: true,
      rules: options.rules ?? [],
      targets: options.targets ?? [{ kind: 'mx', pool: 'default' }],
      sources: options.sources.map((source) => ({
        ...source,
        ehlo: null,
        pool: 'default',
        newSince: options.newSources === true ? deps.clock.now() : null,
        shared: false,
      })),
      maxConnections: null,
      retry: null,
      queue: options.queue,
      accept: {
        mailtoDomain: null,
        maxMessageBytes: 30_000_000,
        simulatorDomain: 'simulator.test',
        maxAgeMs: null,
        idempotencyWindowMs: 86_400_000,
      },
      deliver: { heloName: 'sender.test', bounceDomain: BOUNCE_DOMAIN, mxPort: 25, ipv6: options.ipv6 },
    },
  );
  options.mutation?.engine?.(engine, clock);
  await engine.start();
  life.answersAfter(options.storeMs ?? 0);

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
    engine,
    store,
    die,
    async stop(deadlineMs) {
      await engine.drain(deadlineMs);
      await engine.stop(Math.max(deadlineMs, 1_000));
      http.close();
      resolver.close();
      if (life.alive) await store.close();
      if (life.alive) die();
    },
  };
}

/** A process's hold on the world: its timers and its store, both gone with it. */
function createLife(worldClock: Clock) {
  let alive = true;
  let answerMs = 0;
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
    /** From now on what the store did is known so much later. */
    answersAfter(ms: number) {
      answerMs = ms;
    },
    whileAlive(store: Store): Store {
      const later = (): Promise<void> =>
        answerMs === 0 ? Promise.resolve() : new Promise((resolve) => clock.setTimer(answerMs, resolve));
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
              (answer: unknown) => later().then(() => (alive ? answer : never)),
              (cause: unknown) => later().then(() => (alive ? Promise.reject(cause) : never)),
            );
          };
        },
      });
    },
  };
}
