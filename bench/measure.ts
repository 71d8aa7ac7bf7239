// One measured run of one product: a fresh folder, a fresh sink, the product, an injector, a warm-up, the load,
// the wait for the last message at the sink, the figures, and everything stopped again, whatever happened.
// Bounded in time: the injector and the wait share `timeoutMs`, a stalled delivery ends the wait after 20 s.
import { type ChildProcess, fork } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { SITE_ADDRESSES } from './messages.ts';
import { anonymousMiBOf, cpuSecondsOf, sleep, threadSecondsOf } from './processes.ts';
import {
  type Certificate,
  type Door,
  deliveryOf,
  type InjectPlan,
  type InjectResult,
  type Peer,
  type SinkReport,
  WARMUP_FIRST_ID,
} from './types.ts';

/** The beginning of a process that optimises its code while it runs, in deliveries. Afterwards most of that is done. */
const COLD_DELIVERIES = 16_000;
/** Deliveries before what counts: whoever compiles has compiled by then. */
const WARMUP_COMPILING = 25_000;
const WARMUP_OTHERS = 500;
const STALL_MS = 20_000;
const SETTLE_MS = 500; // what a product does after the last delivery (removing queue files) belongs to its CPU
const SAMPLE_MS = 500;
const IDLE_MS = 1_000;

/** What one run is to do. */
export type Load = {
  readonly messages: number;
  /** Messages before them, instead of what the product needs. */
  readonly warmup: number | undefined;
  readonly connections: number;
  readonly batch: number;
  readonly recipients: number;
  /** With it TLS is used on both sides. */
  readonly certificate: Certificate | undefined;
  /** How ours takes mail in. */
  readonly door: Door['kind'];
  readonly bodyBytes: number;
  /** Receiving sites, found by MX; 0 = the sink is a relay. */
  readonly sites: number;
  readonly dkim: boolean;
  readonly delayMs: number;
  readonly chunking: boolean;
  readonly oneAtATime: boolean;
  readonly preload: string | undefined;
  /** Where a debugger can join the product. */
  readonly inspectPort?: number;
  readonly logs: boolean;
  readonly timeoutMs: number;
  /** Ends the run early: what was started is stopped, the run rejects. */
  readonly interrupted: AbortSignal;
  /** Parent of the run's folder, on a real disk. */
  readonly baseDir: string;
  /** Where the first delivered header of each product is left, for a look at its signature. */
  readonly samplesDir: string | undefined;
};

/** A load without any extras, for comparisons of something else. */
export const PLAIN_LOAD = {
  connections: 50,
  batch: 1,
  recipients: 1,
  certificate: undefined,
  door: 'http',
  sites: 0,
  dkim: false,
  delayMs: 0,
  chunking: false,
  oneAtATime: false,
  preload: undefined,
  logs: false,
  samplesDir: undefined,
} as const satisfies Partial<Load>;

/** What deliveries cost in CPU: seconds for 1000 of them. */
export type Cost = {
  readonly per1000: number;
  /** Of the database server; null where the product has none. */
  readonly databasePer1000: number | null;
  /** Of the load's source and sink, which never change: divided by it, runs of different minutes can be compared. */
  readonly farPer1000: number;
  /** By what the threads do. */
  readonly threads: ReadonlyMap<string, number>;
};

/** The figures of one run, in deliveries: a message to one recipient. Rates per second, times in milliseconds, memory in MiB. */
export type Figures = {
  readonly acceptedPerS: number;
  readonly deliveredPerS: number;
  /** Of the messages that count. */
  readonly cost: Cost;
  /** Of the first messages of the process; null where they were not measured. */
  readonly cold: Cost | null;
  /** Anonymous memory before the first message, and the most under load. */
  readonly idleMiB: number;
  readonly peakMiB: number;
  readonly acceptP50: number;
  readonly acceptP99: number;
  readonly deliverP50: number;
  readonly deliverP99: number;
  readonly lost: number;
  readonly duplicates: number;
  readonly signed: number;
  /** Of all that arrived: the shares of TLS, of several recipients in a transaction and of several on a connection. */
  readonly overTls: number;
  readonly perTransaction: number;
  readonly perConnection: number;
  /** Submissions. */
  readonly refused: number;
  readonly failed: number;
  readonly failures: readonly string[];
  readonly meanBytes: number;
  readonly sinkConnections: number;
};

