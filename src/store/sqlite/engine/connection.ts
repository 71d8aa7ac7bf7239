/**
 * One SQLite connection with its prepared statements. Given a file and whether it may write, gives three verbs over
 * SQL text with positional values; statements are prepared once per text. Values are only ever numbers, strings,
 * bytes and null (never objects, which node:sqlite would take for named parameters). Errors of SQLite pass through.
 */

import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { BoundedMap } from '../../../lib/bounded-map.ts';

/** More texts than the operations have together, so only generated filters ever overflow it. */
const MAX_STATEMENTS = 300;

export interface Connection {
  /** Runs a statement; how many rows it changed and the row id of the last insert. */
  run(sql: string, ...values: SQLInputValue[]): { changes: number; lastId: number };
  /** The first row, or undefined. */
  get<Row>(sql: string, ...values: SQLInputValue[]): Row | undefined;
  /** Every row. */
  all<Row>(sql: string, ...values: SQLInputValue[]): Row[];
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

  return {
    run(sql, ...values) {
      const done = prepare(sql).run(...values);
      return { changes: Number(done.changes), lastId: Number(done.lastInsertRowid) };
    },
    get: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).get(...values) as Row | undefined,
    all: <Row>(sql: string, ...values: SQLInputValue[]) => prepare(sql).all(...values) as Row[],
    exec: (sql) => db.exec(sql),
    inTransaction: () => db.isTransaction,
    close() {
      statements.clear();
      db.close();
    },
  };
}
