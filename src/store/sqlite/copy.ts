/**
 * Complete copies of a database, for backups: made while a server is running or not, and prepared for use after a
 * restore. A copy is one snapshot of the source. While it is made, the journal of the source grows.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Connection } from './engine/connection.ts';
import { openConnection } from './engine/connection.ts';
import { readMigrations } from './engine/migrate.ts';
import { openDatabase } from './engine/open-database.ts';

/** Copies the database `from` into `to`, an empty file. `begun` gets the approximate number of octets. */
export async function copyDatabase(from: string, to: string, begun: (bytes: number) => void): Promise<void> {
  const worker = new Worker(new URL('./engine/copy-thread.ts', import.meta.url), {
    workerData: { from, to },
  });
  worker.once('message', begun);
  // Rejects with the error of the thread.
  await once(worker, 'exit');
}

/** The newest schema of this program. */
export function newestSchema(): number {
  return readMigrations().at(-1)?.version ?? 0;
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
 * Prepares a restored copy: migrates it to the current schema, reclaims what was being sent, and marks all waiting mail
 * as a possible duplicate, since it may have been sent after the copy was made. With `hold`, nothing is sent until a
 * person releases it. Returns how many recipients wait.
 */
export function prepareRestored(path: string, hold: { id: string; at: number } | null): { waiting: number } {
  const db: Connection = openDatabase(path);
  try {
    db.exec('BEGIN IMMEDIATE');
    const { changes } = db.run(
      'UPDATE delivery SET state = 0, epoch = 0, may_be_duplicate = 1 WHERE state IN (0, 1)',
    );
    if (hold !== null && changes > 0) {
      db.run(
        `INSERT INTO hold (id, reason, created_at, created_by)
         VALUES (?, 'restored from a backup: what waits may have been sent after it was made', ?, 'restore')`,
        hold.id,
        hold.at,
      );
    }
    db.exec('COMMIT');
    return { waiting: changes };
  } finally {
    db.close();
  }
}
