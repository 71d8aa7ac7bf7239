/**
 * Collects the conditions of a filtered query. Returns one WHERE clause and the values in its order. An undefined value
 * means "no condition"; a list is one array, so that the text, and with it the prepared statement, does not depend on its
 * length.
 */
import { int8s, texts } from './arrays.ts';
import type { Value } from './db.ts';

export interface Filter {
  /** Adds `condition` (with one `?`) unless the value is undefined. */
  when(condition: string, value: Value | undefined): void;
  /** `column` is one of the values; undefined = any; an empty list matches nothing. */
  oneOf(column: string, values: readonly string[] | readonly number[] | undefined): void;
  /** `WHERE …`, or '' without conditions. */
  where(): string;
  /** The conditions joined by AND, starting with ` AND `, or ''. */
  and(): string;
  values(): Value[];
}

/** An empty filter. */
export function createFilter(): Filter {
  const conditions: string[] = [];
  const bound: Value[] = [];
  return {
    when(condition, value) {
      if (value === undefined) return;
      conditions.push(condition);
      bound.push(value);
    },
    oneOf(column, values) {
      if (values === undefined) return;
      if (values.length === 0) {
        conditions.push('false');
        return;
      }
      const isText = typeof values[0] === 'string';
      conditions.push(`${column} = ANY (?::${isText ? 'text' : 'int8'}[])`);
      bound.push(isText ? texts(values as readonly string[]) : int8s(values as readonly number[]));
    },
    where: () => (conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`),
    and: () => conditions.map((condition) => ` AND ${condition}`).join(''),
    values: () => [...bound],
  };
}
