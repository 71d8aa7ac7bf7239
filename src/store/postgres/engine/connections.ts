/**
 * The connections of one store, in lanes, so that urgent work never waits behind long work. A lane has a fixed number
 * of connections, each opened when it is first needed; `use` lends one to a piece of work, in order of arrival. Every
 * new connection is checked (checks.ts) and configured; a failed one is replaced at the next use.
 */
import { Socket } from 'node:net';
import pg, { type Client } from 'pg';
import { atMost, type Clock, systemClock } from '../../../lib/clock.ts';
import { StoreRefused } from '../../shared/refusal.ts';
import { addressOf, clientOptions, type PostgresHost } from './address.ts';
import { checkOurs, checkServer } from './checks.ts';
import { type Db, dbOver, type Statements } from './db.ts';
import {
  isAnswer,
  isConnectionLost,
  isOfSession,
  isOutOfConnections,
  NO_ANSWER,
  NO_ANSWER_YET,
  NotConnected,
  unavailableReason,
} from './errors.ts';
import { types } from './types.ts';

/**
 * `commit`: acceptance; `settle`: outcomes; `claim`: leases and calls; `quick`: statements of about a millisecond,
 * such as heartbeats, names and the horizon of events; `cold`: all other writes; `read`: single rows and the queue;
 * `count`: counts that acceptance needs, which may be long; `search`.
 */
export type Lane = 'commit' | 'settle' | 'claim' | 'quick' | 'cold' | 'read' | 'count' | 'search';

const SIZES: Readonly<Record<Lane, number>> = {
  commit: 2,
  settle: 1,
  claim: 1,
  quick: 1,
  cold: 2,
  read: 2,
  count: 1,
  search: 1,
};

/** Connections outside the lanes: LISTEN, changes of the schema, and a transfer, which counts whole tables. */
type Apart = 'hints' | 'schema' | 'transfer';

const HOT: ReadonlySet<Lane | Apart> = new Set(['commit', 'settle', 'claim', 'quick', 'hints']);

const CONNECT_MS = 5_000;
const GOODBYE_MS = 1_000;
/** From then on a host is asked whether it is still there. Without it a change of the schema waits hours for one that vanished. */
const SILENT_MS = 30_000;
/** How long work waits for others to end where the server has no connection left. Most takes milliseconds. */
const ROOM_MS = 2_000;
const MOMENT_MS = 100;
const HOT_MS = { statement: 5_000, client: 8_000 };
const COLD_MS = { statement: 30_000, client: 35_000 };
/** As long as it takes. */
const UNLIMITED = { statement: 0, client: 0 };
const LONG: ReadonlySet<Lane | Apart> = new Set(['schema', 'transfer']);

/**
 * Settings of every connection. If the server ends a transaction whose client is silent, its locks become free. Commits
 * that are safe stay so on this connection, whatever the server is set to later. Rows are read in the order of an index: to
 * sort some by the rest of their columns, the planner would read all rows of a domain. The role or the database may have switches
 * of the planner off that the plans need. A partitioned table must not name the tablespace that the database has anyway.
 */
const SETTINGS = `SET idle_in_transaction_session_timeout = 10000; SET idle_session_timeout = 0; SET lock_timeout = 0;
  SET tcp_user_timeout = 15000;
  SET client_min_messages = warning; SET bytea_output = hex; SET DateStyle = ISO; SET TimeZone = UTC;
  SET standard_conforming_strings = on;
  SET default_transaction_isolation = 'read committed';
  SELECT set_config('synchronous_commit', s, false) FROM current_setting('synchronous_commit') s WHERE s IN ('on', 'remote_apply');
  SELECT set_config(name, boot_val, false) FROM pg_settings WHERE name LIKE 'enable\\_%' AND setting <> boot_val;
  SELECT set_config('default_tablespace', '', false) FROM pg_database d JOIN pg_tablespace t ON t.oid = d.dattablespace
    WHERE datname = current_database() AND spcname = current_setting('default_tablespace');
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_incremental_sort = off; SET jit = off`;

/**
 * New tables have no statistics, so the planner would scan whole tables, or sort although an index has the order.
 * Frequent statements therefore only use indexes, and their plan is made once.
 */
const HOT_SETTINGS = `SET enable_hashjoin = off; SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan`;

/** One connection. */
export interface Link {
  db: Db;
  /** Runs SQL without values; returns the command tag of the server. */
  exec(sql: string): Promise<string>;
  /** Id of the server process of this connection. */
  pid(): Promise<number>;
  /** Identifies the server: another one after a standby has taken over. */
  timeline: string;
  /** Calls `told` with the text of each notification. */
  onNotice(told: (text: string) => void): void;
  isBroken(): boolean;
  /** Ends the session in order; nothing more is sent. */
  end(): Promise<void>;
  /** Closes the connection at once; running statements fail. For a server that does not answer. */
  cut(): void;
}

