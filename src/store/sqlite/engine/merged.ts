/**
 * Reads several ranges of one index as one. Takes a statement that reads a range in the order of its index, and the
 * values of each range; returns the first rows of all of them together. SQLite merges the ranges: nothing is sorted,
 * and no range is read further than necessary.
 */
import type { SQLInputValue } from 'node:sqlite';
import type { Connection } from './connection.ts';

/** Ranges merged by one statement; SQLite allows 500. */
export const RANGES_PER_STATEMENT = 100;

export interface Ranges<Row> {
  /** Reads one range; without order and limit. */
  sql: string;
  /** The values of `sql`, for each range. */
  values: readonly (readonly SQLInputValue[])[];
  /** `ORDER BY` of the columns of `sql`. */
  order: string;
  /** The same order. */
  compare(a: Row, b: Row): number;
}

/** The first `limit` rows after `offset`. */
export function mergedRows<Row>(db: Connection, ranges: Ranges<Row>, limit: number, offset = 0): Row[] {
  const { sql, values, order, compare } = ranges;
  const fits = values.length <= RANGES_PER_STATEMENT;
  const merged: Row[] = [];
  for (let start = 0; start < values.length; start += RANGES_PER_STATEMENT) {
    const chunk = values.slice(start, start + RANGES_PER_STATEMENT);
    const rows = db.all<Row>(
      `${chunk.map(() => sql).join(' UNION ALL ')} ORDER BY ${order} LIMIT ? OFFSET ?`,
      ...chunk.flat(),
      // In one statement the skipped rows never leave SQLite.
      fits ? limit : limit + offset,
      fits ? offset : 0,
    );
    for (const row of rows) merged.push(row);
  }
  return fits ? merged : merged.sort(compare).slice(offset, offset + limit);
}

/** The last of the `look` rows that are examined, undefined if there are fewer. */
export function lastOfLook<Row>(db: Connection, ranges: Ranges<Row>, look: number): Row | undefined {
  return mergedRows(db, ranges, 1, look - 1)[0];
}
