/**
 * A page of the rows of a table, the newest first, by ids that are in the order of time. A search that finds little ends
 * after `look` rows: its page has fewer rows than asked for, and the next one begins where it ended.
 */
import type { Filter } from './filter.ts';
import type { Db } from './operation.ts';
import type { ColumnValue } from './record.ts';
import type { Work } from './work.ts';

/** Above every id: ids consist of digits and small letters. */
export const AFTER_ALL_IDS = '~';

/** `from`: table, with its index where another could be taken. `look` undefined: nothing is searched. `nextId` null: the end. */
export function* newestById(
  db: Db,
  query: { columns: string; table: string; from?: string; narrow(filter: Filter<ColumnValue>): void },
  page: { beforeId?: string | undefined; limit: number; look: number | undefined },
): Work<{ rows: { id: string }[]; nextId: string | null }> {
  const { beforeId = AFTER_ALL_IDS, limit, look } = page;
  const { columns, table, from = table } = query;
  const oldest = `SELECT id FROM ${table} WHERE id < ? ORDER BY id DESC LIMIT 1 OFFSET ?`;
  const end =
    look === undefined ? undefined : (yield* db.get<{ id: string }>(oldest, beforeId, look - 1))?.id;
  const filter = db.filter();
  filter.when('id < ?', beforeId);
  filter.when('id >= ?', end);
  query.narrow(filter);
  const rows = yield* db.all<{ id: string }>(
    `SELECT ${columns} FROM ${from} ${filter.where()} ORDER BY id DESC LIMIT ?`,
    ...filter.values(),
    limit,
  );
  return { rows, nextId: (rows.length === limit ? rows.at(-1)?.id : end) ?? null };
}
