/**
 * Writes changed values in the background: only the last value of each key counts, one write runs at a time, and failed
 * values are tried again after a pause together with newer ones. Takes a function that stores a list; nothing is
 * unwritten once `flush` has resolved with true.
 */
import type { Clock, Timer } from './clock.ts';

export interface WriteBehind<Value> {
  put(key: string, value: Value): void;
  /** Drops a value that is not being written yet. */
  drop(key: string): void;
  /** Writes the rest once, immediately; false if that failed. Nothing is tried again afterwards. */
  flush(): Promise<boolean>;
}

const RETRY_MS = 1_000;

/** `failed` is called only for the first failure in a row. */
export function createWriteBehind<Value>(
  clock: Clock,
  write: (values: readonly Value[]) => Promise<void>,
  failed: (cause: unknown) => void,
): WriteBehind<Value> {
  let waiting = new Map<string, Value>();
  let writing: Promise<boolean> | null = null;
  let retryTimer: Timer | null = null;
  let failing = false;
  let ended = false;

  return {
    put(key, value) {
      waiting.set(key, value);
      if (retryTimer === null && !ended) void start();
    },
    drop(key) {
      waiting.delete(key);
    },
    async flush() {
      ended = true;
      retryTimer?.cancel();
      retryTimer = null;
      await writing;
      return waiting.size === 0 ? true : start();
    },
  };

  function start(): Promise<boolean> {
    writing ??= run();
    return writing;
  }

  /** Clears `writing` itself, at the moment at which it finds nothing left: a `put` a microtask later starts it anew. */
  async function run(): Promise<boolean> {
    // Values changed in the same turn are written together.
    await Promise.resolve();
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        await write([...batch.values()]);
        failing = false;
      } catch (cause) {
        // Newer values replace those that failed.
        waiting = new Map([...batch, ...waiting]);
        if (!failing) failed(cause);
        failing = true;
        if (!ended) {
          retryTimer = clock.setTimer(RETRY_MS, () => {
            retryTimer = null;
            void start();
          });
        }
        writing = null;
        return false;
      }
    }
    writing = null;
    return true;
  }
}
