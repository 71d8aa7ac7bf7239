/**
 * How many connections to one path have proved possible: the window usually grows by one after a whole window of successes,
 * shrinks by one at the first failure of a series, and a whole window of failures without a success in between (a
 * cohort) means that the far end is down.
 */

export interface ConcurrencyWindow {
  /** Connections that may be used concurrently, at least the floor. */
  size(): number;
  /** A final reply came, whatever it said. `busy`: connections in use; the window grows only if it is fully used. */
  succeeded(busy: number, cap: number): void;
  /** A connection could not be opened, or was one too many. Returns true if the whole cohort failed. */
  failed(): boolean;
  /** Starts again at `size`, as after a pause. */
  restart(size: number): void;
}

/**
 * `floor`: the minimum size, at least 1. `bold`: until the first failure it grows by one with each success, so that it doubles with
 * every round trip.
 */
export function createConcurrencyWindow(initial: number, floor = 1, bold = false): ConcurrencyWindow {
  let size = Math.max(floor, Math.floor(initial));
  let success = 0;
  /** Below zero the window shrinks: at the first failure of a series, then at every `size`-th. */
  let failure = 0;
  let cohort = 0;
  let hasFailed = false;
  return {
    size: () => size,
    succeeded(busy, cap) {
      cohort = 0;
      if (size >= cap || size >= busy + 2) return;
      success += bold && !hasFailed ? 1 : 1 / size;
      // Tolerance for rounding: adding eighths may not give exactly one.
      if (success < 1 - 1e-9) return;
      success = 0;
      failure = 0;
      size += 1;
    },
    failed() {
      hasFailed = true;
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