/** Runs one product once; `around`: what surrounds the messages that count. Rejects where it does not start or dies; everything is stopped by then. */
export async function measure(
  peer: Peer,
  load: Load,
  around?: { before(): Promise<void>; after(): Promise<void> },
): Promise<Figures> {
  const { recipients } = load;
  const dir = mkdtempSync(join(load.baseDir, `${fileNameOf(peer)}-`));
  chmodSync(dir, 0o755); // Postfix and opendkim run as other users
  const undo: (() => Promise<void>)[] = [async () => rmSync(dir, { recursive: true, force: true })];
  try {
    const sink = await startSink(load);
    undo.push(sink.stop);
    load.interrupted.throwIfAborted();
    const running = await peer.start({
      dir,
      sinkPort: sink.port,
      sites: load.sites,
      dkim: load.dkim,
      certificate: load.certificate,
      door: load.door,
      recipients,
      connections: load.connections,
      delayMs: load.delayMs,
      preload: load.preload,
      ...(load.inspectPort === undefined ? {} : { inspectPort: load.inspectPort }),
      logs: load.logs,
    });
    undo.push(running.stop);
    const injector = startInjector(load.interrupted);
    undo.push(injector.stop);
    const plan: InjectPlan = {
      doors: running.doors,
      count: load.messages,
      firstId: 0,
      connections: load.oneAtATime ? 1 : load.connections,
      batch: load.batch,
      recipients,
      bodyBytes: load.bodyBytes,
      sites: load.sites,
      waitForArrival: load.oneAtATime,
      timeoutMs: load.timeoutMs,
    };

    /** Begins to measure; the result is divided among so many deliveries. */
    const meter = (): ((deliveries: number) => Cost) => {
      const far = [sink.pid, injector.pid];
      const database = running.databaseRoots;
      const before = {
        cpu: cpuSecondsOf(running.roots),
        database: cpuSecondsOf(database ?? []),
        far: cpuSecondsOf(far),
      };
      const threads = threadSecondsOf(running.roots);
      return (deliveries) => {
        const per1000 = (seconds: number): number => (deliveries === 0 ? 0 : (seconds / deliveries) * 1000);
        const now = threadSecondsOf(running.roots);
        return {
          per1000: per1000(cpuSecondsOf(running.roots) - before.cpu),
          databasePer1000: database === undefined ? null : per1000(cpuSecondsOf(database) - before.database),
          farPer1000: per1000(cpuSecondsOf(far) - before.far),
          threads: new Map([...now].map(([name, at]) => [name, per1000(at - (threads.get(name) ?? 0))])),
        };
      };
    };
    let warmed = 0;
    const warmUp = async (count: number): Promise<number> => {
      const result = await injector.inject({
        ...plan,
        count,
        connections: load.connections,
        firstId: WARMUP_FIRST_ID + warmed,
        waitForArrival: false,
      });
      if (result.accepted === 0) throw new Error(`took no mail: ${result.failures.join(' · ')}`);
      warmed += result.accepted;
      await sink.settled(() => sink.warmup(), warmed * recipients, load.timeoutMs);
      await sleep(SETTLE_MS);
      return result.accepted * recipients;
    };

    await sleep(IDLE_MS);
    const idleMiB = anonymousMiBOf(running.roots);
    const usual = Math.ceil((peer.compiles ? WARMUP_COMPILING : WARMUP_OTHERS) / recipients);
    const warmup = load.warmup ?? usual;
    const coldMessages = Math.ceil(COLD_DELIVERIES / recipients);
    let cold: Cost | null = null;
    if (warmup >= coldMessages) {
      const end = meter();
      cold = end(await warmUp(coldMessages));
    }
    if (warmup > warmed) await warmUp(warmup - warmed);

    sink.onArrived = (id) => injector.arrived(id);
    let peakMiB = anonymousMiBOf(running.roots);
    const sampler = setInterval(() => {
      peakMiB = Math.max(peakMiB, anonymousMiBOf(running.roots));
    }, SAMPLE_MS);
    await around?.before();
    const end = meter();
    try {
      const injected = await injector.inject(plan);
      await sink.settled(() => sink.unique(), injected.accepted * recipients, load.timeoutMs);
      await sleep(SETTLE_MS);
      const cost = end(await sink.unique());
      await around?.after();
      const received = await sink.report();
      if (load.samplesDir !== undefined) keepSample(load.samplesDir, fileNameOf(peer), received.sample);
      return figuresOf(injected, received, recipients, { cost, cold, idleMiB, peakMiB });
    } finally {
      clearInterval(sampler);
    }
  } finally {
    for (const step of undo.toReversed()) await step();
  }
}

