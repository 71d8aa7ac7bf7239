/**
 * Asks DNS servers one question at a time. Returns one decoded message that answers exactly that question, or a failure
 * with the problem of each server. While one server does not answer, the next is asked too, and the first answer counts,
 * for slow servers; the last try is without EDNS, for what drops queries with it. A server that does not answer is asked
 * last for a while. Questions that were not answered, and those about names of the same zone, wait in a line of their
 * own, so that zones without servers do not delay the look-ups of others. In both lines the askers take turns: whoever
 * asks for thousands of names delays themselves.
 */
import { type AskerLine, type Askers, createAskerLine } from '../lib/asker-line.ts';
import { BoundedMap } from '../lib/bounded-map.ts';
import type { Clock } from '../lib/clock.ts';
import type { Random } from '../lib/random.ts';
import { type DnsMessage, encodeQuery, type RecordType } from './dns-codec.ts';
import { type Asking, createDnsExchanges, type Question, type Try } from './dns-exchange.ts';
import { normalizeName, zoneOf } from './dns-name.ts';
import type { DnsFailureReason } from './dns-types.ts';
import type { DnsServer } from './system-resolvers.ts';

export type DnsReply =
  /** An answer with code NOERROR or NXDOMAIN. */
  { kind: 'message'; message: DnsMessage; server: DnsServer } | DnsFailure;

export interface DnsFailure {
  kind: 'failure';
  reason: DnsFailureReason;
  /** For people: the problem of each server. */
  detail: string;
}

export interface DnsClientOptions {
  /**
   * After this time without an answer the next try begins; one is given up after three times as long, or when another
   * question waits for its place. Default 1,000.
   */
  timeoutMs?: number;
  /** Tries per server. Default 2. */
  tries?: number;
  /** Concurrent exchanges, i.e. sockets; further ones wait. A quarter more for what was not answered before. Default 256. */
  maxInFlight?: number;
  /** false: servers are asked only for what they know themselves, as those of a zone are. Default true. */
  recursion?: boolean;
}

export interface DnsClient {
  /**
   * Never throws. `name` is an A-label name without escapes. `asker`: for whom it is asked; '' = for this server.
   * `mayAsk`: which servers; all unless given.
   */
  query(
    name: string,
    type: RecordType,
    asker?: string | Askers,
    mayAsk?: (server: DnsServer) => boolean,
  ): Promise<DnsReply>;
  /** This server answers, and wrongly: it is asked last for a while. */
  askLast(server: DnsServer): void;
  /** Ends running queries with a failure; later ones fail at once. */
  close(): void;
}

/** How long a silent server is asked last. */
const DEAD_MS = 30_000;
/** How long a zone counts as silent. */
const SILENT_MS = 30_000;
const MAX_SILENT_ZONES = 1_000;
/** Of several servers' failures, the one that says most about the question. */
const TELLING: readonly DnsFailureReason[] = [
  'servfail',
  'refused',
  'malformed',
  'timeout',
  'network',
  'local',
];

