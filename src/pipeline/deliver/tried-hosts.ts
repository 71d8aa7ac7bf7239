/**
 * Which addresses of a path were met in vain, so that the next attempt goes on with the others (delivery.md §4.4): a
 * domain whose first hosts answer and refuse us is not asked by ever the same two. Given what failed and what opened;
 * remembers until something opens, or until all of what there is has had its turn. In memory, bounded.
 */

/** An address as an attempt meets it. */
interface Met {
  address: string;
  port: number;
}

/** The addresses of one path that were met in vain. */
export interface TriedHosts {
  has(met: Met): boolean;
  failed(met: Met): void;
  /** Something opened, or everybody had a turn: it begins with the best again. */
  clear(): void;
}

const MOST = 256;

/** One for each path. */
export function createTriedHosts(): TriedHosts {
  const tried = new Set<string>();
  return {
    has: (met) => tried.size > 0 && tried.has(keyOf(met)),
    failed(met) {
      if (tried.size >= MOST) tried.clear();
      tried.add(keyOf(met));
    },
    clear: () => tried.clear(),
  };
}

/** In the order given, but those that were tried come last. */
export function untriedFirst<Item extends Met>(
  items: readonly Item[],
  tried: Pick<TriedHosts, 'has'>,
): readonly Item[] {
  const later = items.filter((item) => tried.has(item));
  return later.length === 0 ? items : [...items.filter((item) => !tried.has(item)), ...later];
}

function keyOf({ address, port }: Met): string {
  return `${address}:${port}`;
}
