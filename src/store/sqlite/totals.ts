/** Totals of waiting and stored data, which triggers maintain (migration 0090): reading one is reading one row. */
import type { Connection } from './engine/connection.ts';

/** `waiting` and `unfinished`: recipients; `calls`: pending webhook calls; `contents`: octets. */
export function totalOf(db: Connection, name: 'waiting' | 'unfinished' | 'calls' | 'contents'): number {
  return db.get<{ n: number }>('SELECT n FROM total WHERE name = ?', name)?.n ?? 0;
}
