/**
 * Reads several ranges of one index as one: the rows of each place (a domain) are read along the index, and the first of
 * all of them are returned. Takes a statement that reads one range, and the places; a place with many rows costs no more
 * than one with few.
 */
import { int8s, texts } from './arrays.ts';
import type { Db, Value } from './db.ts';

export interface Ranges {
  /** Reads the range of `g.place`; without order and limit. */
  sql: string;
  /** The values of `sql`, for every place the same. */
  values: readonly Value[];
  /** undefined: `sql` names no place. */
  places: readonly number[] | readonly string[] | undefined;
  /** `ORDER BY` of the columns of `sql`; undefined: any order. */
  order?: string | undefined;
  /** The same order within a place, as its index has it, where it is to be spelled in another way. */
  orderWithin?: string | undefined;
}

/**
 * Part of an index: the columns before its number, each with the SQL of its value, and the number, which is between two.
 * Compared as a whole, because with a condition for each column the planner would rather read an index that has only the
 * number, with the rows of all other places in between.
 */
export function alongIndex(fixed: readonly (readonly [column: string, value: string])[], number: string) {
  const columns = [...fixed.map(([column]) => column), number];
  const place = `(${[...fixed.map(([, value]) => value), '?'].join(', ')})`;
  return {
    /** Binds the `?` of the values and the number that it is above, and again those and the one that it is below. */
    condition: `(${columns.join(', ')}) > ${place} AND (${columns.join(', ')}) < ${place}`,
    order: (direction: 'ASC' | 'DESC') => columns.map((column) => `${column} ${direction}`).join(', '),
  };
}

/** Joins message `m` to each row of a range. `OFFSET 0` makes the planner look it up, instead of beginning with all messages. */
export const messageOf = (seq: string) =>
  `CROSS JOIN LATERAL (SELECT * FROM message WHERE seq = ${seq} OFFSET 0) m`;

/** The first `limit` rows after `offset`. */
export function mergedRows<Row>(db: Db, ranges: Ranges, limit: number, offset = 0): Promise<Row[]> {
  const { sql, values, places, orderWithin = ranges.order } = ranges;
  const ordered = (by: string | undefined) => (by === undefined ? '' : `ORDER BY ${by}`);
  const order = ordered(ranges.order);
  if (places === undefined) return db.all(`${sql} ${order} LIMIT ? OFFSET ?`, ...values, limit, offset);
  if (places.length === 0) return Promise.resolve([]);
  const isText = typeof places[0] === 'string';
  return db.all(
    `SELECT r.* FROM unnest(?::${isText ? 'text' : 'int8'}[]) g (place) CROSS JOIN LATERAL (${sql} ${ordered(orderWithin)} LIMIT ?) r
     ${order} LIMIT ? OFFSET ?`,
    isText
      ? texts([...new Set(places as readonly string[])])
      : int8s([...new Set(places as readonly number[])]),
    ...values,
    limit + offset,
    limit,
    offset,
  );
}

/** The last of the `look` examined rows; undefined if there are fewer. */
export async function lastOfLook<Row>(db: Db, ranges: Ranges, look: number): Promise<Row | undefined> {
  return (await mergedRows<Row>(db, ranges, 1, look - 1))[0];
}

/**
 * The same for many ranges, of each of which `lastOfLook` would read `look` rows: goes through their order in spans, counted
 * from the first row, until one contains enough. Each goes further than the one before by four times as much, over a gap
 * for nothing. `within`: the last of the look in a span. `beyond`: how far the first row behind it is.
 */
export async function lastInSpans<Row>(
  shortest: number,
  within: (span: number) => Promise<Row | undefined>,
  beyond: (span: number) => Promise<number | undefined>,
): Promise<Row | undefined> {
  let reached: number | undefined = 0;
  for (let more = shortest; reached !== undefined; more *= 4) {
    const last = await within(reached + more);
    if (last !== undefined) return last;
    reached = await beyond(reached + more);
  }
  return undefined;
}