function figuresOf(
  injected: InjectResult,
  received: SinkReport,
  recipients: number,
  measured: Pick<Figures, 'cost' | 'cold' | 'idleMiB' | 'peakMiB'>,
): Figures {
  const latencies: number[] = [];
  const deliveries: number[] = [];
  let lost = 0;
  let lastArrival = 0;
  for (let id = 0; id < injected.acceptedAt.length; id += 1) {
    const acceptedAt = injected.acceptedAt[id] ?? 0;
    if (acceptedAt > 0) latencies.push((injected.latency[id] ?? 0) / 1000);
    for (let n = 0; n < recipients; n += 1) {
      const arrivedAt = received.arrivedAt[deliveryOf(id, n, recipients)] ?? 0;
      lastArrival = Math.max(lastArrival, arrivedAt);
      if (acceptedAt === 0) continue;
      if (arrivedAt === 0) lost += 1;
      else deliveries.push((arrivedAt - acceptedAt) / 1000);
    }
  }
  latencies.sort((a, b) => a - b);
  deliveries.sort((a, b) => a - b);
  const seconds = (until: number): number => Math.max(1, until - injected.startedAt) / 1e6;
  return {
    acceptedPerS: (injected.accepted * recipients) / seconds(injected.finishedAt),
    deliveredPerS: received.unique / seconds(lastArrival),
    ...measured,
    acceptP50: percentile(latencies, 0.5),
    acceptP99: percentile(latencies, 0.99),
    deliverP50: percentile(deliveries, 0.5),
    deliverP99: percentile(deliveries, 0.99),
    lost,
    duplicates: received.duplicates,
    signed: received.signed,
    overTls: received.secure,
    perTransaction: received.unique / received.transactions,
    perConnection: (received.unique + received.warmup) / received.connections,
    refused: injected.refused,
    failed: injected.failed,
    failures: injected.failures,
    meanBytes: received.unique === 0 ? 0 : received.bytes / received.unique,
    sinkConnections: received.peakConnections,
  };
}

/** The value below which `share` of the sorted values lie (nearest rank); 0 for none. */
function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0;
}

type SinkHandle = {
  readonly port: number;
  readonly pid: number;
  onArrived: (id: number) => void;
  unique(): Promise<number>;
  warmup(): Promise<number>;
  /** Resolves when `count()` has reached `wanted`, stalled for 20 s, or the time is up. */
  settled(count: () => Promise<number>, wanted: number, timeoutMs: number): Promise<void>;
  report(): Promise<SinkReport>;
  stop(): Promise<void>;
};

type SinkMessage =
  | { kind: 'ready'; port: number }
  | { kind: 'complete' }
  | { kind: 'arrived'; id: number }
  | { kind: 'count'; unique: number; warmup: number }
  | { kind: 'report'; report: SinkReport };

