/**
 * Moves waiting rows to the queues that follow from their tags after the routes name other tags. Walks the queued rows
 * along the due index in portions, each a transaction, and stores its position, so that an interrupted start continues
 * there. If the tags are unchanged, this is one query.
 */
import { queueLaneCode } from '../shared/codes.ts';
import { nextPlace, placeOf, type RefileRow, routeKeyFor } from '../shared/rows/refile.ts';
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';

/** Queued rows after a position in the due index. Tests check that its plan uses the index. */
export const REFILE_SQL = `SELECT d.id, d.queue_id, d.due_at, m.tags, q.lane, q.sender_domain, q.recipient_domain, q.route_key
  FROM delivery d INDEXED BY delivery_due CROSS JOIN message m ON m.seq = d.message_seq
  CROSS JOIN dest_queue q ON q.id = d.queue_id
  WHERE d.state = 0 AND (d.queue_id, d.due_at, d.id) > (?, ?, ?) ORDER BY d.queue_id, d.due_at, d.id LIMIT ?`;

export const refile = write('refile', 'as asked', { rows: 'limit' }, (session, params) => {
  const { db } = session;
  const tags = JSON.stringify([...params.tags].sort());
  const stored = fact(db, 'route_refile');
  // An interrupted move for other tags has already moved rows, even if the tags are the old ones again.
  if (stored === null && (fact(db, 'route_tags') ?? '[]') === tags) return { done: true, moved: 0 };
  const from = placeOf(stored, tags);
  const rows = db.all<RefileRow>(REFILE_SQL, from.queueId, from.dueAt, from.id, params.limit);
  let moved = 0;
  for (const row of rows) {
    const routeKey = routeKeyFor(row, params.tags);
    if (routeKey === row.route_key) continue;
    const { lane, sandbox } = queueLaneCode.word(row.lane);
    const queueId = session.queueId(lane, sandbox, row.sender_domain, row.recipient_domain, routeKey);
    db.run('UPDATE delivery SET queue_id = ? WHERE id = ?', queueId, row.id);
    moved += 1;
  }
  const next = nextPlace(rows, params.limit, tags);
  if (next === null) {
    db.put('meta', 'name', { name: 'route_tags', value: tags });
    db.run("DELETE FROM meta WHERE name = 'route_refile'");
  } else db.put('meta', 'name', { name: 'route_refile', value: next });
  return { done: next === null, moved };
});

function fact(db: Connection, name: string): string | null {
  return db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name)?.value ?? null;
}
