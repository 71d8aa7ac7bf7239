/**
 * One SQLite connection with its prepared statements. Offers `run`, `get` and `all` over SQL text with positional
 * values; statements are prepared once per text. Values are only numbers, strings, bytes and null (objects would be
 * read as named parameters). Errors of SQLite are passed on.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Tables } from '../../shared/tables.ts';
import { textFor } from '../../shared/work.ts';

/** More than all fixed texts together, so only generated filters can exceed it. */
const MAX_STATEMENTS = 300;

/** Values by column. Columns that no migration makes do not compile (tables.ts is generated). */
type Row<Table extends keyof Tables> = Readonly<Partial<Record<Tables[Table], SQLInputValue>>>;

/** How many rows a statement changed, and the row id of the last insert. */
export interface Done {
  changes: number;
  lastId: number;
}

export interface Connection {
  run(sql: string, ...values: SQLInputValue[]): Done;
  /** Inserts one row, its values by column. `conflict`: the clause for an existing row. */
  insert<Table extends keyof Tables>(table: Table, row: Row<Table>, conflict?: `ON CONFLICT ${string}`): Done;
  /** Inserts a row, or updates the one with the same key (columns, separated by commas). */
  put<Table extends keyof Tables>(table: Table, key: string, row: Row<Table>): Done;
  /** The first row, or undefined. */
  get<Found>(sql: string, ...values: SQLInputValue[]): Found | undefined;
  /** Every row. */
  all<Found>(sql: string, ...values: SQLInputValue[]): Found[];
  /** Runs SQL text without values: pragmas, transactions, schema. */
  exec(sql: string): void;
  /** Whether a transaction is open (SQLite ends some itself when the disk is full). */
  inTransaction(): boolean;
  close(): void;
}

/** Opens `path`; a reader must find the file there. `busyMs`: how long to wait for another connection's lock. */
export function openConnection(path: string, options: { readOnly: boolean; busyMs: number }): Connection {
  return connectionOver(
    new DatabaseSync(path, {
      readOnly: options.readOnly,
      timeout: options.busyMs,
      enableForeignKeyConstraints: false,
    }),
  );
}

/** The same over an open database; `close` closes it. */
export function connectionOver(db: DatabaseSync): Connection {
  db.function('fold', { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : null,
  );
  const statements = new BoundedMap<string, StatementSync>(MAX_STATEMENTS);

  function prepare(sql: string): StatementSync {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(textFor('sqlite', sql));
      statements.set(sql, statement);
    }
    return statement;
  }

  /** Insertions by table and conflict: their text is made once, not for every row. */
  const insertions = new Map<string, { columns: readonly string[]; sql: string }>();

  function run(sql: string, ...values: SQLInputValue[]): Done {
    const done = prepare(sql).run(...values);
    return { changes: Number(done.changes), lastId: Number(done.lastInsertRowid) };
  }

  function insert(
    table: string,
    row: object,
    conflict: string,
    clause: (columns: readonly string[]) => string,
  ): Done {
    const name = `${table} ${conflict}`;
    const columns = Object.keys(row);
    let known = insertions.get(name);
    if (known?.columns.length !== columns.length || columns.some((one, i) => one !== known?.columns[i])) {
      const places = columns.map(() => '?').join(', ');
      const sql = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${places}) ${clause(columns)}`;
      known = { columns, sql };
      insertions.set(name, known);
    }
    return run(known.sql, ...Object.values(row));
  }

  return {
    run,
    insert: (table, row, conflict) => insert(table, row, conflict ?? '', () => conflict ?? ''),
    put: (table, key, row) =>
      insert(table, row, key, (columns) => {
        const others = columns.filter((column) => !key.split(', ').includes(column));
        return `ON CONFLICT (${key}) DO UPDATE SET ${others.map((one) => `${one} = excluded.${one}`).join(', ')}`;
      }),
    get: <Found>(sql: string, ...values: SQLInputValue[]) => prepare(sql).get(...values) as Found | undefined,
    all: <Found>(sql: string, ...values: SQLInputValue[]) => prepare(sql).all(...values) as Found[],
    exec: (sql) => db.exec(sql),
    inTransaction: () => db.isTransaction,
    close() {
      statements.clear();
      db.close();
    },
  };
}
