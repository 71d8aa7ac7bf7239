/** Figures over everything that waits or is kept, which triggers keep (migration 0090): reading one is one row. */
import type { Connection } from './engine/connection.ts';

/** `waiting` and `unfinished`: recipients; `calls`: calls of webhooks that are to be made; `contents`: octets. */
export function totalOf(db: Connection, name: 'waiting' | 'unfinished' | 'calls' | 'contents'): number {
  return db.get<{ n: number }>('SELECT n FROM total WHERE name = ?', name)?.n ?? 0;
}
