/**
 * Whole copies of a database, for backups: made beside a running server or without one, and made ready to be used
 * again. A copy is one moment of the source. While it is made the journal of the source grows with what is written.
 */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import type { Connection } from './engine/connection.ts';
import { openConnection } from './engine/connection.ts';
import { readMigrations } from './engine/migrate.ts';
import { openDatabase } from './engine/open-database.ts';

/** Copies the database `from` into `to`, an empty file. `begun` hears how many octets that will be, about. */
export async function copyDatabase(from: string, to: string, begun: (bytes: number) => void): Promise<void> {
  const worker = new Worker(new URL('./engine/copy-thread.ts', import.meta.url), {
    workerData: { from, to },
  });
  worker.once('message', begun);
  // Rejects with what the thread threw.
  await once(worker, 'exit');
}

/** The newest schema that this program knows. */
export function newestSchema(): number {
  return readMigrations().at(-1)?.version ?? 0;
}

/** The schema of a database file, 0 where it is none of ours. */
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
 * Makes a copy that was put back fit for use: brings it to the current schema, takes back what was being sent, and marks
 * all that waits as a possible duplicate, since it may have gone after the copy was made. With `hold`, nothing of it
 * goes until a person releases it. How many recipients wait.
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
