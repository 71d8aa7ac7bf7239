/**
 * Pages of lists. A cursor is opaque: the name of its list and a position in it, so that a cursor of another list is
 * refused instead of skipping or repeating items. The position is that of the page's last item, not a number of items,
 * so added and removed items change nothing. `paging` makes the parameters, cursors and answers of one list of rows,
 * `memoryPaging` those of a list that is in memory, `pages` those of any other.
 */
import { z } from 'zod';
import { type Found, gather, looksOf } from './looks.ts';
import { integer } from './query.ts';

/** Sites of several hosts have long names. */
const MAX_CURSOR_CHARS = 4096;

/** A page of a list; `NextCursor` is null on the last one. */
export interface Page<Item> {
  Items: readonly Item[];
  HasMore: boolean;
  NextCursor: string | null;
}

/** The pages of the list `name`. `place` describes a position, as JSON. */
export function pages<Place>(name: string, place: z.ZodType<Place>) {
  return {
    /** `Limit` and `After`. */
    query: {
      Limit: integer(1, 100).default(25).describe('Items of a page'),
      After: cursor(name, place).optional().describe('`NextCursor` of the page before'),
    },
    /** Collected items, and where the next page begins, null = nowhere. */
    page<Item>(items: readonly Item[], next: Place | null): Page<Item> {
      return { Items: items, HasMore: next !== null, NextCursor: cursorText(name, next) };
    },
  };
}

/** The same for a list of rows, each of which is at the position that `placeOf` returns. */
export function paging<Row, Place>(name: string, place: z.ZodType<Place>, placeOf: (row: Row) => Place) {
  const { query, page } = pages(name, place);
  return {
    query,
    /** `rows` has one more than `Limit` if there are more. */
    pageOf<Given extends Row, Item>(
      rows: readonly Given[],
      { Limit }: { Limit: number },
      itemOf: (row: Given) => Item,
    ) {
      const shown = rows.slice(0, Limit);
      const last = shown.at(-1);
      return page(shown.map(itemOf), rows.length > Limit && last !== undefined ? placeOf(last) : null);
    },
    /** The page of a search in limited steps: what `look` finds, from a position on. */
    async search<Given extends Row, Item>(
      request: { ended(): AbortSignal },
      { Limit, After }: { Limit: number; After?: Place | undefined },
      itemOf: (row: Given) => Item,
      look: (from: Place | undefined, most: number) => Promise<Found<Given, Place>>,
    ) {
      const { rows, next } = await gather(looksOf(request), Limit, After, look, placeOf);
      return page(rows.map(itemOf), next);
    },
  };
}

/** The same for a list in this process's memory. `keyOf`: each item's position, unique, and compared as text. */
export function memoryPaging<Item>(
  name: string,
  keyOf: (item: Item) => string,
  { newestFirst = false } = {},
) {
  const { query, pageOf } = paging(name, z.string(), ({ key }: { key: string }) => key);
  const direction = newestFirst ? -1 : 1;
  return {
    query,
    pageOf<Shown>(
      items: readonly Item[],
      wanted: { Limit: number; After?: string | undefined },
      itemOf: (item: Item) => Shown,
    ) {
      const placed = items
        .map((item) => ({ item, key: keyOf(item) }))
        .filter(({ key }) => wanted.After === undefined || compare(key, wanted.After) * direction > 0)
        .sort((a, b) => compare(a.key, b.key) * direction);
      return pageOf(placed, wanted, ({ item }) => itemOf(item));
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
