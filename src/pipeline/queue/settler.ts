/**
 * Stores the results of deliveries: outcomes, and released leases. Outcomes of one turn of the event loop are stored
 * together. While the store cannot write, they are kept and tried again, and `isPaused` is true: a success that cannot
 * be recorded would become a duplicate, so nothing new may be sent.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import { createKeptWrites, type KeptWrites } from '../../lib/kept-writes.ts';
import type { Logger } from '../../lib/log.ts';
import type { NodeLease } from '../../model/node.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { Settlement } from '../../store/topics/queue.ts';
import type { ReadyItem } from './ready-item.ts';

interface Settler {
  /** Records an outcome. Resolves when it is stored, or given up permanently. */
  settle(item: ReadyItem, settlement: Settlement): Promise<void>;
  /** Releases leases; tried again until it succeeds or the queue ends. */
  release(items: readonly ReadyItem[], dueAt: number, waitReason: string | null): void;
  /** Resolves when everything given to it so far is stored. */
  stored(): Promise<unknown>;
  /** Recipients whose outcome the store refused: they stay leased, as they would be sent again otherwise. */
  refused(): Iterable<number>;
  /** Outcomes cannot be stored at the moment. */
  isPaused(): boolean;
  /** No answer said whether leases were given back: nothing may be claimed until one does. */
  mayHaveGivenBack(): boolean;
  /**
   * Whether an outcome could be stored now, under a lease that is certainly valid. If not, nothing may be sent;
   * `resumed` is called when it can.
   */
  recordable(): boolean;
  /** From now on only outcomes are tried again. */
  stop(): void;
}

interface Deps {
  store: Pick<Store, 'settle' | 'release' | 'writable'>;
  node: NodeLease;
  clock: Clock;
  log: Logger;
  /** Its row has been claimed again: it was given back, although no answer said so. */
  isClaimedAgain(item: ReadyItem): boolean;
  /**
   * Resolves when what is being claimed is in memory; null: nothing is. Before anything is written again, because a claim
   * that began before the answer was lost may have the rows.
   */
  arriving(): Promise<unknown> | null;
  /** The item may leave memory; it waits in the store until `dueAt`, or is finished (null). */
  left(item: ReadyItem, dueAt: number | null): void;
  /** Outcomes can be stored again after a pause, or after `recordable` was false. */
  resumed(): void;
  eventsStored(): void;
}

interface Outcome {
  item: ReadyItem;
  settlement: Settlement;
}

/** Leases of one epoch. */
interface Release {
  items: readonly ReadyItem[];
  epoch: number;
  dueAt: number;
  waitReason: string | null;
}

const SETTLE_RETRY_MS = 250;

export function createSettler(deps: Deps): Settler {
  const { store, node, clock, log, isClaimedAgain, arriving, left, resumed, eventsStored } = deps;
  let stopped = false;
  let storeTimer: Timer | null = null;
  const refused = new Set<number>();
  const outcomes: KeptWrites<Outcome> = createKeptWrites<Outcome, string>({
    clock,
    retryMs: SETTLE_RETRY_MS,
    async write(entries) {
      if (outcomes.paused) await arriving();
      const asked = entries.filter(({ item }) => !isClaimedAgain(item));
      const settlements = asked.map(({ settlement }) => settlement);
      const results = await store.settle({ settlements, now: clock.now() });
      let at = 0;
      return entries.map((entry) => (entry === asked[at] ? (results[at++] ?? 'settled') : 'settled'));
    },
    isAway,
    written({ item, settlement }, result) {
      const { deliveryId, state, dueAt } = settlement;
      if (result === 'lease-lost')
        log.warn({ deliveryId }, 'the lease was lost before the outcome was stored');
      left(item, state === 'queued' ? (dueAt ?? clock.now()) : null);
    },
    wrote: eventsStored,
    refused({ item, settlement }, err) {
      log.error(
        { err, deliveryId: settlement.deliveryId },
        'an outcome cannot be stored; its recipient stays leased until the next start',
      );
      refused.add(settlement.deliveryId);
      left(item, null);
    },
    away: (err, count) => log.error({ err, outcomes: count }, 'outcomes cannot be stored; delivery pauses'),
    back() {
      log.info({}, 'outcomes are stored again; delivery goes on');
      resumed();
    },
  });
  const releases: KeptWrites<Release> = createKeptWrites<Release, undefined>({
    clock,
    retryMs: SETTLE_RETRY_MS,
    maxBatch: 1,
    async write([one]) {
      if (one === undefined) return undefined;
      const { items, epoch, dueAt, waitReason } = one;
      if (releases.paused) await arriving();
      const deliveryIds = items.filter((item) => !isClaimedAgain(item)).map((item) => item.delivery.id);
      if (deliveryIds.length > 0) await store.release({ deliveryIds, epoch, dueAt, waitReason });
      return undefined;
    },
    isAway,
    written({ items, dueAt }) {
      for (const item of items) left(item, dueAt);
    },
    refused({ items }, err) {
      log.error({ err, rows: items.length }, 'leases cannot be given back; they are taken back in a minute');
      for (const item of items) left(item, null);
    },
    away: (err) => log.warn({ err }, 'leases cannot be given back yet'),
    back: resumed,
  });

  return {
    settle: (item, settlement) => outcomes.put({ item, settlement }),
    release(items, dueAt, waitReason) {
      // Each under the epoch in which it was claimed.
      for (const [epoch, held] of Map.groupBy(items, ({ delivery }) => delivery.epoch))
        void releases.put({ items: held, epoch, dueAt, waitReason });
    },
    stored: () => Promise.all([outcomes.drained(), releases.drained()]),
    refused: () => refused,
    isPaused: () => outcomes.paused,
    mayHaveGivenBack: () => releases.paused,
    recordable,
    stop() {
      stopped = true;
      storeTimer?.cancel();
      releases.stop();
    },
  };

  function recordable(): boolean {
    const can = !outcomes.paused && node.valid && store.writable().ok;
    if (!can && !stopped) storeTimer ??= clock.setTimer(SETTLE_RETRY_MS, lookAgain);
    return can;
  }

  function lookAgain(): void {
    storeTimer = null;
    if (recordable()) resumed();
  }
}

function isAway(cause: unknown): boolean {
  return cause instanceof StoreUnavailable;
}
