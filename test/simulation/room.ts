/**
 * Where a simulated run keeps its files: a folder of its own with the database, opened on one thread so that nothing
 * takes real time, the operator's file, and a second connection by which the run looks at the rows beside the engine.
 * A database on the current schema is made once and copied.
 */
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/lib/clock.ts';
import { systemClock } from '../../src/lib/clock.ts';
import type { DeliveryState } from '../../src/model/delivery.ts';
import type { Lane } from '../../src/model/message.ts';
import { laneCode, stateCode } from '../../src/store/sqlite/codes.ts';
import { type Connection, openConnection } from '../../src/store/sqlite/connection.ts';
import { openSqliteStore } from '../../src/store/sqlite/open.ts';
import type { FailStoreWrites } from '../../src/store/sqlite/protocol.ts';
import type { Store } from '../../src/store/store.ts';

export interface Room {
  readonly folder: string;
  readonly store: Store;
  /** Reads only. */
  readonly db: Connection;
  recipients(): number;
  /** Recipients without an end. */
  unfinished(): number;
  stateOf(deliveryId: number): DeliveryState;
  isQueued(deliveryId: number): boolean;
  mailOf(deliveryId: number): { tenant: string; domain: string; lane: Lane } | null;
  deliveriesOf(messageId: string): { id: number; domain: string }[];
  /** Some message that is there; `pick` from 0 to 1 chooses. */
  cancelable(pick: number): { messageSeq: number; deliveryIds: number[] } | null;
  close(): Promise<void>;
}

let template: string | null = null;

/** In memory where the system has a folder there: simulated runs need no disk. */
function place(): string {
  return existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
}

async function templateFile(): Promise<string> {
  if (template !== null) return template;
  const folder = mkdtempSync(join(place(), 'postrider-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'empty.db');
  const store = await openSqliteStore({ path, clock: systemClock, threads: 0 });
  await store.close();
  template = path;
  return path;
}

export async function openRoom(options: {
  clock: Clock;
  shaping: unknown;
  failStoreWrites: FailStoreWrites | null;
}): Promise<Room> {
  const folder = mkdtempSync(join(place(), 'postrider-simulated-'));
  const path = join(folder, 'simulated.db');
  copyFileSync(await templateFile(), path);
  writeFileSync(join(folder, 'shaping.json'), JSON.stringify(options.shaping));
  const { clock, failStoreWrites } = options;
  const store = await openSqliteStore({ path, clock, threads: 0, failStoreWrites });
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  const count = (sql: string) => db.get<{ n: number }>(sql)?.n ?? 0;
  return {
    folder,
    store,
    db,
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
    deliveriesOf: (messageId) =>
      db.all<{ id: number; domain: string }>(
        `SELECT d.id, q.recipient_domain AS domain FROM delivery d JOIN dest_queue q ON q.id = d.queue_id
         JOIN message m ON m.seq = d.message_seq WHERE m.id = ?`,
        Buffer.from(messageId.replaceAll('-', ''), 'hex'),
      ),
    cancelable(pick) {
      const last = db.get<{ n: number | null }>('SELECT max(seq) AS n FROM message')?.n ?? null;
      if (last === null) return null;
      const messageSeq = 1 + Math.floor(pick * last);
      const rows = db.all<{ id: number }>('SELECT id FROM delivery WHERE message_seq = ?', messageSeq);
      return { messageSeq, deliveryIds: rows.map(({ id }) => id) };
    },
    async close() {
      db.close();
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };

  function stateOf(deliveryId: number): DeliveryState {
    const row = db.get<{ state: number }>('SELECT state FROM delivery WHERE id = ?', deliveryId);
    return stateCode.word(row?.state ?? 0);
  }
}
