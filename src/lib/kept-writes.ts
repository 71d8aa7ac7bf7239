/**
 * Writes items that must not be lost to a place that may be unavailable for a while. Items of one turn of the event
 * loop are written together; a later batch does not wait for an earlier one. Items that could not be written are kept
 * and tried again with all newer ones. If a batch is refused because of one item, each item is tried alone, and the bad
 * one is given up. Until `stop`, every item is written, refused or kept.
 */
import type { Clock, Timer } from './clock.ts';

export interface KeptWrites<Item> {
  /** Resolves when the item is written, or refused; never rejects. */
  put(item: Item): Promise<void>;
  /** Nothing can be written at the moment; new items wait for the next try. */
  readonly paused: boolean;
  /** Items that are not written yet, including those being written. */
  readonly size: number;
  /** Resolves when every item given so far is written or refused. */
  drained(): Promise<unknown>;
  /** Nothing is tried again after this. */
  stop(): void;
}

interface Kept<Item> {
  item: Item;
  /** Increases in the order of arrival. */
  place: number;
  promise: Promise<void>;
  resolve: () => void;
}

export function createKeptWrites<Item, Result>(given: {
  clock: Pick<Clock, 'setTimer'>;
  /** Pause between two tries while the destination is unavailable. */
  retryMs: number;
  /** Items per write; absent = all that are waiting. */
  maxBatch?: number;
  write(items: readonly Item[]): Promise<readonly Result[] | undefined>;
  /** Whether a failure means that nothing can be written now; otherwise it concerns the items. */
  isAway(cause: unknown): boolean;
  written?(item: Item, result: Result | undefined): void;
  /** Called after each successful write, when all its items are resolved. */
  wrote?(): void;
  refused(item: Item, cause: unknown): void;
  /** Called for the first failure in a row, with `count` items waiting. */
  away(cause: unknown, count: number): void;
  /** Called when a write succeeds again. */
  back?(): void;
}): KeptWrites<Item> {
  const { clock, retryMs, maxBatch = Number.POSITIVE_INFINITY } = given;
  let waiting: Kept<Item>[] = [];
  let places = 0;
  let flushing = false;
  let paused = false;
  let stopped = false;
  let retry: Timer | null = null;
  /** Not written yet. */
  const unwritten = new Set<Promise<void>>();

  return {
    put(item) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ item, promise, resolve, place: places++ });
      unwritten.add(promise);
      // While the destination is unavailable, the next try takes these too.
      if (!paused) startFlush();
      return promise;
    },
    get paused() {
      return paused;
    },
    get size() {
      return unwritten.size;
    },
    drained: () => Promise.all(unwritten),
    stop() {
      stopped = true;
      retry?.cancel();
    },
  };

  function startFlush(): void {
    if (flushing) return;
    flushing = true;
    queueMicrotask(() => void flush());
  }

  async function flush(): Promise<void> {
    while (waiting.length > 0) {
      // Items that arrive while this batch is written form the next batch.
      offer(waiting.splice(0, maxBatch));
      await Promise.resolve();
      // A closed store refuses at once; trying again in the same turn would never end.
      if (paused) break;
    }
    flushing = false;
  }

  function offer(batch: readonly Kept<Item>[]): void {
    void given.write(batch.map(({ item }) => item)).then(
      (results) => {
        batch.forEach((kept, i) => {
          given.written?.(kept.item, results?.[i]);
          finish(kept);
        });
        resume();
        given.wrote?.();
      },
      (cause: unknown) => {
        const [only] = batch;
        if (given.isAway(cause)) keep(batch, cause);
        else if (batch.length > 1 || only === undefined) for (const each of batch) offer([each]);
        else {
          given.refused(only.item, cause);
          finish(only);
          // The destination that examines and refuses an item is available.
          resume();
        }
      },
    );
  }

  function keep(batch: readonly Kept<Item>[], cause: unknown): void {
    if (!paused) given.away(cause, batch.length);
    paused = true;
    // Of several concurrent batches, the later may fail first.
    waiting = [...batch, ...waiting].sort((a, b) => a.place - b.place);
    if (stopped) return;
    retry ??= clock.setTimer(retryMs, () => {
      retry = null;
      startFlush();
    });
  }

  function resume(): void {
    if (!paused) return;
    paused = false;
    if (waiting.length > 0) startFlush();
    given.back?.();
  }

  function finish({ promise, resolve }: Kept<Item>): void {
    resolve();
    unwritten.delete(promise);
  }
}
