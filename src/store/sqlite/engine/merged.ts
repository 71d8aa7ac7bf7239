/**
 * Reads several ranges of one index as one. Takes a statement that reads a range in the order of its index, and the
 * values of each range; returns the first rows of all of them together. SQLite merges the ranges: nothing is sorted,
 * and no range is read further than necessary.
 */
import type { SQLInputValue } from 'node:sqlite';
import type { Connection } from './connection.ts';

/** Ranges merged by one statement; SQLite allows 500. */
export const RANGES_PER_STATEMENT = 100;

export interface Ranges {
  /** Reads one range; without order and limit. */
  sql: string;
  /** The values of `sql`, for each range. */
  values: readonly (readonly SQLInputValue[])[];
  /** `ORDER BY` of columns of `sql`; undefined: any order. */
  order?: string | undefined;
}

/** The first `limit` rows after `offset`. */
export function mergedRows<Row>(db: Connection, ranges: Ranges, limit: number, offset = 0): Row[] {
  const { sql, values, order } = ranges;
  const fits = values.length <= RANGES_PER_STATEMENT;
  const merged: Row[] = [];
  for (let start = 0; start < values.length; start += RANGES_PER_STATEMENT) {
    const chunk = values.slice(start, start + RANGES_PER_STATEMENT);
    const rows = db.all<Row>(
      `${chunk.map(() => sql).join(' UNION ALL ')} ${order === undefined ? '' : `ORDER BY ${order}`} LIMIT ? OFFSET ?`,
      ...chunk.flat(),
      // In one statement the skipped rows never leave SQLite.
      fits ? limit : limit + offset,
      fits ? offset : 0,
    );
    for (const row of rows) merged.push(row);
  }
  if (fits) return merged;
  if (order !== undefined) merged.sort(comparing(order));
  return merged.slice(offset, offset + limit);
}

/** The order of rows by some of their columns; texts by their octets, as in the database. */
function comparing(order: string): (a: unknown, b: unknown) => number {
  const columns = order.split(', ').map((one) => one.split(' '));
  return (a, b) => {
    for (const [column = '', direction] of columns) {
      const [one, other] = [a, b].map((row) => (row as Record<string, string | number>)[column] ?? 0);
      const found = compare(one, other);
      if (found !== 0) return direction === 'DESC' ? -found : found;
    }
    return 0;
  };
}

function compare(a: string | number = 0, b: string | number = 0): number {
  return typeof a === 'number' ? a - Number(b) : Buffer.compare(Buffer.from(a), Buffer.from(String(b)));
}

/** The last of the `look` rows that are examined, undefined if there are fewer. */
export function lastOfLook<Row>(db: Connection, ranges: Ranges, look: number): Row | undefined {
  return mergedRows<Row>(db, ranges, 1, look - 1)[0];
}
