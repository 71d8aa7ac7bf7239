/**
 * Reads several ranges of one index as one: the rows of each place (a domain) are read along its index, newest first, and
 * of all of them the first are returned. A place with many rows therefore costs no more than one with few.
 */
import { int8s, texts } from './arrays.ts';
import type { Db } from './db.ts';
import type { Filter } from './filter.ts';

export interface Ranges {
  columns: string;
  table: string;
  /** Column of the place. */
  place: string;
  /** undefined = everywhere. */
  places: readonly string[] | readonly number[] | undefined;
  /** Unique column that gives the order, one of `columns` under its own name. */
  order: string;
  /** Further conditions. */
  filter: Filter;
}

/** The newest `limit` rows after `offset`. */
export function newestOf<Row>(db: Db, ranges: Ranges, limit: number, offset = 0): Promise<Row[]> {
  const { columns, table, place, places, order, filter } = ranges;
  if (places === undefined)
    return db.all(
      `SELECT ${columns} FROM ${table} ${filter.where()} ORDER BY ${order} DESC LIMIT ? OFFSET ?`,
      ...[...filter.values(), limit, offset],
    );
  if (places.length === 0) return Promise.resolve([]);
  const isText = typeof places[0] === 'string';
  const given = isText
    ? texts([...new Set(places as readonly string[])])
    : int8s([...new Set(places as readonly number[])]);
  return db.all(
    `SELECT r.* FROM unnest(?::${isText ? 'text' : 'int8'}[]) g (place)
     CROSS JOIN LATERAL (SELECT ${columns} FROM ${table} WHERE ${place} = g.place${filter.and()}
       ORDER BY ${order} DESC LIMIT ?) r
     ORDER BY r.${order} DESC LIMIT ? OFFSET ?`,
    ...[given, ...filter.values(), limit + offset, limit, offset],
  );
}
