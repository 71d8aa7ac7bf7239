/** Work that others may ask for as often as they like: done at once, and again at most every so often. */
import type { Clock } from './clock.ts';

/** What was asked meanwhile is done when the time is over, once. */
export function paced(clock: Pick<Clock, 'setTimer'>, everyMs: number, work: () => void): () => void {
  let resting = false;
  let asked = false;
  return function ask() {
    if (resting) {
      asked = true;
      return;
    }
    resting = true;
    asked = false;
    clock.setTimer(everyMs, () => {
      resting = false;
      if (asked) ask();
    });
    work();
  };
}
