/**
 * Pages of lists. A cursor is opaque: the name of its list and a position in it, so that a cursor of another list is
 * refused instead of skipping or repeating items. The position is that of the page's last item, not a number of items,
 * so added and removed items change nothing. `paging` makes the parameters, cursors and answers of one list.
 */
import { z } from 'zod';
import { integer } from './query.ts';

/** Sites of several hosts have long names. */
const MAX_CURSOR_CHARS = 4096;

/** A page of a list; `NextCursor` is null on the last one. */
export interface Page<Item> {
  Items: readonly Item[];
  HasMore: boolean;
  NextCursor: string | null;
}

export interface Paging<Place> {
  /** `Limit` and `After`. */
  query: { Limit: z.ZodDefault<z.ZodType<number>>; After: z.ZodOptional<z.ZodType<Place, string>> };
  /** Collected items, and where the next page begins, null = nowhere. */
  page<Item>(items: readonly Item[], next: Place | null): Page<Item>;
  /** `rows` has one more than `limit` if there are more. */
  pageOf<Row, Item>(
    rows: readonly Row[],
    limit: number,
    placeOf: (row: Row) => Place,
    itemOf: (row: Row) => Item,
  ): Page<Item>;
}

/** The pages of the list `name`. `place` describes a position, as JSON. */
export function paging<Place>(name: string, place: z.ZodType<Place>): Paging<Place> {
  function page<Item>(items: readonly Item[], next: Place | null): Page<Item> {
    return { Items: items, HasMore: next !== null, NextCursor: cursorText(name, next) };
  }
  return {
    query: {
      Limit: integer(1, 100).default(25).describe('Items of a page'),
      After: cursor(name, place).optional().describe('`NextCursor` of the page before'),
    },
    page,
    pageOf(rows, limit, placeOf, itemOf) {
      const shown = rows.slice(0, limit);
      const last = shown.at(-1);
      return page(shown.map(itemOf), rows.length > limit && last !== undefined ? placeOf(last) : null);
    },
  };
}

/** The cursor of a position in the list `name`, as an answer shows it; null for none. */
export function cursorText(name: string, place: unknown): string | null {
  return place === null ? null : Buffer.from(JSON.stringify([name, place])).toString('base64url');
}

/** Reads a cursor of the list `name`; returns its position. `of` is part of the message that refuses another. */
export function cursor<Place>(name: string, place: z.ZodType<Place>, of = 'this list', what = 'NextCursor') {
  const known = z.tuple([z.literal(name), place]);
  return z
    .string()
    .max(MAX_CURSOR_CHARS, 'is too long')
    .transform((given, context): Place => {
      const read = known.safeParse(fromJson(Buffer.from(given, 'base64url').toString()));
      if (read.success) return read.data[1];
      context.addIssue({
        code: 'custom',
        message: `is not ${/^[AX]/.test(what) ? 'an' : 'a'} ${what} of ${of}`,
      });
      return z.NEVER;
    });
}

/** A page of a list in this process's memory. `keyOf`: each item's position, unique, and compared as text. */
export function memoryPage<Item, Shown>(
  pages: Paging<string>,
  query: { Limit: number; After?: string | undefined },
  items: readonly Item[],
  order: { keyOf: (item: Item) => string; itemOf: (item: Item) => Shown; newestFirst?: boolean },
): Page<Shown> {
  const after = query.After;
  const direction = order.newestFirst === true ? -1 : 1;
  const placed = items
    .map((item) => ({ item, key: order.keyOf(item) }))
    .filter(({ key }) => after === undefined || compare(key, after) * direction > 0)
    .sort((a, b) => compare(a.key, b.key) * direction);
  return pages.pageOf(
    placed,
    query.Limit,
    ({ key }) => key,
    ({ item }) => order.itemOf(item),
  );
}

/** A time as a text that sorts in the same way. */
export function inOrder(at: number): string {
  return String(at).padStart(16, '0');
}

function fromJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