async function startSink(load: Load): Promise<SinkHandle> {
  const args = ['0', String(load.messages), '--recipients', String(load.recipients)];
  const { certificate } = load;
  if (certificate !== undefined)
    args.push('--certificate', certificate.certFile, '--key', certificate.keyFile);
  if (load.delayMs > 0) args.push('--delay-ms', String(load.delayMs));
  if (load.chunking) args.push('--chunking');
  if (load.sites > 0) args.push('--addresses', String(Math.min(load.sites, SITE_ADDRESSES)));
  if (load.oneAtATime) args.push('--notify');
  const child = forkPart('sink.ts', args);
  let complete = (): void => undefined;
  const completed = new Promise<void>((resolve) => {
    complete = resolve;
  });
  const asked = new Map<
    string,
    { resolve: (message: SinkMessage) => void; reject: (error: Error) => void }
  >();
  const ended = (): void => {
    for (const { reject } of asked.values()) reject(new Error('the sink ended'));
  };
  child.on('exit', ended);
  const ask = <K extends SinkMessage['kind']>(kind: K): Promise<Extract<SinkMessage, { kind: K }>> =>
    new Promise((resolve, reject) => {
      const take = (message: SinkMessage): void => resolve(message as Extract<SinkMessage, { kind: K }>);
      asked.set(kind, { resolve: take, reject });
      if (kind !== 'ready') child.send({ kind }, (error) => error !== null && ended());
    });
  const handle: SinkHandle = {
    port: 0,
    pid: child.pid ?? -1,
    onArrived: () => undefined,
    unique: async () => (await ask('count')).unique,
    warmup: async () => (await ask('count')).warmup,
    async settled(count, wanted, timeoutMs) {
      let best = -1;
      let movedAt = performance.now();
      const until = movedAt + timeoutMs;
      while (performance.now() < until && performance.now() - movedAt < STALL_MS) {
        load.interrupted.throwIfAborted();
        const now = await count();
        if (now >= wanted) return;
        if (now > best) {
          best = now;
          movedAt = performance.now();
        }
        await Promise.race([completed, sleep(200)]);
      }
    },
    report: async () => (await ask('report')).report,
    stop: () => stopPart(child),
  };
  child.on('message', (message: SinkMessage) => {
    if (message.kind === 'arrived') handle.onArrived(message.id);
    else if (message.kind === 'complete') complete();
    else asked.get(message.kind)?.resolve(message);
  });
  const { port } = await ask('ready');
  return Object.assign(handle, { port });
}

type InjectorHandle = {
  readonly pid: number;
  inject(plan: InjectPlan): Promise<InjectResult>;
  arrived(id: number): void;
  stop(): Promise<void>;
};

function startInjector(interrupted: AbortSignal): InjectorHandle {
  interrupted.throwIfAborted();
  const child = forkPart('inject.ts', []);
  const onAbort = (): void => {
    child.kill('SIGKILL');
  };
  interrupted.addEventListener('abort', onAbort);
  return {
    pid: child.pid ?? -1,
    inject: (plan) =>
      new Promise((resolve, reject) => {
        child.once('message', (message: { result: InjectResult }) => resolve(message.result));
        child.once('exit', () => reject(new Error('the injector ended')));
        child.send({ kind: 'plan', plan }, (error) => error !== null && reject(error));
      }),
    arrived(id) {
      // An injector that is gone is noticed where its result is awaited.
      if (child.connected) child.send({ kind: 'arrived', id }, () => undefined);
    },
    async stop() {
      interrupted.removeEventListener('abort', onAbort);
      await stopPart(child);
    },
  };
}

function forkPart(file: string, args: readonly string[]): ChildProcess {
  return fork(join(import.meta.dirname, file), [...args], {
    serialization: 'advanced',
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
}

async function stopPart(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = new Promise((resolve) => child.once('exit', resolve));
  child.kill('SIGKILL'); // the sink and the injector keep nothing
  await gone;
}

function fileNameOf({ name }: Peer): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}

function keepSample(folder: string, name: string, sample: string): void {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.txt`), sample, 'latin1');
}
