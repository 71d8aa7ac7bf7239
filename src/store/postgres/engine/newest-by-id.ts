/**
 * A page of the rows of a table, the newest first, by ids that are in the order of time. A search that finds little ends
 * after `look` rows: its page has fewer rows than asked for, and the next one begins where it ended.
 */
import type { Db } from './db.ts';
import { createFilter, type Filter } from './filter.ts';

/** Above every id: ids consist of digits and small letters. */
export const AFTER_ALL_IDS = '~';

/** `look` undefined: nothing is searched. `nextId` null: the end. */
export async function newestById(
  db: Db,
  query: { columns: string; table: string; narrow(filter: Filter): void },
  page: { beforeId?: string | undefined; limit: number; look: number | undefined },
): Promise<{ rows: { id: string }[]; nextId: string | null }> {
  const { beforeId = AFTER_ALL_IDS, limit, look } = page;
  const { columns, table } = query;
  const oldest = `SELECT id FROM ${table} WHERE id < $1 ORDER BY id DESC LIMIT 1 OFFSET $2`;
  const end = look === undefined ? undefined : (await db.get<{ id: string }>(oldest, beforeId, look - 1))?.id;
  const filter = createFilter();
  filter.when('id < ?', beforeId);
  filter.when('id >= ?', end);
  query.narrow(filter);
  const rows = await db.all<{ id: string }>(
    `SELECT ${columns} FROM ${table} ${filter.where()} ORDER BY id DESC LIMIT ?`,
    ...filter.values(),
    limit,
  );
  return { rows, nextId: (rows.length === limit ? rows.at(-1)?.id : end) ?? null };
}
