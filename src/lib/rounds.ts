/**
 * Repeats work, each time a fixed pause after the last run has ended, so that runs never overlap. A failure is reported
 * and tried again in the next run. After `stop`, nothing runs.
 */
import type { Clock, Timer } from './clock.ts';
import type { Service } from './service.ts';

/**
 * `start` begins the first run before it returns. `stop` resolves when the run under way has ended; afterwards `start` may
 * be called again, as for a singleton job that returns to a node.
 */
export interface Rounds extends Service {
  /** Between `start` and `stop`; long work asks before each step. */
  isRunning(): boolean;
  stop(): Promise<void>;
}

/**
 * `firstAfterMs`: how long after `start` the first run begins; absent = at once. `failed` gets the reason why a run ended
 * early; it must not throw.
 */
export function createRounds(given: {
  clock: Pick<Clock, 'setTimer'>;
  everyMs: number;
  firstAfterMs?: number;
  work: () => Promise<unknown>;
  failed: (cause: unknown) => void;
}): Rounds {
  const { clock, everyMs, firstAfterMs, work, failed } = given;
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
    async start() {
      running = true;
      if (firstAfterMs === undefined) round();
      else timer = clock.setTimer(firstAfterMs, round);
    },
    isRunning: () => running,
    async stop() {
      running = false;
      timer?.cancel();
      await working;
    },
  };
}
