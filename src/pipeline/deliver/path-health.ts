/**
 * Whether a path works: its breaker and its concurrency window (delivery.md §4.3).
 *
 *   closed ──failed──► open(until) ──time──► half-open ──success──► closed, with a small window
 *                          ▲                     │
 *                          └──────failed─────────┘   each time for longer
 *
 * A message alone never opens it: connections that end under a message count by the messages they met. Remembers what
 * it came to over a restart. Nothing here touches the network.
 */
import type { Clock } from '../../lib/clock.ts';
import type { PathMemory } from '../../policy/limits/shaping/path-memory.ts';
import { type ConcurrencyWindow, createConcurrencyWindow } from './concurrency.ts';
import type { BreakerState } from './path-state.ts';
import type { Volume } from './path-volume.ts';

export interface PathHealth {
  readonly window: ConcurrencyWindow;
  breaker(): BreakerState;
  /** Failures in a row that opened it. */
  readonly failures: number;
  /** Keeps what it has come to. */
  remember(): void;
  /** Nothing goes until then. */
  open(until: number, reason: string): void;
  /** Its time is over: one message finds out. */
  halfOpen(): void;
  /** A final reply came. True where that closed the breaker. */
  succeeded(busy: number, cap: number): boolean;
  /** A connection ended under a message; true where that makes different messages enough to blame the path. */
  lostUnder(messageId: string): boolean;
  /** When it opened last; critical mail asks again a minute after. */
  readonly openedAt: number;
  readonly reason: string;
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
  memory: Pick<PathMemory, 'recall' | 'remember'>;
  source: string;
  site: string;
  /** A configured relay begins with all it may have. */
  startAt: number | null;
  /** What it got through, to be kept with the rest. */
  volume(): Volume;
}): PathHealth {
  const { clock, memory, source, site } = deps;
  const recalled = memory.recall(source, site);
  const known =
    recalled !== null && recalled.failures === 0 && clock.now() - recalled.updatedAt < KNOWN_FOR_MS;
  const window = createConcurrencyWindow(deps.startAt ?? (known ? KNOWN_START : UNKNOWN_START));
  const lost = new Set<string>();
  let failures = recalled?.failures ?? 0;
  let until: number | null = recalled?.blockedUntil ?? null;
  let reason = recalled?.reason ?? '';
  let probing = false;
  let toldAtMs = Number.NEGATIVE_INFINITY;
  let openedAt = clock.now();

  const remember = (): void => {
    const state = { source, site, blockedUntil: until, reason, failures, concurrency: window.size };
    memory.remember({ ...state, ...deps.volume() });
  };

  return {
    window,
    remember,
    breaker() {
      if (until !== null) return { kind: 'open', until, failures };
      return probing ? { kind: 'half-open', failures } : { kind: 'closed' };
    },
    get failures() {
      return failures;
    },
    open(at, why) {
      // Only what adds to the failures began anew: a time brought forward is the same pause.
      if (until === null) {
        failures += 1;
        openedAt = clock.now();
      }
      until = at;
      reason = why;
      probing = false;
      lost.clear();
      remember();
    },
    halfOpen() {
      if (until === null) return;
      until = null;
      probing = true;
    },
    succeeded(busy, cap) {
      lost.clear();
      const closes = probing || failures > 0;
      if (closes) {
        probing = false;
        failures = 0;
        reason = '';
        window.restart(Math.min(deps.startAt ?? RESUME_AT, RESUME_AT));
        remember();
      } else {
        window.succeeded(busy, cap);
        // Known from now on, also to the next start.
        if (clock.monotonicMs() - toldAtMs >= TOLD_EVERY_MS) {
          toldAtMs = clock.monotonicMs();
          remember();
        }
      }
      return closes;
    },
    lostUnder(messageId) {
      lost.add(messageId);
      return lost.size >= MESSAGES_TO_BLAME;
    },
    get openedAt() {
      return openedAt;
    },
    get reason() {
      return reason;
    },
  };
}
