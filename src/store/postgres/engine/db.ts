/**
 * SQL on one connection: `get`, `all`, `run` over a text with positional values. `$1` stands for the first value; in
 * texts without `$1`, each `?` stands for the next one, so that conditions can be put together, and `?1` for the first; in quotes it is itself. A text is prepared once
 * for each connection; without a name, a statement costs some 45 µs more. Values are numbers, texts, booleans, bytes
 * (also arrays, from arrays.ts) and null.
 */
import type { Client } from 'pg';
import { textFor } from '../../shared/work.ts';
import { storable } from './arrays.ts';

/** Larger than the number of all fixed texts; composed texts above this number are not prepared. */
const MAX_STATEMENTS = 1_000;

export type Value = string | number | boolean | Uint8Array | null;

export interface Db {
  /** The first row, or undefined. */
  get<Found>(sql: string, ...values: Value[]): Promise<Found | undefined>;
  /** Every row. */
  all<Found>(sql: string, ...values: Value[]): Promise<Found[]>;
  /** How many rows it changed. */
  run(sql: string, ...values: Value[]): Promise<number>;
  /** Inserts one row, its values by column; `conflict`: the clause for an existing row. How many rows changed. */
  insert(
    table: string,
    row: Readonly<Record<string, Value>>,
    conflict?: `ON CONFLICT ${string}`,
  ): Promise<number>;
  /** Inserts a row and returns the column that the database numbers. */
  insertId(
    table: string,
    column: 'id' | 'seq' | 'epoch',
    row: Readonly<Record<string, Value>>,
  ): Promise<number>;
  /** Inserts a row, or updates the one with the same key (columns, separated by commas). */
  put(table: string, key: string, row: Readonly<Record<string, Value>>): Promise<number>;
}

interface Statement {
  text: string;
  name: string | undefined;
}

/** The prepared statements of one store: names by text. */
export interface Statements {
  of(sql: string): Statement;
}

export function createStatements(): Statements {
  const known = new Map<string, Statement>();
  return {
    of(sql) {
      let statement = known.get(sql);
      if (statement === undefined) {
        const isNamed = known.size < MAX_STATEMENTS;
        statement = {
          text: numbered(textFor('postgres', sql)),
          name: isNamed ? `p${known.size}` : undefined,
        };
        if (isNamed) known.set(sql, statement);
      }
      return statement;
    },
  };
}

function numbered(sql: string): string {
  if (sql.includes('$1')) return sql;
  let last = 0;
  return sql.replace(/'[^']*'|\?(\d*)/g, (found, number: string | undefined) => {
    if (number === undefined) return found;
    const place = number === '' ? last + 1 : Number(number);
    last = Math.max(last, place);
    return `$${place}`;
  });
}

/** Over a connected client. */
export function dbOver(client: Pick<Client, 'query'>, statements: Statements): Db {
  const ask = (sql: string, values: readonly Value[]) => {
    const { text, name } = statements.of(sql);
    return client.query({
      text,
      values: values.map((value) => (typeof value === 'string' ? storable(value) : value)),
      ...(name === undefined ? {} : { name }),
    });
  };
  const insertion = (table: string, row: Readonly<Record<string, Value>>, clause: string) => {
    const columns = Object.keys(row);
    const places = columns.map(() => '?').join(', ');
    return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) ${clause}`;
  };
  const run = async (sql: string, ...values: Value[]) => (await ask(sql, values)).rowCount ?? 0;
  const get = async <Found>(sql: string, ...values: Value[]) =>
    (await ask(sql, values)).rows[0] as Found | undefined;
  return {
    get,
    all: async <Found>(sql: string, ...values: Value[]) => (await ask(sql, values)).rows as Found[],
    run,
    insert: (table, row, conflict) => run(insertion(table, row, conflict ?? ''), ...Object.values(row)),
    async insertId(table, column, row) {
      const found = await get<{ id: number }>(
        insertion(table, row, `RETURNING ${column} AS id`),
        ...Object.values(row),
      );
      if (found === undefined) throw new Error(`An insertion into ${table} returned no number`);
      return found.id;
    },
    put(table, key, row) {
      const others = Object.keys(row).filter((column) => !key.split(', ').includes(column));
      const set = others.map((one) => `${one} = excluded.${one}`).join(', ');
      const clause = `ON CONFLICT (${key}) DO ${others.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`;
      return run(insertion(table, row, clause), ...Object.values(row));
    },
  };
}
