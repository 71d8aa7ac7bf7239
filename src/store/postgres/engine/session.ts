/**
 * What operations work with. `Shared` lives as long as the store: numbers of names and queues, which can be cached
 * because they are never removed, and how far events can be read. A session is one transaction: its connection, and
 * what is reported after its commit.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import { queueLaneCode } from '../../shared/codes.ts';
import type { QueueKey } from '../../shared/operation.ts';
import type { CaptureView } from '../../topics/captures.ts';
import type { SuppressionChange } from '../../topics/suppressions.ts';
import { int2s, int8s, texts } from './arrays.ts';
import type { Connections } from './connections.ts';
import type { Db } from './db.ts';
import { createHorizon, type Horizon } from './horizon.ts';

/** Limits memory if there are very many recipient domains. */
const MAX_CACHED = 50_000;

export interface Shared {
  /** The newest schema number that this program knows. */
  schemaNumber: number;
  /** Numbers of sender domains or token ids, created if new. Committed at once, even if the caller fails. */
  nameIds(given: readonly string[]): Promise<ReadonlyMap<string, number>>;
  nameId(text: string): Promise<number>;
  /** Ids of destination queues in the given order, created and committed in the same way. */
  queueIds(given: readonly QueueKey[]): Promise<number[]>;
  /** A standby has taken over: cached rows may not exist there, or their numbers may belong to others. */
  forget(): void;
  /** This epoch begins; earlier ones of this store have ended. */
  began(epoch: number): void;
  /**
   * Whether the epoch began before a standby took over; then nothing more is leased to it. Rows that the new server
   * lacks may have lost their numbers to others, and outcomes of this node would be recorded there.
   */
  isOver(epoch: number): boolean;
  /** Of events. */
  horizon: Horizon;
  captureHorizon: Horizon;
  /** By queue, the due time at which its next search begins, and since when searches begin later; see `claimDue`. */
  claimFloors: Map<number, { dueAt: number; since: number }>;
  /** Where searches of all queues and webhooks begin; see `floorFor`. */
  waitingFloors: { delivery: WaitingFloor; webhook_call: WaitingFloor };
  /** What was kept while the database was away may be stored now, due since then. */
  lookAgain(): void;
}

/** Rows that wait and fell due before `dueAt` are of `behind` (queues or webhooks), and in each of these from its own time on. */
export interface WaitingFloor {
  dueAt: number;
  behind: readonly { id: number; due_at: number }[];
  renewedAt: number;
  /** When all rows were looked at. */
  wholeAt: number;
}

export const NO_FLOOR: Readonly<WaitingFloor> = {
  dueAt: Number.MIN_SAFE_INTEGER,
  behind: [],
  renewedAt: Number.MIN_SAFE_INTEGER,
  wholeAt: Number.MIN_SAFE_INTEGER,
};

export interface Session extends Shared {
  db: Db;
  /** Captures of the running operation, reported after the commit. */
  captured: CaptureView[];
  /** Its suppressions, in the same way. */
  suppressed: SuppressionChange[];
  /** Queues with rows that other nodes may claim now. */
  queues: Set<number>;
  /** Webhook calls that the transaction has created or recorded, by domain. */
  calls: Map<number, number>;
  /** Octets of contents that it has deleted. */
  dropped: number;
  /** What it has made may be due since long ago: after the commit, searches begin at the first row. */
  overdue: boolean;
}

