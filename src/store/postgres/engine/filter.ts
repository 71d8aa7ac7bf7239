/** Filters of PostgreSQL: a list is one array. */
import { type Filter as AnyFilter, filterOf } from '../../shared/filter.ts';
import { int8s, texts } from './arrays.ts';
import type { Value } from './db.ts';

export type Filter = AnyFilter<Value>;

/** An empty filter. */
export function createFilter(): Filter {
  return filterOf((column, values) =>
    typeof values[0] === 'string'
      ? [`${column} = ANY (?::text[])`, texts(values as readonly string[])]
      : [`${column} = ANY (?::int8[])`, int8s(values as readonly number[])],
  );
}
