/**
 * Collects the conditions of a filtered query. Returns one WHERE clause and the values in its order. An undefined value
 * means "no condition". `among` is an engine's way to bind a list as one value, so that the text, and with it the prepared
 * statement, does not depend on the list's length.
 */
export interface Filter<Value> {
  /** Adds `condition` (with one `?`) unless the value is undefined. */
  when(condition: string, value: Value | undefined): void;
  /** `column` is one of the values; undefined = any; an empty list matches nothing. */
  oneOf(column: string, values: readonly string[] | readonly number[] | undefined): void;
  /** Adds one condition, made of those of another filter; none if that has none. */
  within(condition: (and: string) => string, inner: Filter<Value>): void;
  /** `WHERE …`, or '' without conditions. */
  where(): string;
  /** The conditions joined by AND, starting with ` AND `, or ''. */
  and(): string;
  values(): Value[];
}

/** An empty filter. `among`: the condition that `column` is one of the values, which are not empty, and what it binds. */
export function filterOf<Value>(
  among: (column: string, values: readonly string[] | readonly number[]) => readonly [string, Value],
): Filter<Value> {
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
      if (values.length === 0) conditions.push('false');
      else this.when(...among(column, values));
    },
    within(condition, inner) {
      const and = inner.and();
      if (and === '') return;
      conditions.push(condition(and));
      bound.push(...inner.values());
    },
    where: () => (conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`),
    and: () => conditions.map((condition) => ` AND ${condition}`).join(''),
    values: () => [...bound],
  };
}
