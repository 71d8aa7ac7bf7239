/**
 * Writes values behind whoever changes them: of each key only the last value counts, one write is under way at a time,
 * and what fails is tried again after a while together with what came meanwhile. Given a function that stores a list;
 * leaves nothing unwritten once `flush` has resolved with true.
 */
import type { Clock, Timer } from './clock.ts';

export interface WriteBehind<Value> {
  put(key: string, value: Value): void;
  /** Forgets a value that is not under way yet. */
  drop(key: string): void;
  /** Writes what is left, at once and once; false where that failed. Nothing is tried again by itself afterwards. */
  flush(): Promise<boolean>;
}

const RETRY_MS = 1_000;

/** `failed` hears of the first failure in a row only. */
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
    writing ??= run().then((done) => {
      writing = null;
      return done;
    });
    return writing;
  }

  async function run(): Promise<boolean> {
    // What changes in this turn goes together.
    await Promise.resolve();
    while (waiting.size > 0) {
      const batch = waiting;
      waiting = new Map();
      try {
        await write([...batch.values()]);
        failing = false;
      } catch (cause) {
        // What came meanwhile is newer.
        waiting = new Map([...batch, ...waiting]);
        if (!failing) failed(cause);
        failing = true;
        if (!ended) {
          retryTimer = clock.setTimer(RETRY_MS, () => {
            retryTimer = null;
            void start();
          });
        }
        return false;
      }
    }
    return true;
  }
}
