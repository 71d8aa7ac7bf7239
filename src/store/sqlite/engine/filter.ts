/** Filters of SQLite: a list is one JSON value. */
import type { SQLInputValue } from 'node:sqlite';
import { type Filter as AnyFilter, filterOf } from '../../shared/filter.ts';
import type { ColumnValue } from '../../shared/record.ts';

export type Filter = AnyFilter<SQLInputValue>;

/** An empty filter. */
export const createFilter = (): Filter => filterOf<SQLInputValue>(among);

/** For operations that both engines have in common. */
export const createSharedFilter = () => filterOf<ColumnValue>(among);

function among(column: string, values: readonly string[] | readonly number[]) {
  return [`${column} IN (SELECT value FROM json_each(?))`, JSON.stringify(values)] as const;
}
