/**
 * Gives back what is leased to this node although it does not have it, because the answer to its claim or commit was lost.
 * Four times in `afterMs` the store is told what this node has; rows leased longer than `afterMs` before the oldest claim
 * or commit that is under way, and that it does not have, wait again, marked as possible duplicates.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { createRounds } from '../../lib/rounds.ts';
import type { Service } from '../../lib/service.ts';
import type { NodeLease } from '../../model/node.ts';
import type { NodeStore } from '../../store/topics/nodes.ts';

/** What one part of this node has under its lease. */
export interface Holding {
  /** Ids, with those of results that are not stored yet. */
  ids: readonly number[];
  /** When the oldest claim or commit began whose answer has not come (monotonic); null = none is under way. */
  sinceMs: number | null;
}

/** The parts that lease rows and calls. */
interface Holders {
  deliveries: { holding(): Holding };
  calls: { holding(): Holding };
}

const STRAY_ROWS = 2_000;

/** `freed` is called when rows or calls wait again. */
export function createStrays(
  deps: {
    store: Pick<NodeStore, 'strays'>;
    node: NodeLease;
    clock: Clock;
    log: Logger;
    freed(): void;
  },
  { deliveries, calls }: Holders,
  afterMs: number,
): Service {
  const { store, node, clock, log } = deps;

  async function look(): Promise<void> {
    if (!node.valid) return;
    const { epoch } = node;
    let rows = 0;
    for (let n = STRAY_ROWS; n === STRAY_ROWS && epoch === node.epoch; rows += n) {
      // All of this is older than the question: what is leased later is younger than `olderThan`.
      const held = [deliveries.holding(), calls.holding()] as const;
      const nowMs = clock.monotonicMs();
      const underWayMs = Math.max(...held.map(({ sinceMs }) => nowMs - (sinceMs ?? nowMs)));
      const now = clock.now();
      n = await store.strays({
        epoch,
        held: { deliveries: held[0].ids, calls: held[1].ids },
        // Whole milliseconds, as the columns have them: PostgreSQL takes no others.
        olderThan: Math.floor(now - underWayMs - afterMs),
        now,
        limit: STRAY_ROWS,
      });
    }
    if (rows === 0) return;
    log.warn({ rows }, 'took back what was leased to this node without its knowing, as an answer was lost');
    deps.freed();
  }

  return createRounds({
    clock,
    everyMs: afterMs / 4,
    work: look,
    failed: (err) => log.debug({ err }, 'lost leases could not be searched for; it will be tried again'),
  });
}
