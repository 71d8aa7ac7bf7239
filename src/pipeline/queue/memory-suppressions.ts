/**
 * The suppressions of mail in memory. A row brings those of its recipient from the store; changes that come later, of this
 * node (late-suppressions.ts) and of others (untold-suppressions.ts), are applied to it here, and its site is told.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ClaimedDelivery } from '../../model/delivery.ts';
import type { Store } from '../../store/store.ts';
import type { SuppressionChange } from '../../store/topics/suppressions.ts';
import { createLateSuppressions } from './late-suppressions.ts';
import type { ReadyItem } from './ready-item.ts';
import { createUntoldSuppressions } from './untold-suppressions.ts';

interface MemorySuppressions {
  /** Applies to a row what has changed since the store was asked for it (`sinceMs`, monotonic). */
  note(delivery: ClaimedDelivery, sinceMs: number): void;
  /** Other nodes have changed some, and it is not known which. */
  read(): void;
  start(): void;
  stop(): Promise<void>;
}

/** `mayBeDeaf`: other nodes may work on the store. */
export function createMemorySuppressions(
  deps: {
    store: Pick<Store, 'onSuppressed' | 'suppressedAmong' | 'hearsHints'>;
    clock: Clock;
    log: Logger;
    items(): Iterable<ReadyItem>;
    /** When the oldest claim or commit began that is under way (monotonic); null = none is. */
    underWaySinceMs(): number | null;
    /** Resolves when what is being claimed is in memory; null: nothing is. */
    arriving(): Promise<unknown> | null;
    /** Mail of these sites has other suppressions now. */
    changed(sites: ReadonlySet<string>): void;
  },
  mayBeDeaf: boolean,
): MemorySuppressions {
  const { store, clock, items, changed } = deps;
  const late = createLateSuppressions(clock, () => {
    const since = [deps.underWaySinceMs() ?? [], untold.sinceMs() ?? []].flat();
    return since.length === 0 ? null : Math.min(...since);
  });
  const untold = createUntoldSuppressions({ ...deps, note: late.note }, mayBeDeaf);
  let unsubscribe = (): void => {};

  return {
    note: late.note,
    read: untold.read,
    start() {
      unsubscribe = store.onSuppressed(made);
      untold.start();
    },
    stop() {
      unsubscribe();
      return untold.stop();
    },
  };

  function made(changes: readonly SuppressionChange[]): void {
    const sinceMs = clock.monotonicMs();
    late.add(changes);
    const domains = new Set(changes.map(({ senderDomain }) => senderDomain));
    const touched = new Set<string>();
    for (const item of items())
      if (domains.has(item.delivery.senderDomain) && late.note(item.delivery, sinceMs))
        touched.add(item.site);
    if (touched.size > 0) changed(touched);
  }
}
