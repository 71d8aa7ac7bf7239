/**
 * Copies a database in its own thread, because SQLite blocks until the copy is complete. The copy is one snapshot
 * without free pages. Only reads; other processes may continue to write. Reports the size of the source first.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { openConnection } from './connection.ts';

const { from, to } = workerData as { from: string; to: string };
const db = openConnection(from, { readOnly: true, busyMs: 5000 });
try {
  const facts = db.get<{ bytes: number }>(
    'SELECT (page_count - freelist_count) * page_size AS bytes FROM pragma_page_count(), pragma_freelist_count(), pragma_page_size()',
  );
  parentPort?.postMessage(facts?.bytes ?? 0);
  db.run('VACUUM INTO ?', to);
} finally {
  db.close();
}
