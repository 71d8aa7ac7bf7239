/**
 * What the parts of the server stand on, opened before them and closed after them: the data folder with its secrets, the
 * store, this process as a node, and the network.
 */
import { hostname } from 'node:os';
import { collectDefaultMetrics, Registry } from 'prom-client';
import type { Mode } from './config/key-facts.ts';
import { settingDigests } from './config/node-settings.ts';
import type { LoadedConfig } from './config.ts';
import { isSourceOf, type SourceConfig } from './config-routing.ts';
import { type DataFolder, openDataFolder } from './data-folder.ts';
import { type Database, isShared, openDatabase } from './database.ts';
import { type Clock, systemClock } from './lib/clock.ts';
import { type ClockWatch, createClockWatch } from './lib/clock-watch.ts';
import { eachInTurn } from './lib/each-in-turn.ts';
import { createFailpoints, type Failpoints, NO_FAILPOINTS } from './lib/failpoints.ts';
import { uuidv7 } from './lib/ids.ts';
import type { Logger, Loggers } from './lib/log.ts';
import { createQuietLog } from './lib/quiet-log.ts';
import { createSystemRandom, type Random } from './lib/random.ts';
import { createSealer, type Sealer } from './lib/seal.ts';
import { createSlewedClock } from './lib/slewed-clock.ts';
import { createSlowWatch, type SlowWatch } from './lib/slow-watch.ts';
import { type NodeLease, soleLease } from './model/node.ts';
import { type NetworkParts, openNetwork } from './network.ts';
import { sharedSources } from './pipeline/deliver/routing/egress-leases.ts';
import { type Membership, type NodeTimes, openMembership } from './pipeline/queue/membership.ts';
import { createStoreMetrics } from './pipeline/queue/queue-metrics.ts';
import { requireSealingSecret } from './policy/access/signing-keys.ts';
import { type Store, StoreUnavailable } from './store/store.ts';
import type { NodeRow } from './store/topics/nodes.ts';

export interface ServerParams {
  mode: Mode;
  loaded: LoadedConfig;
  logs: Loggers;
  /** Why the log is not written; null: it is. */
  logTrouble?: () => string | null;
  version: string;
  /** How a command for this server begins at a terminal; default: `postrider`. */
  command?: string;
  /** A failpoint specification; only for tests. */
  failpoints?: string | undefined;
  /** Ends the process at once. */
  kill?: () => void;
  clock?: Clock;
  /** For a command, and for tests on a virtual clock: the database works in this thread, and answers at once. */
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

export interface Foundation {
  logs: Loggers;
  clock: Clock;
  clockWatch: ClockWatch;
  /** Of commits, and of the heartbeats of a node among others. */
  storeSpeed: SlowWatch;
  random: Random;
  registry: Registry;
  failpoints: Failpoints;
  folder: DataFolder;
  database: Database;
  store: Store;
  sealer: Sealer;
  instanceId: string;
  /** This process among the nodes. */
  node: NodeLease;
  /** null: no other process works on the store. Not started yet. */
  membership: Membership | null;
  network: NetworkParts;
  /** Sources that this node may use, and those of other nodes. */
  sources: { own: readonly SourceConfig[]; foreign: readonly SourceConfig[] };
  /** Resolves with the reason when this process cannot continue and must be restarted. */
  failed: Promise<string>;
  close(): Promise<void>;
}

/** Living nodes, and those that ended last: this one among them, if it ran lately. */
const MOST_NODES_READ = 100;

/** Rejects with a message that an operator can act on; then nothing is open. */
export async function openFoundation(params: ServerParams): Promise<Foundation> {
  const { config, routing } = params.loaded;
  const clock = createSlewedClock(params.clock ?? systemClock);
  // The store says itself when it goes away and comes back; every job that needs it fails meanwhile.
  const isAway = (err: unknown) => err instanceof StoreUnavailable;
  const logs = { ...params.logs, service: createQuietLog(params.logs.service, clock, isAway) };
  const random = createSystemRandom();
  const failpoints: Failpoints =
    params.failpoints === undefined || params.kill === undefined
      ? NO_FAILPOINTS
      : createFailpoints(params.failpoints, params.kill);
  const folder = await openDataFolder(config.data, random, { clock, log: logs.service });
  const failed = Promise.withResolvers<string>();
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const storeSpeed = createSlowWatch(clock);
  const storeMetrics = createStoreMetrics(registry);
  const onCommit = (durationMs: number) => {
    storeMetrics(durationMs);
    storeSpeed.took('commits of the database', durationMs);
  };
  const database = await openDatabase(
    {
      ...{ clock, failpoints, onLost: failed.resolve, onCommit },
      log: (level, message, fields) => logs.service[level](fields, message),
      storeThreads: params.storeThreads,
    },
    config,
  );
  const { store } = database;
  const host = config['node-name'] ?? hostname();
  const { own = [], foreign = [] } = Object.groupBy(routing.sources, (source) =>
    isSourceOf(host, source) ? 'own' : 'foreign',
  );
  try {
    const isAnySealed = async () => (await store.signingKeys()).length > 0;
    const sealer = createSealer(await folder.secrets(config['secret-key'], isAnySealed));
    await requireSealingSecret(store, sealer);
    const nodes = await store.listNodes({ limit: MOST_NODES_READ });
    const [last] = nodes;
    tellLost(
      nodes.find(({ nodeId }) => nodeId === folder.nodeId),
      logs.service,
    );
    const lastAt = last === undefined ? null : Math.max(last.heartbeatAt, last.endedAt ?? 0);
    const clockWatch = createClockWatch({ clock, log: logs.service }, lastAt);
    const instanceId = await store.instanceId({ proposedId: uuidv7(clock, random) });
    const about = {
      host,
      pid: process.pid,
      version: params.version,
      roles: config.roles,
      sources: config.roles.includes('deliver') ? own.map(({ id }) => id) : [],
      settings: settingDigests(params.loaded, sealer.deriveKey('node-settings')),
    };
    const membership = isShared(config)
      ? await openMembership(
          {
            ...{ store, clock, random, log: logs.service, follow: clock.follow },
            beatTook: (durationMs) => storeSpeed.took('heartbeats in the database', durationMs),
          },
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
    const network = openNetwork({ clock, random }, config, params.trust?.ca);
    // One of several nodes ends its epoch itself, with its leases.
    const endAlone = async () => {
      if (membership === null) await store.endEpoch({ epoch: node.epoch, now: clock.now() });
    };
    return {
      ...{ logs, clock, clockWatch, storeSpeed, random, registry, failpoints },
      ...{ folder, database, store, sealer, instanceId, node },
      ...{ membership, network, sources: { own, foreign }, failed: failed.promise },
      close: () => eachInTurn(logs.service, [network.close, endAlone, database.close, folder.withdraw]),
    };
  } catch (cause) {
    await database.close();
    throw cause;
  }
}

/** A program that knew only older schemas did not write down that it stopped, where it was the only one. */
const SCHEMA_WITH_ENDS = 240;

/** At night nobody knows why a server began anew: `own` is its last run, from before this one. */
function tellLost(own: NodeRow | undefined, log: Logger): void {
  if (own === undefined || (own.endedAt !== null && !own.lost)) return;
  if (own.schemaNumber < SCHEMA_WITH_ENDS) return;
  log.warn(
    { pid: own.pid, startedAt: new Date(own.startedAt).toISOString() },
    'the last run ended without stopping: it was killed, it crashed, the machine failed, or the database did not answer when it stopped; where memory ran out, the log of the system says so (journalctl -k)',
  );
}
