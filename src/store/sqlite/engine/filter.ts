/**
 * Collects the conditions of a filtered query. Returns one WHERE clause and the values in its order. An undefined value
 * means "no condition"; a list is one JSON value, so that the SQL text, and with it the prepared statement, does not
 * depend on its length.
 */
import type { SQLInputValue } from 'node:sqlite';

export interface Filter {
  /** Adds `condition` (with one `?`) unless the value is undefined. */
  when(condition: string, value: string | number | undefined): void;
  /** `column` is one of the values; undefined = any; an empty list matches nothing. */
  oneOf(column: string, values: readonly (string | number)[] | undefined): void;
  /** `WHERE …`, or '' without conditions. */
  where(): string;
  /** The conditions joined by AND, starting with ` AND `, or ''. */
  and(): string;
  values(): SQLInputValue[];
}

/** An empty filter. */
export function createFilter(): Filter {
  const conditions: string[] = [];
  const bound: SQLInputValue[] = [];
  return {
    when(condition, value) {
      if (value === undefined) return;
      conditions.push(condition);
      bound.push(value);
    },
    oneOf(column, values) {
      if (values === undefined) return;
      conditions.push(`${column} IN (SELECT value FROM json_each(?))`);
      bound.push(JSON.stringify(values));
    },
    where: () => (conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`),
    and: () => conditions.map((condition) => ` AND ${condition}`).join(''),
    values: () => [...bound],
  };
}
