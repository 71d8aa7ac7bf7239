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
  // Among the input of one turn of the loop the first immediate comes before the next look at what has arrived.
  setImmediate(() => setImmediate(work));
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

/**
 * The same for many pieces of work that are begun at once: each awaits its turn once, and they begin one after the other, as
 * many in one turn of the loop as fit into it. Whoever was given its turn works on without waiting for anything.
 */
export function createSharedTurns(clock: Pick<Clock, 'monotonicMs'>, workMs = 8): () => Promise<void> {
  const turn = createTurns(clock, workMs);
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(turn);
    return last;
  };
}

/** Goes through work in steps, with a turn for others between two of them where this one has worked long enough. */
export async function inTurns<Result>(steps: Generator<void, Result, void>, turn: Turn): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const rest = turn();
    if (rest !== undefined) await rest;
  }
}
