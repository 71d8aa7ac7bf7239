/**
 * Turns of the event loop: long work that is made of many small steps lets everybody else have a turn between two of them.
 * Given a clock and how long one turn may work, leaves a function to be awaited between steps, which costs next to nothing
 * while the turn is young.
 */
import type { Clock } from './clock.ts';

/** Resolves at once, or after everybody else who is ready has had a turn. */
export type Turn = () => Promise<void> | undefined;

/** Runs `work` once what has come from outside by now has been read. */
export function afterInput(work: () => void): void {
  setImmediate(work);
}

/** For one piece of work; its first turn begins now. */
export function createTurns(clock: Pick<Clock, 'monotonicMs'>, workMs = 8): Turn {
  let beganMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - beganMs < workMs) return undefined;
    return new Promise((resolve) => {
      setImmediate(() => {
        beganMs = clock.monotonicMs();
        resolve();
      });
    });
  };
}
