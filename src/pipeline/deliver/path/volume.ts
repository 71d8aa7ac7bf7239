/**
 * How many messages a path sent today and yesterday (UTC), by which small sites are recognised. Counted in memory and
 * stored with the path's state: whenever the count has doubled, with other changes of the path, and when the path
 * stops; a crash loses what was counted since.
 */
import type { Clock } from '../../../lib/clock.ts';
import type { PathState } from '../../../policy/limits/shaping/path-memory.ts';

/** The counts as stored with the path's state. */
type Volume = Pick<PathState, 'day' | 'sent' | 'sentBefore'>;

/** The count of one path. */
interface PathVolume {
  /** A message was accepted. Returns true if the count should be stored now. */
  took(): boolean;
  /** Messages of today or of yesterday, whichever is more. */
  lastDay(): number;
  /** As it is kept. */
  state(): Volume;
}

const DAY_MS = 86_400_000;
/** Below this a count is only stored together with other changes. */
const KEPT_FROM = 32;

/** `recalled`: the stored counts, or null. */
export function createPathVolume(clock: Pick<Clock, 'now'>, recalled: Volume | null): PathVolume {
  let { day, sent, sentBefore } = recalled ?? { day: 0, sent: 0, sentBefore: 0 };

  /** If the clock is set back, the current day continues. */
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
    lastDay() {
      turn();
      return Math.max(sent, sentBefore);
    },
    state() {
      turn();
      return { day, sent, sentBefore };
    },
  };
}
