/**
 * What the queue does with the rows in the store before its first claim: those that an earlier run held become due
 * again, and if routes name other tags than then, waiting rows are moved to the queues of these.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Store } from '../../store/store.ts';

const RECLAIMED_ROWS = 2_000;
/** Rows per transaction while they are moved to other queues. */
const REFILE_ROWS = 2_000;

/** `routeTags`: null = unknown, nothing is moved. */
export async function takeOver(
  { store, clock, log }: { store: Store; clock: Clock; log: Logger },
  routeTags: readonly string[] | null,
): Promise<void> {
  let reclaimed = 0;
  for (let n = -1; n !== 0; reclaimed += n) {
    n = await store.reclaim({ now: clock.now(), limit: RECLAIMED_ROWS });
  }
  if (reclaimed > 0) log.info({ rows: reclaimed }, 'took back what an earlier run held');
  let moved = 0;
  for (let more = routeTags !== null; more; ) {
    const step = await store.refile({ tags: routeTags ?? [], limit: REFILE_ROWS });
    moved += step.moved;
    more = !step.done;
  }
  if (moved > 0) log.info({ rows: moved }, 'what waits goes by the tags that routes name now');
}
