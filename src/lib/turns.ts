/**
 * Divides long work that consists of many small steps, so that other work can run between them. Takes a clock; returns a
 * function to await between steps, which costs almost nothing while the time of one turn of the event loop is not over.
 */
import type { Clock } from './clock.ts';

/** Resolves at once, or after all other ready work has had a turn. */
export type Turn = () => Promise<void> | undefined;

/** Runs `work` after all input that has arrived by now was read. */
export function afterInput(work: () => void): void {
  // The first immediate runs before the event loop polls for input again, so a second one is needed.
  setImmediate(() => setImmediate(work));
}

/** Resolves after all other ready work has had a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** How long one turn of the event loop may work. */
const WORK_MS = 8;

/** For one piece of work; its first turn begins now. */
export function createTurns(clock: Pick<Clock, 'monotonicMs'>): Turn {
  let beganMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - beganMs < WORK_MS) return undefined;
    return nextTurn().then(() => {
      beganMs = clock.monotonicMs();
    });
  };
}

/**
 * The same for many pieces of work that start at once: each awaits its turn once, and as many as fit into one turn of
 * the event loop start in it. A piece that got its turn works on without waiting.
 */
export function createSharedTurns(clock: Pick<Clock, 'monotonicMs'>): () => Promise<void> {
  const turn = createTurns(clock);
  let last: Promise<void> = Promise.resolve();
  return () => {
    last = last.then(turn);
    return last;
  };
}

/** Runs work in steps, and lets other work run between two steps if it has worked long enough. */
export async function inTurns<Result>(steps: Generator<void, Result, void>, turn: Turn): Promise<Result> {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
    const rest = turn();
    if (rest !== undefined) await rest;
  }
}

/** Runs work in steps without a pause. */
export function inOneGo<Result>(steps: Generator<void, Result, void>): Result {
  for (;;) {
    const { done, value } = steps.next();
    if (done === true) return value;
  }
}
