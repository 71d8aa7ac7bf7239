/**
 * What experience says of a path: how many connections it bears, and which messages lost their connection since its last
 * success. A message alone never closes a path: connections that end under a message count by the messages they met.
 * Whether it is closed is its state (path-states.ts). Nothing here touches the network.
 */
import type { Clock } from '../../lib/clock.ts';
import type { RememberedPath } from '../../policy/limits/shaping/path-memory.ts';
import { type ConcurrencyWindow, createConcurrencyWindow } from './concurrency.ts';
import type { PathState } from './path-states.ts';

export interface PathHealth {
  readonly window: ConcurrencyWindow;
  /** A final reply came. True where that opened the path. */
  succeeded(busy: number, cap: number): boolean;
  /** A connection ended under a message; true where that makes different messages enough to blame the path. */
  lostUnder(messageId: string): boolean;
  /** It closed: what was lost before counts no more. */
  closed(): void;
}

/** Different messages whose connections ended, with no success between. */
const MESSAGES_TO_BLAME = 2;
/** Connections that a path begins with: unknown, or known from a success within a day. */
const UNKNOWN_START = 2;
const KNOWN_START = 5;
const RESUME_AT = 2;
const KNOWN_FOR_MS = 24 * 3_600_000;
/** A success is remembered so often. */
const TOLD_EVERY_MS = 3_600_000;

export function createPathHealth(deps: {
  clock: Clock;
  state: Pick<PathState, 'succeeded' | 'remember'>;
  recalled: Pick<RememberedPath, 'failures' | 'updatedAt'> | null;
  /** A configured relay begins with all it may have. */
  startAt: number | null;
}): PathHealth {
  const { clock, state, recalled } = deps;
  const known =
    recalled !== null && recalled.failures === 0 && clock.now() - recalled.updatedAt < KNOWN_FOR_MS;
  const window = createConcurrencyWindow(deps.startAt ?? (known ? KNOWN_START : UNKNOWN_START));
  const lost = new Set<string>();
  let toldAtMs = Number.NEGATIVE_INFINITY;

  return {
    window,
    succeeded(busy, cap) {
      lost.clear();
      if (state.succeeded()) {
        window.restart(Math.min(deps.startAt ?? RESUME_AT, RESUME_AT));
        return true;
      }
      window.succeeded(busy, cap);
      // Known from now on, also to the next start.
      if (clock.monotonicMs() - toldAtMs >= TOLD_EVERY_MS) {
        toldAtMs = clock.monotonicMs();
        state.remember();
      }
      return false;
    },
    lostUnder(messageId) {
      lost.add(messageId);
      return lost.size >= MESSAGES_TO_BLAME;
    },
    closed: () => lost.clear(),
  };
}
