/**
 * Records the ends of calls, many in one commit. A settlement that the store refuses is kept and written again, because a
 * call whose success is not recorded would be made twice; its promise stays open meanwhile, and the sender, which frees a
 * slot only then, comes to rest by itself. Only one that the store refuses by itself while it can write is dropped, loudly:
 * that is a bug and must not stop the rest.
 */
import type { Clock } from '../../lib/clock.ts';
import { createKeptWrites, type KeptWrites } from '../../lib/kept-writes.ts';
import type { Logger } from '../../lib/log.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { CallSettlement } from '../../store/topics/webhooks.ts';

const MAX_BATCH = 64;
const RETRY_MS = 1_000;

/** A settler over `store`. What is not written when it is stopped is reclaimed by the next start. */
export function createSettler(deps: {
  store: Pick<Store, 'settleCalls'>;
  clock: Clock;
  log: Logger;
}): KeptWrites<CallSettlement> {
  const { store, clock, log } = deps;
  return createKeptWrites<CallSettlement, undefined>({
    clock,
    retryMs: RETRY_MS,
    maxBatch: MAX_BATCH,
    async write(settlements) {
      await store.settleCalls({ settlements });
      return undefined;
    },
    isAway: (cause) => cause instanceof StoreUnavailable,
    refused: ({ callId }, err) => log.error({ callId, err }, 'dropped a webhook record'),
    away: (err, count) => log.error({ err, count }, 'cannot record webhook calls'),
  });
}