export interface Connections {
  /** Of the last server. */
  timeline(): string;
  use<Result>(lane: Lane, work: (link: Link) => Promise<Result>): Promise<Result>;
  /** Closes all connections at once. Running work fails; later work gets new connections. */
  cut(): void;
  /** Closes all connections after running work has ended. */
  close(): Promise<void>;
}

/**
 * `timeline`: of the server that was prepared. Each connection is prepared before it is used. After a standby has taken over,
 * `other` hears of it before that: cached rows may be wrong.
 */
export function createConnections(
  url: string,
  statements: Statements,
  clock: Clock,
  timeline: string,
  other: { prepare(link: Link, isOther: boolean): Promise<unknown>; takenOver(): void },
): Connections {
  /** Those who wait until some work gives its connection back. */
  const awaiting = new Set<() => void>();

  async function open(lane: Lane): Promise<Link> {
    const link = await openWithin(lane);
    const isOther = () => timeline !== link.timeline;
    try {
      // A transfer ends the sessions of paused servers; this connection may be a new one after that.
      await checkOurs(link.db);
      await other.prepare(link, isOther());
    } catch (error) {
      link.cut();
      throw error;
    }
    if (isOther()) {
      other.takenOver();
      // Commits that the former server still answers would be missing in the new one.
      for (const one of Object.values(lanes)) one.cut((old) => old.timeline !== link.timeline);
    }
    timeline = link.timeline;
    return link;
  }

  /** Where the server has no connection left, idle ones of other lanes make room: the process is slower, and works. */
  async function openWithin(lane: Lane): Promise<Link> {
    const untilMs = clock.monotonicMs() + ROOM_MS;
    for (;;) {
      try {
        return await openLink(url, statements, lane, timeline);
      } catch (error) {
        if (!isOutOfConnections(error) || clock.monotonicMs() >= untilMs) throw error;
        await (idleLink()?.end() ?? workEnded());
      }
    }
  }

  /** Or a moment has passed: the server takes one to end what was closed. */
  async function workEnded(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    awaiting.add(resolve);
    await atMost(clock, MOMENT_MS, promise);
    awaiting.delete(resolve);
  }

  /** Of the least urgent lane that has one. */
  function idleLink(): Link | undefined {
    for (const lane of Object.values(lanes).reverse()) {
      const idle = lane.takeIdle();
      if (idle !== undefined) return idle;
    }
    return undefined;
  }

  function gaveBack(): void {
    for (const wake of awaiting) wake();
  }

  const lanes = Object.fromEntries(
    Object.entries(SIZES).map(([lane, size]) => [lane, createLane(() => open(lane as Lane), size, gaveBack)]),
  ) as Record<Lane, ReturnType<typeof createLane>>;
  return {
    timeline: () => timeline,
    use: (lane, work) => lanes[lane].use(work),
    cut() {
      for (const lane of Object.values(lanes)) lane.cut();
    },
    async close() {
      await Promise.all(Object.values(lanes).map((lane) => lane.close()));
    },
  };
}

/**
 * Connects to the primary among the hosts of a URL, checks it and configures the session. Of several primaries only the one
 * that took over last is right. `latest`: the timeline of the last server; null: not known yet, so all hosts are asked.
 */
export async function openLink(
  url: string,
  statements: Statements,
  lane: Lane | Apart,
  latest: string | null = '',
): Promise<Link> {
  const address = addressOf(url);
  const open = (host: (typeof address.hosts)[number]) => linkTo({ ...address, ...host }, statements, lane);
  let known = latest ?? '';
  const problems: unknown[] = [];
  for (const [i, host] of address.hosts.entries()) {
    try {
      const link = await open(host);
      const others = latest === null ? address.hosts.slice(i + 1) : [];
      for (const other of await Promise.all(others.map((one) => timelineOf(open(one)))))
        if (other > known) known = other;
      if (link.timeline >= known) return link;
      link.cut();
      throw new StoreRefused(
        'unfit',
        'The server is a former primary of the database, and another has taken over from it; stop it, or make it a standby. Nothing was written.',
      );
    } catch (error) {
      problems.push(error);
    }
  }
  // A host that answered says more than one that was not reached.
  if (problems.length === 1 || !problems.some((one) => one instanceof StoreRefused))
    throw problems.find(isAnswer) ?? problems[0];
  const reasons = address.hosts.map(
    ({ host, port }, i) =>
      `${host}:${port}: ${(unavailableReason(problems[i]) ?? String(problems[i])).replace(/\.( Nothing was written\.)?$/, '')}`,
  );
  throw new StoreRefused('unfit', reasons.join('; '));
}

/** '': it is no primary, or cannot be reached. */
async function timelineOf(opening: Promise<Link>): Promise<string> {
  try {
    const link = await opening;
    link.cut();
    return link.timeline;
  } catch {
    return '';
  }
}

