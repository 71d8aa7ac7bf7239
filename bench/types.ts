// The shapes that the parts of the benchmark pass to each other: the plan an injector is given, what it and
// the sink report, and what a product under test looks like from outside. The parts run in
// processes of their own (fork, structured-clone messages), so everything here must survive such a message.

/** Microseconds on the machine's monotonic clock, the same origin in every process of one machine. */
export type Micros = number;

/**
 * How a product takes mail in. `pipelining` lets the injector use SMTP pipelining where it is offered; a product
 * that is slower with it is spared. `secure`: the connection begins with TLS. SMTP with a token logs in.
 */
export type Door = { readonly port: number; readonly secure: boolean } & (
  | { readonly kind: 'http'; readonly token: string }
  | { readonly kind: 'smtp'; readonly pipelining: boolean; readonly token?: string }
);

/** Paths of the PEM files that every listener uses with --tls. */
export type Certificate = { readonly certFile: string; readonly keyFile: string };

/** One load: `count` messages with ids `firstId`, `firstId + 1`, … over `connections` parallel connections. */
export type InjectPlan = {
  /** Of one kind; connections take them in turn. */
  readonly doors: readonly Door[];
  readonly count: number;
  readonly firstId: number;
  readonly connections: number;
  /** Messages in a request, where the door takes several. */
  readonly batch: number;
  /** Size of the two text bodies together, in bytes; the headers come on top. */
  readonly bodyBytes: number;
  /** Of each message: one in To, the others in Bcc, or as many RCPT commands. */
  readonly recipients: number;
  /** Recipients are in so many domains, a message's in the same; 0 = all in one. */
  readonly sites: number;
  /** Send the next message only when the previous one was seen at the sink (latency mode). */
  readonly waitForArrival: boolean;
  /** The injector gives up after this long and reports what it has. */
  readonly timeoutMs: number;
};

/** What an injector saw. Arrays are indexed by `id - firstId`; 0 means: never accepted. */
export type InjectResult = {
  readonly startedAt: Micros;
  /** When the last acceptance was read. */
  readonly finishedAt: Micros;
  readonly acceptedAt: Float64Array;
  readonly latency: Float64Array;
  readonly accepted: number;
  /** Temporary refusals (503, 429, 4xx replies); each was sent again after a short wait. */
  readonly refused: number;
  /** Messages whose connection died before the answer, or that were refused for good. */
  readonly failed: number;
  /** The first few failure texts. */
  readonly failures: readonly string[];
};

/** What the sink received, in deliveries: a message to one recipient. `arrivedAt` is indexed by `deliveryOf`; 0 means: not seen. */
export type SinkReport = {
  readonly arrivedAt: Float64Array;
  readonly unique: number;
  readonly duplicates: number;
  readonly signed: number;
  /** Deliveries over TLS. */
  readonly secure: number;
  /** Contents of measured messages; each went to one recipient or to several. */
  readonly transactions: number;
  /** Deliveries with an id outside the measured range (the warm-up). */
  readonly warmup: number;
  /** Messages without a readable id. */
  readonly unknown: number;
  /** Bytes of message content, dots included, that each measured recipient got. */
  readonly bytes: number;
  readonly connections: number;
  readonly peakConnections: number;
  /** The first measured message as it came over the wire (latin1). */
  readonly sample: string;
};

/** What a product is started with. */
export type PeerSetting = {
  /** An empty folder on a real disk, readable by all; removed by the caller afterwards. */
  readonly dir: string;
  readonly sinkPort: number;
  /** Mail goes by MX to so many sites, all of them the sink; 0 = everything through it as a relay. */
  readonly sites: number;
  readonly dkim: boolean;
  /** With it TLS is used towards the injector and the sink. */
  readonly certificate: Certificate | undefined;
  /** How ours takes mail in; the others only know SMTP. */
  readonly door: Door['kind'];
  readonly recipients: number;
  readonly connections: number;
  /** How far away the sink is; 0 on loopback. */
  readonly delayMs: number;
  /** Path of the library that slows fsync down, for LD_PRELOAD. */
  readonly preload: string | undefined;
  /** Where a debugger can join; absent = nowhere. */
  readonly inspectPort?: number;
  /** Keep the product's own mail log (in `dir`) instead of dropping it. */
  readonly logs: boolean;
};

/** A started product. */
export type RunningPeer = {
  readonly doors: readonly Door[];
  /** Process ids whose trees are the product. */
  readonly roots: readonly number[];
  /** The same of a database server, which is counted apart. */
  readonly databaseRoots?: readonly number[];
  /** Stops everything that `start` started; resolves when it is gone. Never rejects. */
  stop(): Promise<void>;
};

/** A product that can be measured. */
export type Peer = {
  readonly name: string;
  /** It optimises its code while it runs: it is warmed up for longer, and the beginning is a measurement of its own. */
  readonly compiles: boolean;
  /** Resolves to undefined where it can run, else to the reason why not and what to do. */
  missing(): Promise<string | undefined>;
  /** Version text for the table. */
  version(): Promise<string>;
  /** Resolves when it takes mail; rejects with the tail of its log where it does not come up. */
  start(setting: PeerSetting): Promise<RunningPeer>;
};

/** Ids from here on are the warm-up and never counted. */
export const WARMUP_FIRST_ID = 90_000_000;

/** The place of the nth recipient of a message among all deliveries. */
export function deliveryOf(id: number, n: number, recipients: number): number {
  return id * recipients + n;
}

/** Reads the machine's monotonic clock. */
export function nowMicros(): Micros {
  return Number(process.hrtime.bigint()) / 1000;
}
