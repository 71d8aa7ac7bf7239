/**
 * Whether this node may send on a path, if several nodes share its source (egress-leases.ts). Until it is known which
 * node sends, waiting rows stay; if another node does, they go back to the store for that one. A path that loses its
 * lease starts nothing more, and its connections are closed before another node opens its own.
 */
import type { Clock } from '../../../lib/clock.ts';
import { afterInput } from '../../../lib/turns.ts';
import type { Lease, LeaseListener, LeaseState } from '../../queue/leases.ts';
import type { Links } from './links.ts';
import type { PathNotes } from './notes.ts';
import type { PathState } from './states.ts';

/** The right of one path to send. */
interface PathEgress {
  /** false: nothing may be taken, opened or sent now. */
  may(): boolean;
  /** The path is no longer used: another node may send instead. */
  end(): void;
  /** Resolves when no connection is left that would add to another node's. */
  cleared(): Promise<void>;
  /** To be called when a connection has ended. */
  linkEnded(): void;
}

export const NOT_KNOWN = 'it is not known yet whether this node sends from this source to this site';

/** `want` returns null if only this node sends from the source. */
export function createPathEgress(
  deps: {
    clock: Clock;
    state: Pick<PathState, 'elsewhere' | 'notElsewhere' | 'blocked'>;
    links: Pick<Links, 'leaveAll' | 'destroyAll' | 'all'>;
    notes: Pick<PathNotes, 'waits'>;
  },
  want: ((listener: LeaseListener) => Lease | null) | undefined,
  on: { lost(): void; elsewhere(): void; changed(): void },
): PathEgress {
  const { clock, state, links, notes } = deps;
  const waiting: (() => void)[] = [];
  const lease = want?.({ changed, cleared }) ?? null;

  return {
    may() {
      const holder = lease?.state() ?? 'held';
      if (holder === 'held') return true;
      notes.waits('lease', undefined, NOT_KNOWN);
      if (holder !== 'asking' && state.blocked() === null) state.elsewhere(holder === 'elsewhere');
      return false;
    },
    end: () => lease?.end(),
    cleared: () => (lease === null ? Promise.resolve() : cleared()),
    linkEnded() {
      if (links.all() === 0) for (const resolve of waiting.splice(0)) resolve();
    },
  };

  function cleared(): Promise<void> {
    return links.all() === 0 ? Promise.resolve() : new Promise((resolve) => void waiting.push(resolve));
  }

  /** What another node stored about the path was read again before this node learns that it may send. */
  function changed(holder: LeaseState, graceMs: number | null): void {
    if (holder === 'elsewhere') {
      state.elsewhere(true);
      on.elsewhere();
    } else state.notElsewhere();
    if (holder !== 'held') {
      on.lost();
      links.leaveAll();
      if (graceMs !== null) endBy(graceMs);
    }
    on.changed();
  }

  function endBy(graceMs: number): void {
    const end = (): void => {
      if (lease?.state() !== 'held') links.destroyAll();
    };
    // Replies that arrived during a pause of this process are read first.
    clock.setTimer(graceMs, () => afterInput(end));
  }
}
