/**
 * Whether this node may send by a path, where several nodes share its source (egress-leases.ts). Until it is known who
 * sends, what waits stays where it is; where another node does, it goes back to the store for that one. A path that loses
 * its lease begins nothing more, and its connections are closed before another node opens its own.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Lease, LeaseListener, LeaseState } from '../queue/membership.ts';
import type { Queue } from '../queue/queue.ts';
import type { PathHealth } from './path-health.ts';
import type { Links } from './path-links.ts';
import type { PathView } from './path-view.ts';

/** The leave of one path to send. */
export interface PathEgress {
  /** false: nothing may be taken, opened or sent now. */
  may(): boolean;
  /** The path is not used any more: another node may send in its place. */
  end(): void;
  /** Resolves when no connection is left that another node's would come on top of. */
  cleared(): Promise<void>;
  /** To be called when a connection has ended. */
  linkEnded(): void;
}

/** Looked at again with every change of the lease; this is for the case that nobody tells. */
const ELSEWHERE_MS = 60_000;
const REASON = 'path: another node sends from this source to this site';

/** `want` gives null where this node alone sends from the source. */
export function createPathEgress(
  deps: {
    name: string;
    queue: Pick<Queue, 'block' | 'unblock' | 'blocked'>;
    clock: Clock;
    health: Pick<PathHealth, 'breaker' | 'reason'>;
    links: Pick<Links, 'leaveAll' | 'destroyAll' | 'all'>;
    view: Pick<PathView, 'waits'>;
  },
  want: ((listener: LeaseListener) => Lease | null) | undefined,
  on: { lost(): void; changed(): void },
): PathEgress {
  const { name, queue, clock, health, links, view } = deps;
  let gone: (() => void) | null = null;
  const lease = want?.({ changed }) ?? null;

  return {
    may() {
      const state = lease?.state() ?? 'held';
      if (state === 'held') return true;
      view.waits('lease');
      if (state === 'elsewhere' && queue.blocked(name) === null)
        queue.block(name, clock.now() + ELSEWHERE_MS, REASON);
      return false;
    },
    end: () => lease?.end(),
    cleared() {
      if (lease === null || links.all === 0) return Promise.resolve();
      return new Promise((resolve) => {
        gone = resolve;
      });
    },
    linkEnded() {
      if (links.all === 0) gone?.();
    },
  };

  /** What another node knew of the path was read again before this one is told that it may send. */
  function changed(state: LeaseState, graceMs: number): void {
    if (state === 'held') {
      const breaker = health.breaker();
      if (breaker.kind === 'open') queue.block(name, breaker.until, health.reason);
      else queue.unblock(name);
    } else {
      on.lost();
      links.leaveAll();
      // By a timer in any case: what far ends have answered during a pause of this process is read first.
      clock.setTimer(graceMs, () => {
        if (lease?.state() !== 'held') links.destroyAll();
      });
    }
    on.changed();
  }
}
