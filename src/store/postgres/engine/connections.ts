/**
 * The connections of one store, in lanes: what is urgent never waits behind what is long. A lane has a number of
 * connections, opened when they are first needed; `use` lends one to a piece of work, in order of arrival. Every new
 * connection is checked (checks.ts) and set up; one that failed is replaced by the next use.
 */
import pg, { type Client } from 'pg';
import { checkServer } from './checks.ts';
import { type Db, dbOver, type Statements } from './db.ts';
import { isConnectionLost, NotConnected } from './errors.ts';
import { types } from './types.ts';

/**
 * `commit`: acceptance; `settle`: outcomes; `claim`: leases, calls; `quick`: beats, names, the horizon of events, each a
 * statement of a millisecond; `cold`: everything else that writes; `read`: single rows and the queue; `search`.
 */
export type Lane = 'commit' | 'settle' | 'claim' | 'quick' | 'cold' | 'read' | 'search';

const SIZES: Readonly<Record<Lane, number>> = {
  commit: 2,
  settle: 1,
  claim: 1,
  quick: 1,
  cold: 2,
  read: 2,
  search: 1,
};

const HOT: ReadonlySet<Lane> = new Set(['commit', 'settle', 'claim', 'quick']);

const CONNECT_MS = 5_000;
const HOT_MS = { statement: 5_000, client: 8_000 };
const COLD_MS = { statement: 30_000, client: 35_000 };

/** Settings of every connection. A server that cuts off a transaction that waits for its client frees its locks. */
const SETTINGS = `SET idle_in_transaction_session_timeout = 10000; SET tcp_user_timeout = 15000;
  SET client_min_messages = warning; SET bytea_output = hex; SET DateStyle = ISO; SET TimeZone = UTC;
  SET enable_seqscan = off; SET enable_bitmapscan = off; SET jit = off`;

/**
 * New tables have no statistics, and the planner would read them whole, or sort what an index has in order: what everybody
 * asks goes by indexes only, and its plan is made once.
 */
const HOT_SETTINGS = `SET enable_hashjoin = off; SET enable_mergejoin = off; SET plan_cache_mode = force_generic_plan`;

/** One connection. */
export interface Link {
  db: Db;
  /** Runs a text without values and gives its command, as the server names what it did. */
  exec(sql: string): Promise<string>;
  isBroken(): boolean;
  /** Its use ends with its work; nothing is sent any more. */
  end(): Promise<void>;
}

export interface Connections {
  use<Result>(lane: Lane, work: (link: Link) => Promise<Result>): Promise<Result>;
  /** Ends all connections; work that runs is waited for. */
  close(): Promise<void>;
}

export function createConnections(url: string, statements: Statements): Connections {
  const lanes = Object.fromEntries(
    Object.entries(SIZES).map(([lane, size]) => [
      lane,
      createLane(() => openLink(url, statements, lane as Lane), size),
    ]),
  ) as Record<Lane, ReturnType<typeof createLane>>;
  return {
    use: (lane, work) => lanes[lane].use(work),
    async close() {
      await Promise.all(Object.values(lanes).map((lane) => lane.close()));
    },
  };
}

/** Connects, checks and sets up. */
export async function openLink(url: string, statements: Statements, lane: Lane): Promise<Link> {
  const times = HOT.has(lane) ? HOT_MS : COLD_MS;
  const client: Client = new pg.Client({
    connectionString: url,
    pipeline: true,
    application_name: `postrider ${lane}`,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: times.client,
    keepAlive: true,
    types,
  });
  let broken = false;
  client.on('error', () => {
    broken = true;
  });
  client.on('end', () => {
    broken = true;
  });
  const exec = async (sql: string) => (await client.query({ text: sql })).command ?? '';
  await client.connect();
  try {
    await Promise.all([
      exec(
        `${SETTINGS}; SET statement_timeout = ${times.statement}${HOT.has(lane) ? `; ${HOT_SETTINGS}` : ''}`,
      ),
      checkServer(client),
    ]);
  } catch (error) {
    await client.end().catch(() => {});
    throw error;
  }
  return {
    db: dbOver(client, statements),
    exec,
    isBroken: () => broken,
    async end() {
      broken = true;
      await client.end().catch(() => {});
    },
  };
}

/** Lends at most `size` links, to one piece of work each. */
export function createLane(open: () => Promise<Link>, size: number) {
  const free: Link[] = [];
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

  /** The place of a link goes to whoever waits longest. */
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
        return await work(link);
      } catch (error) {
        if (link !== undefined && isConnectionLost(error)) await link.end();
        throw error;
      } finally {
        if (link !== undefined && !link.isBroken()) {
          if (closing && waiting.length === 0) await link.end();
          else free.push(link);
        }
        leave();
      }
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
