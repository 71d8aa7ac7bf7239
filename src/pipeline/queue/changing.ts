/**
 * Changes in the store to deliveries that wait in memory under a lease of ours: canceling them, giving them another time.
 * They are given up first, so that nobody begins to send them meanwhile; the store changes leased rows under exactly the
 * epochs that it is given; what it changed leaves memory, and the others go on waiting.
 */
import type { ReadyItem } from './ready-item.ts';
import type { ReadyWindow } from './ready-window.ts';

/**
 * `change` is given ids and, as `leases`, the epochs of those that were given up for it; it gives the ids that it has
 * changed. Where rows arrived in memory in between it is asked once more, for those. The results, in order.
 */
export type Changing = <Result extends { readonly changed?: readonly number[] }>(
  deliveryIds: readonly number[],
  change: (ids: readonly number[], leases: ReadonlyMap<number, number>) => Promise<Result>,
) => Promise<readonly Result[]>;

/** The first time, and once for rows that came into memory meanwhile. */
const ROUNDS = 2;

/** `left`: the item leaves memory. */
export function createChanging(
  window: Pick<ReadyWindow, 'itemOf' | 'pull' | 'replace'>,
  on: { wake(site: string): void; left(item: ReadyItem): void },
): Changing {
  return async function changing<Result extends { readonly changed?: readonly number[] }>(
    deliveryIds: readonly number[],
    change: (ids: readonly number[], leases: ReadonlyMap<number, number>) => Promise<Result>,
  ): Promise<readonly Result[]> {
    const results: Result[] = [];
    let ids = deliveryIds;
    for (let round = 0; round < ROUNDS && (round === 0 || ids.length > 0); round += 1) {
      const items = ids.flatMap(withdraw);
      let changed: ReadonlySet<number> = new Set();
      try {
        const result = await change(ids, new Map(items.map(({ delivery }) => [delivery.id, delivery.epoch])));
        results.push(result);
        changed = new Set(result.changed);
      } finally {
        for (const item of items) {
          if (changed.has(item.delivery.id)) on.left(item);
          else restore(item);
        }
      }
      // Claimed or accepted a moment ago, and on its way into memory when it was looked for.
      ids = ids.filter(
        (id) => !changed.has(id) && items.every(({ delivery }) => delivery.id !== id) && waits(id),
      );
    }
    return results;
  };

  function waits(deliveryId: number): boolean {
    const item = window.itemOf(deliveryId);
    return item !== null && !item.underWay && !item.leaving && !item.withdrawn;
  }

  function withdraw(deliveryId: number): ReadyItem[] {
    const item = window.itemOf(deliveryId);
    if (item === null || !waits(deliveryId)) return [];
    item.withdrawn = true;
    window.pull(item);
    on.wake(item.site);
    return [item];
  }

  /** A copy, because whoever took the item may look at it yet. */
  function restore(item: ReadyItem): void {
    window.replace({ ...item, withdrawn: false, checked: -1 });
    on.wake(item.site);
  }
}
