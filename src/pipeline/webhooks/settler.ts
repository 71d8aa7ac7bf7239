/**
 * Records the ends of calls, many in one commit: whatever arrives while a commit runs is the next batch. A settlement
 * that the store refuses is kept and written again, because a call whose success is not recorded would be made twice;
 * its promise stays open meanwhile, and the sender, which frees a slot only then, comes to rest by itself. Only one
 * that the store refuses by itself while it can write is dropped, loudly: that is a bug and must not stop the rest.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { CallSettlement } from '../../store/topics/webhooks.ts';

export interface Settler {
  /** Resolves when the settlement is committed; never rejects. */
  settle(settlement: CallSettlement): Promise<void>;
  /** Resolves when everything given so far is committed. */
  drained(): Promise<void>;
  /** Stops repeating; what is not written by then is reclaimed by the next start. */
  stop(): void;
}

const MAX_BATCH = 64;
const RETRY_MS = 1_000;

/** A settler over `store`. */
export function createSettler(deps: {
  store: Pick<Store, 'settleCalls'>;
  clock: Clock;
  log: Logger;
}): Settler {
  const waiting: { settlement: CallSettlement; written: Promise<void>; done: () => void }[] = [];
  let isWriting = false;
  let isStopped = false;
  let isRefused = false;
  let batchSize = MAX_BATCH;
  let retry: Timer | null = null;

  async function write(): Promise<void> {
    if (isWriting) return;
    isWriting = true;
    while (waiting.length > 0 && !isStopped) {
      const batch = waiting.slice(0, batchSize);
      try {
        await deps.store.settleCalls({ settlements: batch.map((item) => item.settlement) });
        batchSize = MAX_BATCH;
      } catch (error) {
        if (!(error instanceof StoreUnavailable)) {
          if (batchSize === 1) {
            const [dropped] = waiting.splice(0, 1);
            deps.log.error({ callId: dropped?.settlement.callId, err: error }, 'dropped a webhook record');
            dropped?.done();
          }
          batchSize = 1;
          continue;
        }
        if (!isRefused) deps.log.error({ err: error, count: batch.length }, 'cannot record webhook calls');
        isRefused = true;
        retry = deps.clock.setTimer(RETRY_MS, () => void write());
        break;
      }
      isRefused = false;
      waiting.splice(0, batch.length);
      for (const item of batch) item.done();
    }
    isWriting = false;
  }

  return {
    settle(settlement) {
      const { promise: written, resolve: done } = Promise.withResolvers<void>();
      waiting.push({ settlement, written, done });
      if (!isRefused) void write();
      return written;
    },
    drained: async () => {
      await Promise.all(waiting.map((item) => item.written));
    },
    stop() {
      isStopped = true;
      retry?.cancel();
    },
  };
}
