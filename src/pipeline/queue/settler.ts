/**
 * Writes down what became of deliveries: outcomes, and leases that are given back. Outcomes go as they come, those of
 * one turn together. While the store cannot write they are kept and offered again, and `paused` says so: a success that
 * cannot be recorded would become a duplicate, so nothing new may be sent.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { ReadyItem } from './ready-item.ts';

export interface Settler {
  /** Records an outcome. Resolves when it is stored, or put aside for good. */
  settle(item: ReadyItem, settlement: Settlement): Promise<void>;
  /** Gives leases back; tried again until it is done or the queue ends. */
  release(items: readonly ReadyItem[], dueAt: number, waitReason: string | null): void;
  /** Outcomes cannot be stored at the moment. */
  readonly paused: boolean;
  /** Nothing is tried again from now on but outcomes. */
  stop(): void;
}

/** An outcome that is not stored yet. */
interface Unsettled {
  item: ReadyItem;
  settlement: Settlement;
  resolve: () => void;
}

interface Deps {
  store: Pick<Store, 'settle' | 'release'>;
  clock: Clock;
  log: Logger;
  /** The item may leave memory; it waits in the store until `dueAt`, or for nothing any more (null). */
  left(item: ReadyItem, dueAt: number | null): void;
  /** Outcomes are stored again after a pause. */
  resumed(): void;
  eventsStored(): void;
}

export const SETTLE_RETRY_MS = 250;

export function createSettler({ store, clock, log, left, resumed, eventsStored }: Deps): Settler {
  let pending: Unsettled[] = [];
  let flushing = false;
  let paused = false;
  let retryPlanned = false;
  let stopped = false;

  return {
    settle(item, settlement) {
      const stored = new Promise<void>((resolve) => pending.push({ item, settlement, resolve }));
      // While the store fails, the retry takes everything along.
      if (!paused) startFlush();
      return stored;
    },
    release,
    get paused() {
      return paused;
    },
    stop() {
      stopped = true;
    },
  };

  function startFlush(): void {
    if (flushing) return;
    flushing = true;
    queueMicrotask(() => void flush());
  }

  /** Stores outcomes as they come, one call at a time per tick; holds them while the store cannot write. */
  async function flush(): Promise<void> {
    while (pending.length > 0) {
      const batch = pending;
      pending = [];
      // The next outcomes form the next call while this one commits.
      void store.settle({ settlements: batch.map((entry) => entry.settlement), now: clock.now() }).then(
        (results) => {
          results.forEach((result, i) => {
            const entry = batch[i];
            if (entry !== undefined) finish(entry, result);
          });
          resume();
          eventsStored();
        },
        (cause: unknown) => {
          if (cause instanceof StoreUnavailable) keepForLater(batch, cause);
          else setAside(batch, cause);
        },
      );
      await Promise.resolve();
      // A store that is closed refuses at once: trying again in the same turn would never let go of it.
      if (paused) break;
    }
    flushing = false;
  }

  function keepForLater(batch: readonly Unsettled[], cause: unknown): void {
    if (!paused)
      log.error({ err: cause, outcomes: batch.length }, 'outcomes cannot be stored; delivery pauses');
    paused = true;
    pending = [...batch, ...pending];
    if (retryPlanned) return;
    retryPlanned = true;
    clock.setTimer(SETTLE_RETRY_MS, () => {
      retryPlanned = false;
      startFlush();
    });
  }

  /** An outcome the store refuses for what it is must not hold up all others: each is tried alone, and it is left. */
  function setAside(batch: readonly Unsettled[], cause: unknown): void {
    const [only] = batch;
    if (batch.length > 1 || only === undefined) {
      for (const entry of batch) {
        store.settle({ settlements: [entry.settlement], now: clock.now() }).then(
          ([result = 'settled']) => finish(entry, result),
          (why: unknown) =>
            why instanceof StoreUnavailable ? keepForLater([entry], why) : setAside([entry], why),
        );
      }
      return;
    }
    log.error(
      { err: cause, deliveryId: only.settlement.deliveryId },
      'an outcome cannot be stored; its recipient stays leased until the next start',
    );
    left(only.item, null);
    only.resolve();
  }

  function finish(entry: Unsettled, result: string): void {
    if (result === 'fenced') {
      log.warn(
        { deliveryId: entry.settlement.deliveryId },
        'the lease was lost before the outcome was stored',
      );
    }
    const { state, dueAt } = entry.settlement;
    left(entry.item, state === 'queued' ? (dueAt ?? clock.now()) : null);
    entry.resolve();
  }

  function resume(): void {
    if (!paused) return;
    paused = false;
    if (pending.length > 0) startFlush();
    log.info({}, 'outcomes are stored again; delivery goes on');
    resumed();
  }

  /** Each under the epoch it was claimed under. */
  function release(items: readonly ReadyItem[], dueAt: number, waitReason: string | null): void {
    for (const [epoch, held] of Map.groupBy(items, ({ delivery }) => delivery.epoch)) {
      releaseUnder(epoch, held, dueAt, waitReason);
    }
  }

  function releaseUnder(
    epoch: number,
    items: readonly ReadyItem[],
    dueAt: number,
    waitReason: string | null,
  ): void {
    const deliveryIds = items.map((item) => item.delivery.id);
    const attempt = (): void => {
      store.release({ deliveryIds, epoch, dueAt, waitReason }).then(
        () => {
          for (const item of items) left(item, dueAt);
        },
        (cause: unknown) => {
          log.warn({ err: cause, rows: items.length }, 'leases cannot be given back yet');
          if (!stopped) clock.setTimer(SETTLE_RETRY_MS, attempt);
        },
      );
    };
    attempt();
  }
}
