/** Filters of SQLite: a list is one JSON value. */
import type { SQLInputValue } from 'node:sqlite';
import { type Filter as AnyFilter, filterOf } from '../../shared/filter.ts';

export type Filter = AnyFilter<SQLInputValue>;

/** An empty filter. */
export function createFilter(): Filter {
  return filterOf((column, values) => [
    `${column} IN (SELECT value FROM json_each(?))`,
    JSON.stringify(values),
  ]);
}
