/** Filters of PostgreSQL: a list is one array. */
import { type Filter as AnyFilter, filterOf } from '../../shared/filter.ts';
import type { ColumnValue } from '../../shared/record.ts';
import { int8s, texts } from './arrays.ts';
import type { Value } from './db.ts';

export type Filter = AnyFilter<Value>;

/** An empty filter. */
export const createFilter = (): Filter => filterOf<Value>(among);

/** For operations that both engines have in common. */
export const createSharedFilter = () => filterOf<ColumnValue>(among);

function among(column: string, values: readonly string[] | readonly number[]) {
  return typeof values[0] === 'string'
    ? ([`${column} = ANY (?::text[])`, texts(values as readonly string[])] as const)
    : ([`${column} = ANY (?::int8[])`, int8s(values as readonly number[])] as const);
}
