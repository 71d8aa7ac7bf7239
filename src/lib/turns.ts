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

/** For one piece of work; its first turn begins now. `rest`: what it waits for between two turns. */
export function createTurns(clock: Pick<Clock, 'monotonicMs'>, rest = nextTurn): Turn {
  let beganMs = clock.monotonicMs();
  return () => {
    if (clock.monotonicMs() - beganMs < WORK_MS) return undefined;
    return rest().then(() => {
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

export interface FairTurns {
  /** Runs `work` of `owner` now, or when it is the turn of `owner`. */
  (owner: string, work: () => void): void;
  /** A connection came in. */
  arrived(): void;
}

/**
 * For work of many owners that starts at once. What does not fit into this turn of the event loop waits: then one piece of each
 * owner is begun after the other, so that nobody waits for all that another one has brought. A piece counts with all that
 * follows from it without input. The event loop takes one new connection each time it looks for input, so while they come, it
 * looks again before it works on, once for each millisecond that it has worked: who is connected hardly waits for them.
 */
export function createFairTurns(clock: Pick<Clock, 'monotonicMs'>): FairTurns {
  const waiting = new Map<string, (() => void)[]>();
  /** When the turn that runs began; null: nothing was begun in it. */
  let beganMs: number | null = null;
  /** A connection came since the last look. */
  let hasArrived = false;
  /** How often it may look again before it works on; null: it works. */
  let looks: number | null = null;

  return Object.assign(turns, {
    arrived() {
      hasArrived = true;
    },
  });

  function turns(owner: string, work: () => void): void {
    if (beganMs === null) {
      beganMs = clock.monotonicMs();
      setImmediate(begin);
    }
    const isOver = looks !== null || clock.monotonicMs() >= beganMs + WORK_MS;
    const pieces = waiting.get(owner);
    if (pieces !== undefined) pieces.push(work);
    else if (waiting.size > 0 || isOver) waiting.set(owner, [work]);
    else work();
  }

  function begin(): void {
    const nowMs = clock.monotonicMs();
    looks ??= Math.ceil(Math.min(nowMs - (beganMs ?? nowMs), WORK_MS));
    if (hasArrived && looks > 0) {
      hasArrived = false;
      looks -= 1;
      setImmediate(begin);
      return;
    }
    hasArrived = false;
    looks = null;
    beganMs = waiting.size === 0 ? null : nowMs;
    if (beganMs !== null) goOn(beganMs + WORK_MS);
  }

  function goOn(untilMs: number): void {
    const [first] = waiting;
    if (first === undefined || clock.monotonicMs() >= untilMs) {
      setImmediate(begin);
      return;
    }
    const [owner, pieces] = first;
    const work = pieces.shift();
    waiting.delete(owner);
    if (pieces.length > 0) waiting.set(owner, pieces);
    // A tick comes after all microtasks.
    queueMicrotask(() => process.nextTick(goOn, untilMs));
    work?.();
  }
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