export function createShared(connections: Connections, schemaNumber: number): Shared {
  const names = new BoundedMap<string, number>(MAX_CACHED);
  const queues = new BoundedMap<string, number>(MAX_CACHED);
  const quickly = <Result>(work: (db: Db) => Promise<Result>) =>
    connections.use('quick', (link) => work(link.db));

  async function readNames(wanted: readonly string[]): Promise<void> {
    await quickly(async (db) => {
      const sql = 'SELECT id, text FROM name WHERE text = ANY ($1::text[])';
      const find = async (some: readonly string[]) => {
        for (const { id, text } of await db.all<{ id: number; text: string }>(sql, texts(some)))
          names.set(text, id);
      };
      await find(wanted);
      const missing = wanted.filter((text) => !names.has(text)).sort();
      if (missing.length === 0) return;
      await db.run(
        'INSERT INTO name (text) SELECT * FROM unnest($1::text[]) ON CONFLICT DO NOTHING',
        texts(missing),
      );
      await find(missing);
    });
  }

  async function nameIds(given: readonly string[]): Promise<ReadonlyMap<string, number>> {
    const found = new Map<string, number>();
    const wanted = [...new Set(given)].filter((text) => !names.has(text));
    if (wanted.length > 0) await readNames(wanted);
    for (const text of given) found.set(text, numberOf(names.get(text)));
    return found;
  }

  async function readQueues(wanted: readonly QueueKey[]): Promise<void> {
    const columns = (some: readonly QueueKey[]) =>
      [
        int2s(some.map(({ lane, sandbox }) => queueLaneCode.of(lane, sandbox))),
        int8s(some.map(({ senderDomainId }) => senderDomainId)),
        texts(some.map(({ recipientDomain }) => recipientDomain)),
        texts(some.map(({ routeKey }) => routeKey)),
      ] as const;
    const given = 'unnest($1::int2[], $2::int8[], $3::text[], $4::text[])';
    await quickly(async (db) => {
      const find = async (some: readonly QueueKey[]) => {
        const rows = await db.all<{ id: number | null }>(
          `SELECT q.id FROM ${given} WITH ORDINALITY g (lane, sender, recipient, route, at)
           LEFT JOIN dest_queue q ON q.lane = g.lane AND q.sender_domain = g.sender
             AND q.recipient_domain = g.recipient AND q.route_key = g.route ORDER BY g.at`,
          ...columns(some),
        );
        rows.forEach(({ id }, i) => {
          const key = some[i];
          if (id !== null && key !== undefined) queues.set(keyOf(key), id);
        });
      };
      await find(wanted);
      const missing = wanted.filter((key) => !queues.has(keyOf(key)));
      if (missing.length === 0) return;
      await db.run(
        `INSERT INTO dest_queue (lane, sender_domain, recipient_domain, route_key)
         SELECT * FROM ${given} ORDER BY 1, 2, 3, 4 ON CONFLICT DO NOTHING`,
        ...columns(missing),
      );
      await find(missing);
    });
  }

  const horizons = {
    horizon: createHorizon('event_seq_seq', quickly),
    captureHorizon: createHorizon('capture_seq_seq', quickly),
  };
  const claimFloors: Shared['claimFloors'] = new BoundedMap(MAX_CACHED);
  const waitingFloors = { delivery: { ...NO_FLOOR }, webhook_call: { ...NO_FLOOR } };
  let newest = 0;
  let lastOver = 0;

  return {
    schemaNumber,
    ...horizons,
    claimFloors,
    waitingFloors,
    lookAgain() {
      for (const floor of Object.values(waitingFloors)) floor.wholeAt = NO_FLOOR.wholeAt;
    },
    began(epoch) {
      newest = Math.max(newest, epoch);
    },
    isOver: (epoch) => epoch <= lastOver,
    forget() {
      lastOver = newest;
      for (const known of [names, queues, claimFloors]) known.clear();
      for (const floor of Object.values(waitingFloors)) Object.assign(floor, NO_FLOOR);
      for (const horizon of Object.values(horizons)) horizon.forget();
    },
    nameIds,
    nameId: async (text) => names.get(text) ?? numberOf((await nameIds([text])).get(text)),
    async queueIds(given) {
      const wanted = new Map(given.map((key) => [keyOf(key), key]));
      for (const key of wanted.keys()) if (queues.has(key)) wanted.delete(key);
      if (wanted.size > 0) await readQueues([...wanted.values()]);
      return given.map((key) => numberOf(queues.get(keyOf(key))));
    },
  };
}

function keyOf({ lane, sandbox, senderDomainId, recipientDomain, routeKey }: QueueKey): string {
  return `${queueLaneCode.of(lane, sandbox)} ${senderDomainId} ${recipientDomain} ${routeKey}`;
}

function numberOf(found: number | undefined): number {
  if (found === undefined) throw new Error('A name or queue vanished while it was read');
  return found;
}

export function createSession(db: Db, shared: Shared): Session {
  return {
    ...shared,
    db,
    captured: [],
    suppressed: [],
    queues: new Set(),
    calls: new Map(),
    dropped: 0,
    overdue: false,
  };
}

/** Number of an existing name, or null; for readers, which never create one. */
export async function findNameId(db: Db, text: string): Promise<number | null> {
  return (await db.get<{ id: number }>('SELECT id FROM name WHERE text = $1', text))?.id ?? null;
}

/** Numbers of those names that exist; undefined in = undefined out (no filter). */
export async function findNameIds(
  db: Db,
  given: readonly string[] | undefined,
): Promise<number[] | undefined> {
  if (given === undefined) return undefined;
  const rows = await db.all<{ id: number }>(
    'SELECT id FROM name WHERE text = ANY ($1::text[]) ORDER BY id',
    texts([...new Set(given)]),
  );
  return rows.map(({ id }) => id);
}

/** Whether an id given by a client can be one. */
export function isId(id: string): boolean {
  return /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id);
}
