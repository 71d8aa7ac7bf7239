/**
 * Writes what must not get lost through a place that may be away for a while: what came in one turn goes together, what is
 * written next does not wait for what is under way, and what could not be written is kept and offered again, with all that
 * came meanwhile. An item that is refused for what it is must not hold up the others: each of its batch is offered alone,
 * and the bad one is given up. Given the write and what tells its failures apart; leaves every item written, refused, or
 * kept until `stop`.
 */
import type { Clock, Timer } from './clock.ts';

export interface KeptWrites<Item> {
  /** Resolves when the item is written, or refused; never rejects. */
  put(item: Item): Promise<void>;
  /** Nothing can be written at the moment: what comes now waits for the next try. */
  readonly paused: boolean;
  /** Items that are not written yet, those under way included. */
  readonly size: number;
  /** Resolves when everything given so far is written or refused. */
  drained(): Promise<void>;
  /** Nothing is offered again from now on. */
  stop(): void;
}

interface Kept<Item> {
  item: Item;
  /** Counts up, in the order in which they came. */
  place: number;
  resolve: () => void;
}

export function createKeptWrites<Item, Result>(given: {
  clock: Pick<Clock, 'setTimer'>;
  /** Between two tries while it is away. */
  retryMs: number;
  /** Of one write; absent = all there is. */
  maxBatch?: number;
  write(items: readonly Item[]): Promise<readonly Result[] | undefined>;
  /** Whether a failure says that nothing can be written now; else it is about the items. */
  isAway(cause: unknown): boolean;
  written?(item: Item, result: Result | undefined): void;
  /** After each write that did something, when all its items were told. */
  wrote?(): void;
  refused(item: Item, cause: unknown): void;
  /** The first failure in a row of `count` items. */
  away(cause: unknown, count: number): void;
  /** Something was written again. */
  back?(): void;
}): KeptWrites<Item> {
  const { clock, retryMs, maxBatch = Number.POSITIVE_INFINITY } = given;
  let waiting: Kept<Item>[] = [];
  let size = 0;
  let places = 0;
  let flushing = false;
  let paused = false;
  let stopped = false;
  let retry: Timer | null = null;
  let onDrained: (() => void)[] = [];

  return {
    put(item) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ item, resolve, place: places++ });
      size += 1;
      // While it is away, the next try takes everything along.
      if (!paused) startFlush();
      return promise;
    },
    get paused() {
      return paused;
    },
    get size() {
      return size;
    },
    drained: () => (size === 0 ? Promise.resolve() : new Promise((resolve) => onDrained.push(resolve))),
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
      // What comes next forms the next batch while this one is written.
      offer(waiting.splice(0, maxBatch));
      await Promise.resolve();
      // What is closed refuses at once: trying again in the same turn would never let go of it.
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
          // Whoever looks at an item and refuses it is there.
          resume();
        }
      },
    );
  }

  function keep(batch: readonly Kept<Item>[], cause: unknown): void {
    if (!paused) given.away(cause, batch.length);
    paused = true;
    // Of several batches under way the last may fail first.
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

  function finish({ resolve }: Kept<Item>): void {
    resolve();
    size -= 1;
    if (size > 0) return;
    for (const done of onDrained) done();
    onDrained = [];
  }
}
