/**
 * Copies a database in its own thread, because SQLite blocks until the copy is complete. The copy is one snapshot
 * without free pages. Only reads; other processes may continue to write. Says when it begins.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './connection.ts';

const { from, to } = workerData as { from: string; to: string };
const db = openConnection(from, { readOnly: true, busyMs: 5000 });
try {
  parentPort?.postMessage('begun');
  db.run('VACUUM INTO ?', to);
} finally {
  db.close();
}
