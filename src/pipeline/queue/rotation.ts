/**
 * Items that take turns: the one that was taken goes to the end. A list of links instead of an array, which moves all that
 * follow: with 100,000 queues at one site taking and removing each took 29 µs that way, and takes 1 this way.
 */

/** Set by the rotation that has the item; of one at a time. */
export interface Turn<Item> {
  before: Item | null;
  after: Item | null;
}

export interface Rotation<Item> {
  add(item: Item): void;
  /** The item must be in this rotation. */
  remove(item: Item): void;
  /** The first that is admitted, which goes to the end; the others keep their turn. null: none is. */
  next(admits: (item: Item) => boolean): Item | null;
  /** The given item may be removed before the next one is asked for. */
  items(): Iterable<Item>;
}

export function createRotation<Item extends Turn<Item>>(): Rotation<Item> {
  let first: Item | null = null;
  let last: Item | null = null;

  function add(item: Item): void {
    item.before = last;
    item.after = null;
    if (last === null) first = item;
    else last.after = item;
    last = item;
  }

  function remove(item: Item): void {
    const { before, after } = item;
    if (before === null) first = after;
    else before.after = after;
    if (after === null) last = before;
    else after.before = before;
    item.before = null;
    item.after = null;
  }

  return {
    add,
    remove,
    next(admits) {
      let item = first;
      while (item !== null && !admits(item)) item = item.after;
      if (item !== null && item !== last) {
        remove(item);
        add(item);
      }
      return item;
    },
    *items() {
      for (let item = first; item !== null; ) {
        const { after }: Item = item;
        yield item;
        item = after;
      }
    },
  };
}
