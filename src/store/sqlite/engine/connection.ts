/**
 * One SQLite connection with its prepared statements. Given a file and whether it may write, gives three verbs over
 * SQL text with positional values; statements are prepared once per text. Values are only ever numbers, strings,
 * bytes and null (never objects, which node:sqlite would take for named parameters). Errors of SQLite pass through.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Tables } from './tables.ts';

/** More texts than the operations have together, so only generated filters ever overflow it. */
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
  /** Inserts one row, its values by column. `conflict`: the clause for where there is one already. */
  insert<Table extends keyof Tables>(table: Table, row: Row<Table>, conflict?: `ON CONFLICT ${string}`): Done;
  /** Inserts a row, or gives the one with the same key (columns, with commas) these values. */
  put<Table extends keyof Tables>(table: Table, key: string, row: Row<Table>): Done;
  /** The first row, or undefined. */
  get<Found>(sql: string, ...values: SQLInputValue[]): Found | undefined;
  /** Every row. */
  all<Found>(sql: string, ...values: SQLInputValue[]): Found[];
  /** Runs SQL text without values: pragmas, transactions, schema. */
  exec(sql: string): void;
  /** Whether a transaction is open (SQLite ends some by itself when the disk is full). */
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

/** The same over a database that is open already; `close` closes it. */
export function connectionOver(db: DatabaseSync): Connection {
  db.function('fold', { deterministic: true }, (text) =>
    typeof text === 'string' ? text.toLowerCase() : null,
  );
  const statements = new BoundedMap<string, StatementSync>(MAX_STATEMENTS);

  function prepare(sql: string): StatementSync {
    let statement = statements.get(sql);
    if (statement === undefined) {
      statement = db.prepare(sql);
      statements.set(sql, statement);
    }
    return statement;
  }

  /** Insertions by table and conflict: their text is made once, not at every row. */
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
