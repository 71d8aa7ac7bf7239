/**
 * A page of a list that this process holds in memory (paths, holds, overrides, warm-ups), by cursor like every other list
 * (api.md §3). The cursor is the place of the page's last item, not its number: what comes or goes meanwhile makes no
 * item of the rest appear twice or be left out.
 */
import type { Page } from './contract/answers/page.ts';
import { page, pageLimit, queryCursor } from './route.ts';

/** Cursors are longer than other query texts, because sites of several hosts are. */
const MAX_CURSOR = 4096;

/**
 * The page that `Limit` and `After` ask for. `list` names the list, so that no cursor of another one passes; `keyOf` is
 * each item's place, unique, and compared as text. Throws AppError invalid-parameter for a cursor of anything else.
 */
export function memoryPage<Item, Shown>(
  query: ReadonlyMap<string, string>,
  items: readonly Item[],
  order: {
    list: string;
    keyOf: (item: Item) => string;
    itemOf: (item: Item) => Shown;
    newestFirst?: boolean;
  },
): Page<Shown> {
  const limit = pageLimit(query);
  const prefix = `${order.list} `;
  const given = queryCursor(query, (text) => keyIn(text).startsWith(prefix), MAX_CURSOR);
  const after = given === undefined ? null : keyIn(given).slice(prefix.length);
  const direction = order.newestFirst === true ? -1 : 1;
  const placed = items
    .map((item) => ({ item, key: order.keyOf(item) }))
    .filter(({ key }) => after === null || compare(key, after) * direction > 0)
    .sort((a, b) => compare(a.key, b.key) * direction)
    .slice(0, limit + 1);
  return page(
    placed,
    limit,
    ({ key }) => Buffer.from(prefix + key).toString('base64url'),
    ({ item }) => order.itemOf(item),
  );
}

/** An instant as a text that sorts as it does. */
export function inOrder(at: number): string {
  return String(at).padStart(16, '0');
}

function keyIn(cursor: string): string {
  return /^[A-Za-z0-9_-]+$/.test(cursor) ? Buffer.from(cursor, 'base64url').toString() : '';
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