/** `servers`, the same objects each time, are asked once each in the given order, then once again. */
export function createDnsClient(
  deps: { clock: Clock; random: Random; servers: () => readonly DnsServer[] },
  options: DnsClientOptions = {},
): DnsClient {
  const { clock, servers } = deps;
  const { timeoutMs = 1000, tries = 2, maxInFlight = 256, recursion = true } = options;
  const deadUntilMs = new WeakMap<DnsServer, number>();
  const line = createAskerLine(maxInFlight);
  const silentLine = createAskerLine(Math.max(1, maxInFlight >> 2));
  /** Zones for which no server gave an answer, and until when they count as silent. */
  const silentUntilMs = new BoundedMap<string, number>(MAX_SILENT_ZONES);
  /** Exchanges that wait for a place in a line. */
  let waiting = 0;
  let closed = false;
  const exchanges = createDnsExchanges(deps, { timeoutMs, recursion, isWaitedFor: () => waiting > 0 });

  function inOrder(): DnsServer[] {
    const now = clock.monotonicMs();
    const isDead = (server: DnsServer) => (deadUntilMs.get(server) ?? 0) > now;
    const known = servers();
    return [...known.filter((server) => !isDead(server)), ...known.filter(isDead)];
  }

  async function query(
    name: string,
    type: RecordType,
    asker: string | Askers = '',
    mayAsk: (server: DnsServer) => boolean = () => true,
  ): Promise<DnsReply> {
    const question: Question = { name: normalizeName(name), type };
    if (!encodeQuery({ id: 0, ...question, edns: false })) {
      return { kind: 'failure', reason: 'malformed', detail: 'not a name that DNS can hold' };
    }
    const order = inOrder().filter(mayAsk);
    const failures = new Map<DnsServer, { reason: DnsFailureReason; detail: string }>();
    const done = new Set<DnsServer>();
    const asking: Asking = { question, isOver: false, stops: new Set() };
    const begun: Promise<DnsReply | null>[] = [];
    const { promise: answered, resolve: answer } = Promise.withResolvers<DnsReply>();
    const zone = zoneOf(question.name);
    const isSilent = () => (silentUntilMs.get(zone) ?? 0) > clock.monotonicMs();

    /** Null: it failed. */
    async function tryOnce(server: DnsServer, how: Try): Promise<DnsReply | null> {
      const run = () => exchanges.ask(server, asking, how);
      // Its zone may have shown itself silent while it waited.
      const exchange =
        (await inPlace(line, asker, async () => (isSilent() ? null : run()))) ??
        (await inPlace(silentLine, asker, run));
      if (asking.isOver) return null;
      if (exchange.kind === 'answer') {
        deadUntilMs.delete(server);
        const reply: DnsReply = { kind: 'message', message: exchange.message, server };
        answer(reply);
        return reply;
      }
      if (done.has(server)) return null;
      failures.set(server, exchange);
      if (exchange.reason === 'timeout' || exchange.reason === 'network') markDead(server);
      // The server works and would answer the same again, or cannot be asked; only another server can help.
      else done.add(server);
      return null;
    }

    try {
      for (let round = 0; round < tries; round++) {
        for (const server of order) {
          if (done.has(server)) continue;
          if (closed) return { kind: 'failure', reason: 'network', detail: 'the resolver is closed' };
          const late = Promise.withResolvers<null>();
          const onLate = () => {
            markDead(server);
            late.resolve(null);
          };
          const tried = tryOnce(server, { isLast: round === tries - 1, edns: round === 0, onLate });
          begun.push(tried);
          const reply = await Promise.race([answered, tried, late.promise]);
          if (reply !== null) return reply;
        }
        if (done.size < order.length) silentUntilMs.set(zone, clock.monotonicMs() + SILENT_MS);
      }
      const ended = Promise.all(begun).then(() => summarize(failures));
      return await Promise.race([answered, ended]);
    } finally {
      asking.isOver = true;
      for (const stop of [...asking.stops]) stop();
    }
  }

  function inPlace<Result>(
    of: AskerLine,
    asker: string | Askers,
    run: () => Promise<Result>,
  ): Promise<Result> {
    waiting += 1;
    return of(asker, () => {
      waiting -= 1;
      return run();
    });
  }

  function markDead(server: DnsServer): void {
    deadUntilMs.set(server, clock.monotonicMs() + DEAD_MS);
  }

  return {
    query,
    askLast: markDead,
    close() {
      closed = true;
      exchanges.close();
    },
  };
}

function summarize(failures: Map<DnsServer, { reason: DnsFailureReason; detail: string }>): DnsFailure {
  const reasons = new Set([...failures.values()].map((each) => each.reason));
  const detail = [...failures]
    .map(([server, each]) => `${server.address} port ${server.port}: ${each.detail}`)
    .join('; ');
  return {
    kind: 'failure',
    reason: TELLING.find((reason) => reasons.has(reason)) ?? 'network',
    detail: detail || 'no DNS server is configured',
  };
}
