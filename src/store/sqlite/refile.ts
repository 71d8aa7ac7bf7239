/**
 * Moves waiting rows to the queues that follow from their tags after the routes name other tags. Walks the queued rows
 * along the due index in portions, each a transaction, and stores its position, so that an interrupted start continues
 * there. If the tags are unchanged, this is one query.
 */
import { routeKeyOf, routeKeyParts } from '../../model/route-key.ts';
import { queueLaneCode } from '../shared/codes.ts';
import type { Connection } from './engine/connection.ts';
import { write } from './engine/operation.ts';

/** Queued rows after a position in the due index. Tests check that its plan uses the index. */
export const REFILE_SQL = `SELECT d.id, d.queue_id, d.due_at, m.tags, q.lane, q.sender_domain, q.recipient_domain, q.route_key
  FROM delivery d INDEXED BY delivery_due CROSS JOIN message m ON m.seq = d.message_seq
  CROSS JOIN dest_queue q ON q.id = d.queue_id
  WHERE d.state = 0 AND (d.queue_id, d.due_at, d.id) > (?, ?, ?) ORDER BY d.queue_id, d.due_at, d.id LIMIT ?`;

interface Progress {
  tags: string;
  queueId: number;
  dueAt: number;
  id: number;
}

interface Row {
  id: number;
  queue_id: number;
  due_at: number;
  tags: string | null;
  lane: number;
  sender_domain: number;
  recipient_domain: string;
  route_key: string;
}

export const refile = write('refile', 'as asked', { rows: 'limit' }, (session, params) => {
  const { db } = session;
  const tags = JSON.stringify([...params.tags].sort());
  const stored = fact(db, 'route_refile');
  // An interrupted move for other tags has already moved rows, even if the tags are the old ones again.
  if (stored === null && (fact(db, 'route_tags') ?? '[]') === tags) return { done: true, moved: 0 };
  const begun = stored === null ? null : (JSON.parse(stored) as Progress);
  // One that was begun for other tags must start again.
  const from = begun !== null && begun.tags === tags ? begun : { tags, queueId: 0, dueAt: 0, id: 0 };
  const rows = db.all<Row>(REFILE_SQL, from.queueId, from.dueAt, from.id, params.limit);
  const named = new Set(params.tags);
  let moved = 0;
  for (const row of rows) {
    const parts = routeKeyParts(row.route_key);
    if (row.tags === null && parts.tags.length === 0) continue;
    const all = row.tags === null ? [] : (JSON.parse(row.tags) as string[]);
    const routeKey = routeKeyOf({ ...parts, tags: all.filter((tag) => named.has(tag)) });
    if (routeKey === row.route_key) continue;
    const { lane, sandbox } = queueLaneCode.word(row.lane);
    const queueId = session.queueId(lane, sandbox, row.sender_domain, row.recipient_domain, routeKey);
    db.run('UPDATE delivery SET queue_id = ? WHERE id = ?', queueId, row.id);
    moved += 1;
  }
  const last = rows.at(-1);
  const done = last === undefined || rows.length < params.limit;
  if (done) {
    keep(db, 'route_tags', tags);
    db.run("DELETE FROM meta WHERE name = 'route_refile'");
  } else {
    const progress: Progress = { tags, queueId: last.queue_id, dueAt: last.due_at, id: last.id };
    keep(db, 'route_refile', JSON.stringify(progress));
  }
  return { done, moved };
});

function fact(db: Connection, name: string): string | null {
  return db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name)?.value ?? null;
}

function keep(db: Connection, name: string, value: string): void {
  const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value';
  db.run(sql, name, value);
}
