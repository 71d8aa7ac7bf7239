/** A binary heap: the least element first. */

interface Heap<T> {
  size(): number;
  push(item: T): void;
  /** The least element, or undefined if empty. */
  peek(): T | undefined;
  pop(): T | undefined;
}

/** `compare(a, b)` is negative if `a` comes first. */
export function createHeap<T>(compare: (a: T, b: T) => number): Heap<T> {
  const items: T[] = [];

  const before = (i: number, j: number): boolean => {
    const a = items[i];
    const b = items[j];
    return a !== undefined && b !== undefined && compare(a, b) < 0;
  };
  const swap = (i: number, j: number): void => {
    const a = items[i];
    const b = items[j];
    if (a === undefined || b === undefined) return;
    items[i] = b;
    items[j] = a;
  };

  return {
    size: () => items.length,
    push(item) {
      items.push(item);
      for (let at = items.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!before(at, parent)) break;
        swap(at, parent);
        at = parent;
      }
    },
    peek: () => items[0],
    pop() {
      const least = items[0];
      const last = items.pop();
      if (last === undefined || items.length === 0) return least;
      items[0] = last;
      for (let at = 0; ; ) {
        let smaller = 2 * at + 1;
        if (smaller + 1 < items.length && before(smaller + 1, smaller)) smaller += 1;
        if (smaller >= items.length || !before(smaller, at)) break;
        swap(at, smaller);
        at = smaller;
      }
      return least;
    },
  };
}
