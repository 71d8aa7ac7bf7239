/**
 * Waiting for news inside a request: until something was stored, until a time is up, or until nobody wants the answer
 * any more (the client went, the listener stops). Given a signal, a clock and what ends the request; leaves nothing
 * behind once closed. News that come between two waits are not lost: the next wait ends at once.
 */
import type { Clock } from '../../../lib/clock.ts';

export interface ChangeWaiter {
  /** Resolves at the first of: news, `maxMs` over, the end. Called one at a time. */
  next(maxMs: number): Promise<'changed' | 'time' | 'ended'>;
  close(): void;
}

/** A waiter that listens from now on. */
export function createChangeWaiter(deps: {
  subscribe(listener: () => void): () => void;
  clock: Clock;
  ended: AbortSignal;
}): ChangeWaiter {
  const { clock, ended } = deps;
  let changed = false;
  let wake: (() => void) | null = null;
  const onEnd = () => wake?.();
  const leave = deps.subscribe(() => {
    changed = true;
    wake?.();
  });
  ended.addEventListener('abort', onEnd);

  return {
    async next(maxMs) {
      if (!changed && !ended.aborted) {
        await new Promise<void>((resolve) => {
          const timer = clock.setTimer(maxMs, resolve);
          wake = () => {
            timer.cancel();
            resolve();
          };
        });
        wake = null;
      }
      if (ended.aborted) return 'ended';
      const why = changed ? 'changed' : 'time';
      changed = false;
      return why;
    },
    close() {
      leave();
      ended.removeEventListener('abort', onEnd);
    },
  };
}
