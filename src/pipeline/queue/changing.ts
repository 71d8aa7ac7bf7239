/**
 * Changes deliveries in the store that wait in memory under our lease: cancels or reschedules them. They are released
 * first, so that they are not sent meanwhile; the store changes leased rows under exactly the given epochs; changed
 * rows leave memory, and the others go on waiting. If the store does not say what it changed, all are given back to it:
 * what it has changed must not be sent. A row that is just being claimed or settled is leased and can be
 * neither changed nor released: it is waited for, and the change is tried once more.
 */
import type { Clock } from '../../lib/clock.ts';
import type { ReadyItem } from './ready-item.ts';
import type { ReadyWindow } from './ready-window.ts';

/**
 * `change` gets ids and, as `leases`, the epochs of those that were released for it; it returns the ids that it
 * changed. If rows were just being claimed or settled, it is called once more for those that it did not change. Returns
 * the results in order.
 */
export type Changing = <Result extends { readonly changed?: readonly number[] }>(
  deliveryIds: readonly number[],
  change: (ids: readonly number[], leases: ReadonlyMap<number, number>) => Promise<Result>,
) => Promise<readonly Result[]>;

/** A row that is leaving memory is waited for this long, because the store may be unavailable. */
const LEAVING_MS = 2_000;

interface ChangingRows {
  changing: Changing;
  /** An item has left memory. */
  left(): void;
}

export function createChanging(
  { clock, window }: { clock: Clock; window: Pick<ReadyWindow, 'itemOf' | 'pull' | 'replace'> },
  on: {
    wake(site: string): void;
    /** The item leaves memory. */
    leave(item: ReadyItem): void;
    /** The item goes back to the store, if it is still leased there. */
    giveBack(item: ReadyItem): void;
    /** Resolves when what is being claimed is in memory; null: nothing is. */
    arriving(): Promise<unknown> | null;
  },
): ChangingRows {
  const watchers = new Set<() => void>();

  async function changing<Result extends { readonly changed?: readonly number[] }>(
    deliveryIds: readonly number[],
    change: (ids: readonly number[], leases: ReadonlyMap<number, number>) => Promise<Result>,
  ): Promise<readonly Result[]> {
    const first = await round(deliveryIds, change);
    if (first.left.length === 0 || !(await moved(first.left, first.givenUp))) return [first.result];
    return [first.result, (await round(first.left, change)).result];
  }

  return {
    changing,
    left() {
      for (const look of watchers) look();
    },
  };

  async function round<Result extends { readonly changed?: readonly number[] }>(
    ids: readonly number[],
    change: (ids: readonly number[], leases: ReadonlyMap<number, number>) => Promise<Result>,
  ): Promise<{ result: Result; left: readonly number[]; givenUp: ReadonlySet<number> }> {
    const items = ids.flatMap(withdraw);
    const leases = new Map(items.map(({ delivery }) => [delivery.id, delivery.epoch]));
    let result: Result;
    try {
      result = await change(ids, leases);
    } catch (error) {
      for (const item of items) {
        const copy = restore(item);
        window.pull(copy);
        on.giveBack(copy);
      }
      throw error;
    }
    const changed: ReadonlySet<number> = new Set(result.changed);
    for (const item of items) {
      if (changed.has(item.delivery.id)) on.leave(item);
      else on.wake(restore(item).site);
    }
    return { result, left: ids.filter((id) => !changed.has(id)), givenUp: new Set(leases.keys()) };
  }

  /** Whether some of them were being claimed or settled; they have arrived then. */
  async function moved(ids: readonly number[], givenUp: ReadonlySet<number>): Promise<boolean> {
    const leaving = isLeaving(ids);
    if (leaving) await gone(ids);
    // Items that left and are due are claimed again at once.
    const arriving = on.arriving();
    await arriving;
    return arriving !== null || leaving || ids.some((id) => !givenUp.has(id) && waits(id));
  }

  function gone(ids: readonly number[]): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        watchers.delete(look);
        timer.cancel();
        resolve();
      };
      const look = (): void => {
        if (!isLeaving(ids)) end();
      };
      const timer = clock.setTimer(LEAVING_MS, end);
      watchers.add(look);
    });
  }

  function isLeaving(ids: readonly number[]): boolean {
    return ids.some((id) => window.itemOf(id)?.leaving === true);
  }

  function waits(deliveryId: number): boolean {
    const item = window.itemOf(deliveryId);
    return item !== null && item.underWay === null && !item.leaving && !item.withdrawn;
  }

  function withdraw(deliveryId: number): ReadyItem[] {
    const item = window.itemOf(deliveryId);
    if (item === null || !waits(deliveryId)) return [];
    item.withdrawn = true;
    window.pull(item);
    on.wake(item.site);
    return [item];
  }

  /** A copy, because another part may still hold the old item, and read its content. */
  function restore(item: ReadyItem): ReadyItem {
    if (item.content !== null) item.content.mayFree = false;
    const copy = { ...item, withdrawn: false, checked: -1 };
    window.replace(copy);
    return copy;
  }
}
