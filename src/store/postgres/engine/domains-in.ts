/** Which sender domains have rows in a table: steps through an index of it from one domain to the next. */
import { int8s } from './arrays.ts';
import type { Db } from './db.ts';

type Table =
  | 'event'
  | 'event_sum'
  | 'message'
  | 'message_metadata'
  | 'capture'
  | 'suppression'
  | 'suppression_evidence';

/** A recursive CTE: their numbers, then null. */
export const knownIn = (table: Table): string => `known (id) AS (
    (SELECT domain_id FROM ${table} ORDER BY domain_id LIMIT 1)
    UNION ALL
    SELECT (SELECT t.domain_id FROM ${table} t WHERE t.domain_id > known.id ORDER BY t.domain_id LIMIT 1) FROM known
    WHERE known.id IS NOT NULL)`;

/** Their numbers, up to a limit. */
export async function domainIdsIn(
  db: Db,
  table: Table,
  limit: number = Number.MAX_SAFE_INTEGER,
): Promise<number[]> {
  const rows = await db.all<{ id: number }>(
    `WITH RECURSIVE ${knownIn(table)} SELECT id FROM known WHERE id IS NOT NULL LIMIT $1`,
    limit,
  );
  return rows.map(({ id }) => id);
}

/** Their names. */
export async function domainsIn(db: Db, table: Table): Promise<string[]> {
  const rows = await db.all<{ text: string }>(
    'SELECT n.text FROM unnest($1::int8[]) g (id) JOIN name n ON n.id = g.id ORDER BY n.id',
    int8s(await domainIdsIn(db, table)),
  );
  return rows.map(({ text }) => text);
}
