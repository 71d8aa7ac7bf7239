/**
 * A clock that stands still until somebody moves it, so that days go by in milliseconds and every run is the same.
 * `advance` fires due timers in order of their time (those of equal time in order of setting), and lets everything
 * that waited on each of them run before the next one fires. Wall time can jump while monotonic time does not.
 */
import type { Clock } from './clock.ts';

export interface VirtualClock extends Clock {
  /** Moves both times on by `ms`, firing what falls due, including timers set meanwhile. */
  advance(ms: number): Promise<void>;
  /** Sets wall time only, as an administrator or NTP would. */
  jumpWallTo(epochMs: number): void;
  /** Timers waiting now. */
  pendingTimers(): number;
}

interface Pending {
  dueMs: number;
  sequence: number;
  fire: () => void;
  isCancelled: boolean;
}

/**
 * A clock at wall time `startMs` (epoch milliseconds) and monotonic zero. `turns`: of the event loop, in which everything
 * that waited on a timer has run; more than one where Node itself takes several, as over TLS, and asked for after each.
 */
export function createVirtualClock(startMs = 1_800_000_000_000, turns = () => 1): VirtualClock {
  const heap: Pending[] = [];
  let monotonicMs = 0;
  let wallOffsetMs = startMs;
  let sequence = 0;
  let waiting = 0;

  function next(): Pending | undefined {
    while (heap[0]?.isCancelled) pop(heap);
    return heap[0];
  }

  async function settle(): Promise<void> {
    await turn();
    for (let i = 1; i < turns(); i++) await turn();
  }

  async function fireUntil(targetMs: number): Promise<void> {
    // What was started before the call may still have to set its timer.
    await settle();
    for (;;) {
      const timer = next();
      if (!timer || timer.dueMs > targetMs) break;
      pop(heap);
      waiting--;
      monotonicMs = Math.max(monotonicMs, timer.dueMs);
      timer.isCancelled = true;
      timer.fire();
      await settle();
    }
    monotonicMs = Math.max(monotonicMs, targetMs);
  }

  return {
    now: () => Math.floor(wallOffsetMs + monotonicMs),
    monotonicMs: () => monotonicMs,
    setTimer(delayMs, fire) {
      const timer: Pending = {
        dueMs: monotonicMs + Math.max(0, delayMs),
        sequence: sequence++,
        fire,
        isCancelled: false,
      };
      waiting++;
      push(heap, timer);
      return {
        cancel() {
          if (timer.isCancelled) return;
          timer.isCancelled = true;
          waiting--;
        },
      };
    },
    advance: (ms) => fireUntil(monotonicMs + ms),
    jumpWallTo(epochMs) {
      wallOffsetMs = epochMs - monotonicMs;
    },
    pendingTimers: () => waiting,
  };
}

/** One turn of the event loop: every microtask has run by then, however long the chain. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

function isBefore(a: Pending, b: Pending): boolean {
  return a.dueMs < b.dueMs || (a.dueMs === b.dueMs && a.sequence < b.sequence);
}

function push(heap: Pending[], timer: Pending): void {
  let at = heap.length;
  heap.push(timer);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    const above = heap[parent];
    if (above === undefined || !isBefore(timer, above)) break;
    heap[at] = above;
    at = parent;
  }
  heap[at] = timer;
}

function pop(heap: Pending[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let at = 0;
  for (;;) {
    const left = at * 2 + 1;
    const [first, second] = [heap[left], heap[left + 1]];
    const [child, below] =
      second !== undefined && first !== undefined && isBefore(second, first)
        ? [left + 1, second]
        : [left, first];
    if (below === undefined || !isBefore(below, last)) break;
    heap[at] = below;
    at = child;
  }
  heap[at] = last;
}
