/**
 * Complete copies of a database, for backups: made while a server is running or not, and prepared for use after a
 * restore. A copy is one snapshot of the source. While it is made, the journal of the source grows.
 */
import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { DATA_FILES } from '../../lib/data-files.ts';
import { readMigrations } from '../shared/migrations.ts';
import type { Connection } from './engine/connection.ts';
import { openConnection } from './engine/connection.ts';
import { openDatabase } from './engine/open-database.ts';

/** Copies the database `from` into `to`, an empty file. */
export async function copyDatabase(from: string, to: string, begun: () => void): Promise<void> {
  const worker = new Worker(new URL('./engine/copy-thread.ts', import.meta.url), {
    workerData: { from, to },
  });
  worker.once('message', begun);
  // Rejects with the error of the thread.
  await once(worker, 'exit');
}

/** How many octets a copy has, approximately. */
export function sizeOfCopy(path: string): number {
  const db = openConnection(path, { readOnly: true, busyMs: 5000 });
  try {
    const facts = db.get<{ bytes: number }>(
      'SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()',
    );
    return facts?.bytes ?? 0;
  } finally {
    db.close();
  }
}

/** The newest schema of this program. */
export function newestSchema(): number {
  return readMigrations('sqlite').at(-1)?.version ?? 0;
}

/** The schema of a database file, 0 if it is not ours. */
export function schemaOf(path: string): number {
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  try {
    const row = db.get<{ value: number }>("SELECT value FROM meta WHERE name = 'schema_version'");
    return row?.value ?? 0;
  } finally {
    db.close();
  }
}

/**
 * Why the database of a data folder is not to be used: the folder's server last used PostgreSQL. If that was named by a flag or a
 * variable, a command without it would work on another database. One that a transfer brought back from PostgreSQL is the same
 * instance, and null.
 */
export function otherDatabase(file: string, folder: string): string | null {
  const place = join(folder, DATA_FILES.place);
  if (file !== join(folder, DATA_FILES.database) || !existsSync(place)) return null;
  const instance = factOf(file, 'instance_id');
  if (instance !== null && readFileSync(place, 'utf8').split(' ').includes(instance)) return null;
  return `The data folder ${folder} was last used with a database of PostgreSQL. Name that one as the key database in ${DATA_FILES.config} of this folder, or as POSTRIDER_DATABASE. To use ${file} instead, delete ${place}. Nothing was written.`;
}

/** A fact in `meta` of a database file; null: it has none, or is not ours. */
export function factOf(path: string, name: string): string | null {
  if (!existsSync(path) || statSync(path).size === 0) return null;
  const db = openConnection(path, { readOnly: true, busyMs: 1000 });
  try {
    const sql = 'SELECT value FROM meta WHERE name = ?';
    return db.get<{ value: string }>(sql, name)?.value ?? null;
  } catch {
    // What is wrong with the file is said where it is opened.
    return null;
  } finally {
    db.close();
  }
}

/** A hold on all delivery: its id and time, the reason shown to people, and the command that made it. */
export interface Hold {
  id: string;
  at: number;
  reason: string;
  by: 'restore' | 'rollback';
}

/** Their numbers are in mail that was sent: in return paths and links; and who follows events names the last one. */
const NUMBERED = ['message', 'delivery', 'event', 'webhook_call'];
/** More than a server gives between a copy and its return. */
const SKIPPED_NUMBERS = 2 ** 34;

/** Migrates a restored copy to the current schema and reclaims its mail. Returns how many recipients wait. */
export function prepareRestored(path: string, hold: Hold | null): number {
  const db: Connection = openDatabase(path);
  try {
    return reclaimWaiting(db, hold);
  } finally {
    db.close();
  }
}

/**
 * Reclaims what was being sent when a copy was made, and marks all waiting mail as a possible duplicate, since it may
 * have been sent after that. Numbers given after the copy was made are not given again: a bounce of that mail would be taken for
 * one of another recipient. With `hold`, nothing is sent until a person releases it. Returns how many recipients wait.
 * Uses only columns that every released schema has.
 */
export function reclaimWaiting(db: Connection, hold: Hold | null): number {
  db.exec('BEGIN IMMEDIATE');
  const { changes } = db.run(
    'UPDATE delivery SET state = 0, epoch = 0, may_be_duplicate = 1 WHERE state IN (0, 1)',
  );
  if (hold !== null && changes > 0) {
    db.run(
      'INSERT INTO hold (id, reason, created_at, created_by) VALUES (?, ?, ?, ?)',
      ...[hold.id, hold.reason, hold.at, hold.by],
    );
  }
  // Who worked on the database when it was copied does not work on the copy, and did not crash on it.
  db.exec('UPDATE node SET ended_at = heartbeat_at WHERE ended_at IS NULL; DELETE FROM node_lease');
  for (const table of NUMBERED) {
    const sql = 'UPDATE sqlite_sequence SET seq = seq + ? WHERE name = ?';
    const isMoved = db.run(sql, SKIPPED_NUMBERS, table).changes > 0;
    if (!isMoved) db.run('INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)', table, SKIPPED_NUMBERS);
  }
  db.exec('COMMIT');
  return changes;
}