async function linkTo(host: PostgresHost, statements: Statements, lane: Lane | Apart): Promise<Link> {
  const times = HOT.has(lane) ? HOT_MS : LONG.has(lane) ? UNLIMITED : COLD_MS;
  // Our own socket, because the driver would wait for running statements before it closes one.
  const socket = new Socket();
  const client: Client = new pg.Client({
    ...clientOptions(host),
    stream: () => socket,
    pipeline: true,
    application_name: `postrider ${lane}`,
    connectionTimeoutMillis: CONNECT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: SILENT_MS,
    types,
  });
  let broken = false;
  client.on('error', () => {
    broken = true;
  });
  client.on('end', () => {
    broken = true;
  });
  const query = queryWithin(times.client, client, socket);
  const first = queryWithin(CONNECT_MS, client, socket, NO_ANSWER_YET);
  const exec = async (sql: string) => (await query({ text: sql })).command ?? '';
  let timeline: string;
  try {
    await client.connect();
    [timeline] = await Promise.all([
      checkServer({ query: first }),
      first({
        text: `${SETTINGS}; SET statement_timeout = ${times.statement}${HOT.has(lane) ? `; ${HOT_SETTINGS}` : ''}`,
      }),
    ]);
  } catch (error) {
    socket.destroy();
    throw error;
  }
  return {
    db: dbOver({ query }, statements),
    timeline,
    exec,
    async pid() {
      const { rows } = await query({ text: 'SELECT pg_backend_pid() AS pid' });
      return (rows[0] as { pid: number }).pid;
    },
    onNotice: (told) => void client.on('notification', ({ payload = '' }) => told(payload)),
    isBroken: () => broken,
    async end() {
      broken = true;
      socket.setTimeout(GOODBYE_MS, () => socket.destroy());
      await client.end().catch(() => {});
    },
    cut() {
      broken = true;
      socket.destroy();
    },
  };
}

/**
 * Closes the connection where an answer takes longer; 0: it may take any time. The time has two halves, because the timer of a
 * process that was stopped may end before it has read what came meanwhile.
 */
function queryWithin(ms: number, client: Client, socket: Socket, told = NO_ANSWER): Client['query'] {
  if (ms === 0) return (question) => client.query(question);
  return (question) => {
    const { promise, reject } = Promise.withResolvers<never>();
    const giveUp = () => {
      reject(new Error(told));
      socket.destroy();
    };
    let timer = systemClock.setTimer(ms / 2, () => {
      timer = systemClock.setTimer(ms / 2, giveUp);
    });
    return Promise.race([client.query(question), promise]).finally(() => timer.cancel());
  };
}

/** Lends at most `size` connections, each to one piece of work. `gaveBack`: called when some work has ended. */
function createLane(open: () => Promise<Link>, size: number, gaveBack: () => void) {
  const free: Link[] = [];
  const working = new Set<Link>();
  const waiting: (() => void)[] = [];
  let lent = 0;
  let closing = false;
  let emptied: (() => void) | null = null;

  async function take(): Promise<Link> {
    if (lent >= size) await new Promise<void>((resolve) => waiting.push(resolve));
    else lent += 1;
    const link = free.pop();
    if (link !== undefined && !link.isBroken()) return link;
    return open().catch((error: unknown) => {
      throw new NotConnected(error);
    });
  }

  /** The free place goes to the work that has waited longest. */
  function leave(): void {
    const next = waiting.shift();
    if (next !== undefined) {
      next();
      return;
    }
    lent -= 1;
    if (lent === 0) emptied?.();
  }

  return {
    async use<Result>(work: (link: Link) => Promise<Result>): Promise<Result> {
      let link: Link | undefined;
      try {
        link = await take();
        working.add(link);
        return await work(link);
      } catch (error) {
        if (link !== undefined && (isConnectionLost(error) || isOfSession(error))) link.cut();
        throw error;
      } finally {
        if (link !== undefined) working.delete(link);
        if (link !== undefined && !link.isBroken()) {
          if (closing && waiting.length === 0) await link.end();
          else free.push(link);
        }
        leave();
        gaveBack();
      }
    },
    /** One that nobody uses; it is no longer of this lane. */
    takeIdle(): Link | undefined {
      const at = free.findLastIndex((link) => !link.isBroken());
      return at === -1 ? undefined : free.splice(at, 1)[0];
    },
    cut(which: (link: Link) => boolean = () => true): void {
      for (const link of [...working, ...free]) if (which(link)) link.cut();
    },
    async close(): Promise<void> {
      closing = true;
      if (lent > 0)
        await new Promise<void>((resolve) => {
          emptied = resolve;
        });
      await Promise.all(free.splice(0).map((link) => link.end()));
    },
  };
}
