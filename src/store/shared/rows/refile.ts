/** Waiting rows that are moved to the queues of their tags, and how far the move has come. */
import { routeKeyOf, routeKeyParts } from '../../../model/route-key.ts';
import { type StoredTexts, textsOf } from '../stored.ts';

/** Queued rows after a position in the due index. Tests check that its plan uses the index. */
export const REFILE_SQL = `SELECT d.id, d.queue_id, d.due_at, m.tags, q.lane, q.sender_domain, q.recipient_domain, q.route_key
  FROM delivery d {INDEXED BY delivery_due|} {CROSS|} JOIN message m ON m.seq = d.message_seq
    {CROSS|} JOIN dest_queue q ON q.id = d.queue_id
  WHERE d.state = 0 AND (d.queue_id, d.due_at, d.id) > (?, ?, ?) ORDER BY d.queue_id, d.due_at, d.id LIMIT ?`;

export interface RefileRow {
  id: number;
  queue_id: number;
  due_at: number;
  tags: StoredTexts;
  lane: number;
  sender_domain: number;
  recipient_domain: string;
  route_key: string;
}

/** The last row that was looked at, in the order of the due index; `tags`: what the move is for. */
interface Progress {
  tags: string;
  queueId: number;
  dueAt: number;
  id: number;
}

/** Where the move for these tags goes on. One that was begun for other tags must start again. */
export function placeOf(stored: string | null, tags: string): Progress {
  const begun = stored === null ? null : (JSON.parse(stored) as Progress);
  return begun?.tags === tags ? begun : { tags, queueId: 0, dueAt: 0, id: 0 };
}

/** What is stored after these rows; null: there are no more. */
export function nextPlace(rows: readonly RefileRow[], limit: number, tags: string): string | null {
  const last = rows.at(-1);
  if (last === undefined || rows.length < limit) return null;
  const progress: Progress = { tags, queueId: last.queue_id, dueAt: last.due_at, id: last.id };
  return JSON.stringify(progress);
}

/** The key of a row where routes name `tags`. */
export function routeKeyFor(row: RefileRow, tags: readonly string[]): string {
  const named = textsOf(row.tags).filter((tag) => tags.includes(tag));
  return routeKeyOf({ ...routeKeyParts(row.route_key), tags: named });
}
