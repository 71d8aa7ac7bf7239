/**
 * Moves waiting rows to the queues that follow from their tags after the routes name other tags. Walks the queued rows
 * along the due index in portions, each a transaction, and stores its position, so that an interrupted start continues
 * there. If the tags are unchanged, this is one query.
 */
import { queueLaneCode } from '../shared/codes.ts';
import { nextPlace, placeOf, type RefileRow, routeKeyFor } from '../shared/rows/refile.ts';
import { int8s } from './engine/arrays.ts';
import type { Db } from './engine/db.ts';
import { write } from './engine/operation.ts';

/** Queued rows after a position in the due index. */
const NEXT_ROWS = `SELECT d.id, d.queue_id, d.due_at, m.tags, q.lane, q.sender_domain, q.recipient_domain, q.route_key
  FROM delivery d JOIN message m ON m.seq = d.message_seq JOIN dest_queue q ON q.id = d.queue_id
  WHERE d.state = 0 AND (d.queue_id, d.due_at, d.id) > ($1, $2, $3) ORDER BY d.queue_id, d.due_at, d.id LIMIT $4`;

export const refile = write('refile', { serial: 'refile' }, async (session, params) => {
  const { db } = session;
  const tags = JSON.stringify([...params.tags].sort());
  const stored = await fact(db, 'route_refile');
  // An interrupted move for other tags has already moved rows, even if the tags are the old ones again.
  if (stored === null && ((await fact(db, 'route_tags')) ?? '[]') === tags) return { done: true, moved: 0 };
  const from = placeOf(stored, tags);
  const rows = await db.all<RefileRow>(NEXT_ROWS, from.queueId, from.dueAt, from.id, params.limit);
  const wrong = rows.flatMap((row) => {
    const routeKey = routeKeyFor(row, params.tags);
    return routeKey === row.route_key ? [] : [{ row, routeKey }];
  });
  const queueIds = await session.queueIds(
    wrong.map(({ row, routeKey }) => ({
      ...queueLaneCode.word(row.lane),
      senderDomainId: row.sender_domain,
      recipientDomain: row.recipient_domain,
      routeKey,
    })),
  );
  const moved = await db.run(
    `WITH held AS MATERIALIZED (SELECT id FROM delivery WHERE id = ANY ($1::int8[]) ORDER BY id FOR UPDATE)
     UPDATE delivery d SET queue_id = g.queue_id FROM held JOIN unnest($1::int8[], $2::int8[]) g (id, queue_id) USING (id)
     WHERE d.id = held.id AND d.state = 0`,
    int8s(wrong.map(({ row }) => row.id)),
    int8s(queueIds),
  );
  const next = nextPlace(rows, params.limit, tags);
  if (next === null) {
    await db.put('meta', 'name', { name: 'route_tags', value: tags });
    await db.run("DELETE FROM meta WHERE name = 'route_refile'");
  } else await db.put('meta', 'name', { name: 'route_refile', value: next });
  return { done: next === null, moved };
});

async function fact(db: Db, name: string): Promise<string | null> {
  return (await db.get<{ value: string }>('SELECT value FROM meta WHERE name = $1', name))?.value ?? null;
}
