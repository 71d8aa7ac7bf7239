/**
 * What connects a simulated process to its clock and its store: it ends as by kill -9, stands still, and goes on. In both
 * what is asked for is done, but nobody is told, or only later.
 */
import type { Clock } from '../lib/clock.ts';
import type { Store } from '../store/store.ts';

export type Life = ReturnType<typeof createLife>;

/** Connects a process to its clock and its store; after `end`, neither calls it any more. */
export function createLife(worldClock: Clock) {
  let alive = true;
  let answerMs = () => 0;
  /** What waits while it is paused: what fell due comes first, as in an event loop that goes on. */
  let waiting: { timers: (() => void)[]; answers: (() => void)[] } | null = null;
  const never = new Promise<never>(() => {});
  const clock: Clock = {
    now: () => worldClock.now(),
    monotonicMs: () => worldClock.monotonicMs(),
    setTimer(delayMs, fire) {
      if (!alive) return { cancel() {} };
      let isOver = false;
      const fireOnce = () => {
        if (alive && !isOver) fire();
      };
      const timer = worldClock.setTimer(delayMs, () => {
        if (waiting === null) fireOnce();
        else waiting.timers.push(fireOnce);
      });
      return {
        cancel() {
          isOver = true;
          timer.cancel();
        },
      };
    },
  };
  const whenAwake = (run: () => void): void => {
    if (waiting === null) run();
    else waiting.answers.push(run);
  };
  return {
    clock,
    /** Calls it at once, or when the pause is over. */
    whenAwake,
    get alive() {
      return alive;
    },
    end() {
      alive = false;
    },
    pause() {
      waiting ??= { timers: [], answers: [] };
    },
    resume() {
      const waited = waiting;
      waiting = null;
      for (const run of [...(waited?.timers ?? []), ...(waited?.answers ?? [])]) worldClock.setTimer(0, run);
    },
    /** From now on, answers of the store arrive later, each by what this says. */
    answersAfter(delayMs: () => number) {
      answerMs = delayMs;
    },
    whileAlive(store: Store): Store {
      const later = (): Promise<void> => {
        const ms = answerMs();
        return ms === 0 ? Promise.resolve() : new Promise((resolve) => clock.setTimer(ms, resolve));
      };
      const awake = (): Promise<void> | void => {
        if (waiting !== null) return new Promise<void>((resolve) => whenAwake(resolve)).then(awake);
      };
      return new Proxy(store, {
        get(target, name, receiver) {
          const value: unknown = Reflect.get(target, name, receiver);
          if (typeof value !== 'function' || name === 'writable') return value;
          return (...params: unknown[]) => {
            if (!alive) return never;
            const result: unknown = Reflect.apply(value, target, params);
            // The store may have done what was asked, but a dead process gets no answer.
            if (!(result instanceof Promise)) return result;
            const heard = <Answer>(answer: () => Answer | Promise<never>) =>
              later().then(() => (waiting === null ? answer() : Promise.resolve(awake()).then(answer)));
            return result.then(
              (answer: unknown) => heard(() => (alive ? answer : never)),
              (cause: unknown) => heard(() => (alive ? Promise.reject(cause) : never)),
            );
          };
        },
      });
    },
  };
}
