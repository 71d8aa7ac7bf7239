/**
 * Whether this node may send by a path, where several nodes share its source (egress-leases.ts). Until it is known who
 * sends, what waits stays where it is; where another node does, it goes back to the store for that one. A path that loses
 * its lease begins nothing more, and its connections are closed before another node opens its own.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { Lease, LeaseListener, LeaseState } from '../../queue/membership.ts';
import type { Links } from './links.ts';
import type { PathNotes } from './notes.ts';
import type { PathState } from './states.ts';

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

/** `want` gives null where this node alone sends from the source. */
export function createPathEgress(
  deps: {
    clock: Clock;
    state: Pick<PathState, 'elsewhere' | 'leased' | 'closed'>;
    links: Pick<Links, 'leaveAll' | 'destroyAll' | 'all'>;
    notes: Pick<PathNotes, 'waits'>;
  },
  want: ((listener: LeaseListener) => Lease | null) | undefined,
  on: { lost(): void; changed(): void },
): PathEgress {
  const { clock, state, links, notes } = deps;
  let gone: (() => void) | null = null;
  const lease = want?.({ changed }) ?? null;

  return {
    may() {
      const holder = lease?.state() ?? 'held';
      if (holder === 'held') return true;
      notes.waits('lease');
      if (holder === 'elsewhere' && state.closed() === null) state.elsewhere();
      return false;
    },
    end: () => lease?.end(),
    cleared() {
      if (lease === null || links.all() === 0) return Promise.resolve();
      return new Promise((resolve) => {
        gone = resolve;
      });
    },
    linkEnded() {
      if (links.all() === 0) gone?.();
    },
  };

  /** What another node knew of the path was read again before this one is told that it may send. */
  function changed(holder: LeaseState, graceMs: number): void {
    if (holder === 'held') state.leased();
    else {
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
