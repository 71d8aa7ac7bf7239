/**
 * Moves waiting rows to the queues that follow from their tags after the routes name other tags. Walks the queued rows
 * along the due index in portions, each a transaction, and stores its position, so that an interrupted start continues
 * there. If the tags are unchanged, this is one query.
 */
import { queueLaneCode } from '../codes.ts';
import { type Db, write } from '../operation.ts';
import { nextPlace, placeOf, REFILE_SQL, type RefileRow, routeKeyFor } from '../rows/refile.ts';
import type { Work } from '../work.ts';

const OPTIONS = { rows: 'limit', serial: 'refile' } as const;

export const refile = write('refile', 'as asked', OPTIONS, function* (on, params) {
  const { db } = on;
  const tags = JSON.stringify([...params.tags].sort());
  const stored = yield* fact(db, 'route_refile');
  // An interrupted move for other tags has already moved rows, even if the tags are the old ones again.
  if (stored === null && ((yield* fact(db, 'route_tags')) ?? '[]') === tags) return { done: true, moved: 0 };
  const from = placeOf(stored, tags);
  const rows = yield* db.all<RefileRow>(REFILE_SQL, from.queueId, from.dueAt, from.id, params.limit);
  const wrong = rows.flatMap((row) => {
    const routeKey = routeKeyFor(row, params.tags);
    return routeKey === row.route_key ? [] : [{ row, routeKey }];
  });
  const queueIds = yield* on.queueIds(
    wrong.map(({ row, routeKey }) => ({
      ...queueLaneCode.word(row.lane),
      senderDomainId: row.sender_domain,
      recipientDomain: row.recipient_domain,
      routeKey,
    })),
  );
  const given = db.rows('g', { id: { int8: wrong.map(({ row }) => row.id) }, queue_id: { int8: queueIds } });
  const moved = yield* db.run(
    `UPDATE delivery AS d SET queue_id = h.queue_id
     FROM (SELECT w.id, g.queue_id FROM ${given.from} {CROSS|} JOIN delivery w ON w.id = g.id ORDER BY w.id {|FOR UPDATE OF w}) h
     WHERE d.id = h.id AND {+|}d.state = 0`,
    ...given.values,
  );
  const next = nextPlace(rows, params.limit, tags);
  if (next === null) {
    yield* db.put('meta', 'name', { name: 'route_tags', value: tags });
    yield* db.run("DELETE FROM meta WHERE name = 'route_refile'");
  } else yield* db.put('meta', 'name', { name: 'route_refile', value: next });
  return { done: next === null, moved };
});

function* fact(db: Db, name: string): Work<string | null> {
  return (yield* db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name))?.value ?? null;
}
