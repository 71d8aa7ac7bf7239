/**
 * Repeats work: immediately, and then each time a fixed pause after the last run has ended, so that runs never overlap.
 * A failure is reported and tried again in the next run. After `end`, nothing runs.
 */
import type { Clock, Timer } from './clock.ts';

/**
 * `begin` and `end` alternate; `begin` may be called again after `end` has resolved, as for a singleton job that
 * returns to a node.
 */
export interface Rounds {
  begin(): void;
  /** Between `begin` and `end`; long work asks before each step. */
  isRunning(): boolean;
  /** Starts no further run and resolves when the current one has ended. */
  end(): Promise<void>;
}

/** `failed` gets the reason why a run ended early; it must not throw. */
export function createRounds(given: {
  clock: Pick<Clock, 'setTimer'>;
  everyMs: number;
  work: () => Promise<void>;
  failed: (cause: unknown) => void;
}): Rounds {
  const { clock, everyMs, work, failed } = given;
  let timer: Timer | null = null;
  let working: Promise<void> = Promise.resolve();
  let running = false;
  const round = (): void => {
    working = work()
      .catch(failed)
      .then(() => {
        if (running) timer = clock.setTimer(everyMs, round);
      });
  };
  return {
    begin() {
      running = true;
      round();
    },
    isRunning: () => running,
    async end() {
      running = false;
      timer?.cancel();
      await working;
    },
  };
}
