/**
 * Records the results of calls, many in one commit. A result that the store refuses is kept and written again, because
 * a call without a recorded success would be repeated; until then its promise is pending, so its place is not free and
 * the sender pauses by itself. Only a result that the store refuses although it can write is dropped and logged as an
 * error: that is a bug and must not stop others.
 */
import type { Clock } from '../../lib/clock.ts';
import { createKeptWrites, type KeptWrites } from '../../lib/kept-writes.ts';
import type { Logger } from '../../lib/log.ts';
import { type Store, StoreUnavailable } from '../../store/store.ts';
import type { CallSettlement } from '../../store/topics/webhooks.ts';

const MAX_BATCH = 64;
const RETRY_MS = 1_000;

/** Records to `store`. Results not written when it is stopped are reclaimed by the next start. */
export function createSettler(deps: {
  store: Pick<Store, 'settleCalls'>;
  clock: Clock;
  log: Logger;
  /** The store refused the record of this call. */
  refused(callId: number): void;
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
    refused({ callId }, err) {
      log.error({ callId, err }, 'dropped a webhook record');
      deps.refused(callId);
    },
    away: (err, count) => log.error({ err, count }, 'cannot record webhook calls'),
  });
}
