/**
 * Where a simulated run keeps its data: a database of its own in memory, on which each process opens its store as on a
 * file, the operator's file, and questions that the run asks of the rows beside the engine. The schema is made once and
 * copied. What a process had not committed when it died is lost with it, as it should be.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../src/lib/clock.ts';
import type { DeliveryState } from '../../src/model/delivery.ts';
import type { Lane } from '../../src/model/message.ts';
import { openStoreOver } from '../../src/simulation/database.ts';
import { laneCode, stateCode } from '../../src/store/shared/codes.ts';
import { type Connection, connectionOver } from '../../src/store/sqlite/engine/connection.ts';
import { openDatabase } from '../../src/store/sqlite/engine/open-database.ts';
import type { FailStoreWrites } from '../../src/store/sqlite/engine/protocol.ts';
import type { Store } from '../../src/store/store.ts';

/** Without a file of the operator's none is looked for in a real place. */
const NO_FOLDER = '/nonexistent';
/** A file that is written and read thousands of times needs no disk. */
const MEMORY = '/dev/shm';

export interface Room {
  /** Holds the operator's file. */
  readonly folder: string;
  /** The one connection; the run itself only reads. */
  readonly db: Connection;
  /** What a process that starts now opens; its timers are on the clock of that process. */
  openStore(clock: Clock): Promise<Store>;
  recipients(): number;
  /** Recipients without an end. */
  unfinished(): number;
  stateOf(deliveryId: number): DeliveryState;
  isQueued(deliveryId: number): boolean;
  mailOf(deliveryId: number): { tenant: string; domain: string; lane: Lane } | null;
  /** The delivery of a message to an address. */
  deliveryTo(messageSeq: number, address: string): number;
  deliveriesOf(messageId: string): { id: number; domain: string }[];
  /** Some message that is there, `scheduled`: among those that were given a time; `pick` from 0 to 1 chooses. */
  chosen(pick: number, scheduled?: boolean): { messageSeq: number; deliveryIds: number[] } | null;
  close(): void;
}

let schema: Uint8Array | null = null;
let ownFolder: string | null = null;

/** One for all runs of this process, which follow one another. */
function folderWith(shaping: readonly unknown[]): string {
  if (shaping.length === 0) return NO_FOLDER;
  if (ownFolder === null) {
    const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'postrider-simulated-'));
    process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
    ownFolder = folder;
  }
  writeFileSync(join(ownFolder, 'shaping.json'), JSON.stringify(shaping));
  return ownFolder;
}

/** An empty database on the current schema, as bytes. */
function emptyDatabase(): Uint8Array {
  if (schema !== null) return schema;
  const folder = mkdtempSync(join(tmpdir(), 'postrider-schema-'));
  const path = join(folder, 'empty.db');
  openDatabase(path).close();
  const db = new DatabaseSync(path);
  // A database in memory has no log.
  db.exec('PRAGMA journal_mode = DELETE');
  schema = db.serialize();
  db.close();
  rmSync(folder, { recursive: true, force: true });
  return schema;
}

/** A folder with an empty database, which no disk waits for. */
function newFile(): string {
  const folder = mkdtempSync(join(existsSync(MEMORY) ? MEMORY : tmpdir(), 'postrider-nodes-'));
  writeFileSync(join(folder, 'shared.db'), emptyDatabase());
  return folder;
}

function inMemory(): Connection {
  const memory = new DatabaseSync(':memory:', { enableForeignKeyConstraints: false });
  memory.deserialize(emptyDatabase());
  return connectionOver(memory);
}

/**
 * `shaping`: the operator's shaping.json; without rows there is none. `path`: a new file for the database, where there
 * is more than memory should hold.
 */
export function openRoom(options: {
  shaping: readonly unknown[];
  failStoreWrites: FailStoreWrites | null;
  path?: string;
  /** Several processes work on it at a time, each on a connection of its own. */
  shared?: boolean;
}): Room {
  const folder = folderWith(options.shaping);
  const shared = options.shared === true ? newFile() : null;
  const path = shared === null ? options.path : join(shared, 'shared.db');
  const db = path === undefined ? inMemory() : openDatabase(path);
  const connections: Connection[] = [];
  const connect = (): Connection => {
    if (shared === null || path === undefined) return db;
    const own = openDatabase(path, 'joined');
    connections.push(own);
    return own;
  };
  const count = (sql: string) => db.get<{ n: number }>(sql)?.n ?? 0;
  return {
    folder,
    db,
    openStore: (clock) => openStoreOver(connect(), clock, options.failStoreWrites, options.shared),
    recipients: () => count('SELECT count(*) AS n FROM delivery'),
    unfinished: () =>
      count('SELECT count(*) AS n FROM delivery INDEXED BY delivery_expiry WHERE state = 0') +
      count('SELECT count(*) AS n FROM delivery INDEXED BY delivery_lease WHERE state = 1'),
    stateOf,
    isQueued: (deliveryId) => stateOf(deliveryId) === 'queued',
    mailOf(deliveryId) {
      const row = db.get<{ tenant: string; domain: string; lane: number }>(
        `SELECT n.text AS tenant, q.recipient_domain AS domain, m.lane FROM delivery d JOIN message m ON m.seq = d.message_seq
         JOIN name n ON n.id = m.domain_id JOIN dest_queue q ON q.id = d.queue_id WHERE d.id = ?`,
        deliveryId,
      );
      return row === undefined ? null : { ...row, lane: laneCode.word(row.lane) };
    },
    deliveryTo(messageSeq, address) {
      const row = db.get<{ id: number }>(
        'SELECT id FROM delivery WHERE message_seq = ? AND address = ?',
        ...[messageSeq, address],
      );
      if (row === undefined) throw new Error(`message ${messageSeq} has no recipient ${address}`);
      return row.id;
    },
    deliveriesOf: (messageId) =>
      db.all<{ id: number; domain: string }>(
        `SELECT d.id, q.recipient_domain AS domain FROM delivery d JOIN dest_queue q ON q.id = d.queue_id
         JOIN message m ON m.seq = d.message_seq WHERE m.id = ?`,
        Buffer.from(messageId.replaceAll('-', ''), 'hex'),
      ),
    chosen(pick, scheduled = false) {
      const all = db.all<{ seq: number }>(
        `SELECT seq FROM message ${scheduled ? 'WHERE send_at IS NOT NULL' : ''} ORDER BY seq`,
      );
      const messageSeq = all[Math.floor(pick * all.length)]?.seq;
      if (messageSeq === undefined) return null;
      const rows = db.all<{ id: number }>('SELECT id FROM delivery WHERE message_seq = ?', messageSeq);
      return { messageSeq, deliveryIds: rows.map(({ id }) => id) };
    },
    close() {
      for (const one of connections) one.close();
      db.close();
      if (shared !== null) rmSync(shared, { recursive: true });
    },
  };

  function stateOf(deliveryId: number): DeliveryState {
    const row = db.get<{ state: number }>('SELECT state FROM delivery WHERE id = ?', deliveryId);
    return stateCode.word(row?.state ?? 0);
  }
}
