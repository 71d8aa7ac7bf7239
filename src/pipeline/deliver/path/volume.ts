/**
 * How many messages a path got through today and yesterday (UTC), which is what tells a small site from others. Counted in memory and kept with the path's state: at every doubling, with whatever else is kept of
 * the path, and when the path stops; a crash forgets at most what came since.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { PathState } from '../../../policy/limits/shaping/path-memory.ts';

/** The counts as they are kept with the path's state. */
export type Volume = Pick<PathState, 'day' | 'sent' | 'sentBefore'>;

/** The count of one path. */
export interface PathVolume {
  /** A message was taken. True where the count is worth keeping now. */
  took(): boolean;
  /** Messages of today or of yesterday, whichever were more. */
  readonly lastDay: number;
  /** As it is kept. */
  state(): Volume;
}

const DAY_MS = 86_400_000;
/** Below this a count is kept when something else is. */
const KEPT_FROM = 32;

/** `recalled`: what was kept, or null. */
export function createPathVolume(clock: Pick<Clock, 'now'>, recalled: Volume | null): PathVolume {
  let { day, sent, sentBefore } = recalled ?? { day: 0, sent: 0, sentBefore: 0 };

  /** A clock that is set back counts on with the day it was. */
  function turn(): void {
    const today = Math.floor(clock.now() / DAY_MS);
    if (today <= day) return;
    sentBefore = today === day + 1 ? sent : 0;
    sent = 0;
    day = today;
  }

  return {
    took() {
      turn();
      sent += 1;
      return sent >= KEPT_FROM && (sent & (sent - 1)) === 0;
    },
    get lastDay() {
      turn();
      return Math.max(sent, sentBefore);
    },
    state() {
      turn();
      return { day, sent, sentBefore };
    },
  };
}
