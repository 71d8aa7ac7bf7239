/**
 * Waits for changes inside a request: until something was stored, a time has passed, or the answer is no longer wanted
 * (the client disconnected, the listener stops). A change between two waits is not lost: the next wait ends at once.
 */
import type { Clock } from '../../../lib/clock.ts';

export interface ChangeWaiter {
  /** Resolves at the first of: a change, `maxMs`, the end. One call at a time. */
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
