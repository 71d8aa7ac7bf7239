/**
 * Work that is done again and again: at once, and then each time so long after the last time ended, so that a slow one
 * is never overtaken by the next. What fails is told and tried again at the next time. Given a clock and the work,
 * leaves nothing running after `end`.
 */
import type { Clock, Timer } from './clock.ts';

/** Begun and ended in turn; begun again only after an end has resolved, as a duty does that comes back to a node. */
export interface Rounds {
  begin(): void;
  /** Between `begin` and `end`: long work asks before each step. */
  isRunning(): boolean;
  /** Begins no further round and resolves when the one under way has ended. */
  end(): Promise<void>;
}

/** `failed` is told why a round ended early; it must not throw. */
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
