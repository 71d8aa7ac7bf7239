/**
 * What was observed of a path: how many connections it supports, and whether one of its hosts loses messages. One
 * message or a few recipients are not enough: lost connections are counted by the messages they carried and compared
 * with answered ones, per host. Whether the path is blocked is its state (states.ts). Does not use the network.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { RememberedPath } from '../../../policy/limits/shaping/path-memory.ts';
import { type ConcurrencyWindow, createConcurrencyWindow } from './concurrency.ts';
import type { PathState } from './states.ts';

export interface PathHealth {
  readonly window: ConcurrencyWindow;
  /** A final reply came from a host. Returns true if that ended a failure of the path. */
  succeeded(host: string, busy: number, cap: number): boolean;
  /** A connection to a host ended during a message; returns true if the host loses so many that it is at fault. */
  lostUnder(host: string, messageId: string): boolean;
  /**
   * Of this many connections that hang, how many do not count towards a limit: a few, and as many as others were
   * answered.
   */
  excuses(hanging: number): number;
  /** The path failed: earlier losses no longer count. */
  tripped(): void;
}

/**
 * Different messages whose connections ended; fewer are needed when the path has just failed and tests with single
 * messages.
 */
const MESSAGES_TO_BLAME = 5;
const PROBES_TO_BLAME = 2;
/** The last transactions within this time are examined. */
const LOOKED_AT = 20;
const LOOKED_BACK_MS = 5 * 60_000;
/** Connections with which a path begins: unknown, or with a success within the last day. */
const UNKNOWN_START = 2;
const KNOWN_START = 5;
const RESUME_AT = 2;
/** The share of its connections that a relay always keeps, because it belongs to the operator. */
const RELAY_FLOOR = 1 / 4;
const KNOWN_FOR_MS = 24 * 3_600_000;
/** A success is stored this often. */
const TOLD_EVERY_MS = 3_600_000;

export function createPathHealth(deps: {
  clock: Clock;
  state: Pick<PathState, 'succeeded' | 'remember' | 'breaker'>;
  recalled: Pick<RememberedPath, 'failures' | 'updatedAt'> | null;
  /** A configured relay begins with all allowed connections. */
  startAt: number | null;
}): PathHealth {
  const { clock, state, recalled } = deps;
  const known =
    recalled !== null && recalled.failures === 0 && clock.now() - recalled.updatedAt < KNOWN_FOR_MS;
  const floor = deps.startAt === null ? 1 : Math.ceil(deps.startAt * RELAY_FLOOR);
  const window = createConcurrencyWindow(
    deps.startAt ?? (known ? KNOWN_START : UNKNOWN_START),
    Math.max(1, floor),
    // A relay belongs to the operator.
    deps.startAt !== null,
  );
  /** The last transactions, as a ring. `lost`: the message whose connection ended; null = it was answered. */
  const last: { host: string; lost: string | null; atMs: number }[] = [];
  let at = 0;
  let toldAtMs = Number.NEGATIVE_INFINITY;

  return {
    window,
    succeeded(host, busy, cap) {
      note(host, null);
      if (state.succeeded()) {
        window.restart(Math.min(deps.startAt ?? RESUME_AT, RESUME_AT));
        return true;
      }
      window.succeeded(busy, cap);
      // From now on the path is known, also after a restart.
      if (clock.monotonicMs() - toldAtMs >= TOLD_EVERY_MS) {
        toldAtMs = clock.monotonicMs();
        state.remember();
      }
      return false;
    },
    lostUnder(host, messageId) {
      note(host, messageId);
      const lost = new Set<string>();
      let answered = 0;
      for (const one of last) {
        if (one.host !== host || clock.monotonicMs() - one.atMs > LOOKED_BACK_MS) continue;
        if (one.lost === null) answered += 1;
        else lost.add(one.lost);
      }
      const enough = state.breaker().kind === 'half-open' ? PROBES_TO_BLAME : MESSAGES_TO_BLAME;
      return lost.size >= enough && lost.size > answered;
    },
    excuses(hanging) {
      if (hanging <= MESSAGES_TO_BLAME) return hanging;
      // A far end that answers nobody would get as many as allowed, and each may become a duplicate.
      let answered = 0;
      for (const one of last)
        if (one.lost === null && clock.monotonicMs() - one.atMs <= LOOKED_BACK_MS) answered += 1;
      return Math.min(hanging, MESSAGES_TO_BLAME + answered);
    },
    tripped() {
      last.length = 0;
      at = 0;
    },
  };

  function note(host: string, lost: string | null): void {
    last[at] = { host, lost, atMs: clock.monotonicMs() };
    at = (at + 1) % LOOKED_AT;
  }
}
