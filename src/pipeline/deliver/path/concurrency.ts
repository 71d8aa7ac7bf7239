/**
 * How many connections experience allows towards one path: the window grows by one after a whole
 * window's worth of successes, shrinks by one at the first of a series of failures, and a whole window's worth of
 * failures without a success between them (a cohort) means that the far end is gone. Pure.
 */

export interface ConcurrencyWindow {
  /** Connections that may be used at a time, ≥ the floor. */
  size(): number;
  /** A final reply came, whatever it said. `busy`: connections in use; an unused window earns nothing. */
  succeeded(busy: number, cap: number): void;
  /** A connection could not be had, or was one too many. True: the whole cohort failed. */
  failed(): boolean;
  /** Begins again at `size`, as after a pause. */
  restart(size: number): void;
}

/** `floor`: it is never smaller, ≥ 1. */
export function createConcurrencyWindow(initial: number, floor = 1): ConcurrencyWindow {
  let size = Math.max(floor, Math.floor(initial));
  let success = 0;
  /** Below zero the window shrinks: the first failure of a series does it, then every `size`-th. */
  let failure = 0;
  let cohort = 0;
  return {
    size() {
      return size;
    },
    succeeded(busy, cap) {
      cohort = 0;
      if (size >= cap || size >= busy + 2) return;
      success += 1 / size;
      // A third of an eighth is not an eighth of a third: leave room for rounding.
      if (success < 1 - 1e-9) return;
      success = 0;
      failure = 0;
      size += 1;
    },
    failed() {
      const share = 1 / size;
      cohort += share;
      failure -= share;
      if (failure < 0) {
        failure += 1;
        success = 0;
        size = Math.max(floor, size - 1);
      }
      return cohort > 1;
    },
    restart(next) {
      size = Math.max(floor, Math.floor(next));
      success = 0;
      failure = 0;
      cohort = 0;
    },
  };
}
