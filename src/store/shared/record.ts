/**
 * How a value of the model is stored in a row, declared once for both directions. Takes each member with its form;
 * returns the columns to select, the row to insert, and the value of a row. A column has the name of its member with
 * underscores. true and false are 1 and 0 in a row to insert, and either in a row that was read.
 */

/** What every engine can store in a column. */
export type ColumnValue = string | number | Uint8Array | null;

/** Words stored as numbers (codes.ts), and other special forms. */
interface Coded<Value> {
  of(value: Value): ColumnValue;
  word(stored: never): Value;
}

/** Unchanged; true and false as 1 and 0; as JSON text; in a special form. null is NULL in all of them. */
type Stored<Value> =
  | ([Value] extends [boolean]
      ? 'flag'
      : [Value] extends [string | number | Uint8Array | null]
        ? 'plain'
        : 'json')
  | Coded<NonNullable<Value>>;

export interface Recorded<Value> {
  /** For SELECT: each column under the name of its member. */
  columns: string;
  /** For `insert` and `put`. */
  row(value: Value): Record<string, ColumnValue>;
  /** Of a row selected by `columns`; other columns are ignored. */
  value(row: unknown): Value;
}

type AnyStored = 'plain' | 'flag' | 'json' | Coded<unknown>;
type Columns<Value> = { readonly [Member in keyof Value]: Stored<Value[Member]> };

/** `from`: the name of the table in the statement, if several are joined. */
export function record<Value extends object>(columns: Columns<Value>, from = ''): Recorded<Value> {
  const members = (Object.entries(columns) as [string, AnyStored][]).map(([member, stored]) => ({
    member,
    stored,
    column: columnOf(member),
  }));
  return {
    columns: members.map(({ member, column }) => `${from}${column} AS "${member}"`).join(', '),
    row: (value) =>
      Object.fromEntries(
        members.map(({ member, stored, column }) => [
          column,
          toColumn(stored, (value as Record<string, unknown>)[member]),
        ]),
      ),
    value: (row) =>
      Object.fromEntries(
        members.map(({ member, stored }) => [
          member,
          fromColumn(stored, (row as Record<string, ColumnValue>)[member]),
        ]),
      ) as Value,
  };
}

/** The column of a member. */
export function columnOf(member: string): string {
  return member.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function toColumn(stored: AnyStored, value: unknown): ColumnValue {
  if (value === null || stored === 'plain') return value as ColumnValue;
  if (stored === 'flag') return value === true ? 1 : 0;
  return stored === 'json' ? JSON.stringify(value) : stored.of(value);
}

function fromColumn(stored: AnyStored, found: ColumnValue | undefined): unknown {
  if (found === null || stored === 'plain') return found;
  if (stored === 'flag') return found === 1 || (found as unknown) === true;
  return stored === 'json' ? JSON.parse(String(found)) : stored.word(found as never);
}
