/**
 * All connections of the process to far ends. Mail to many sites at once would otherwise use up the files that the process may
 * open, or its memory. Where all are in use, the one that has been idle longest is closed for a path that needs one.
 */
import type { Lane } from '../../../model/message.ts';
import { type ConnectionTotal, laneSlots } from './limits.ts';

const HIGHEST_FIRST: readonly Lane[] = ['critical', 'normal', 'bulk'];

export function createConnectionTotal(most: number): ConnectionTotal {
  let open = 0;
  /** Asked to close for others, and still open. */
  const leaving = new Set<object>();
  /** In the order in which they became idle. */
  const idle = new Map<object, () => void>();
  const waiting: Readonly<Record<Lane, Set<() => void>>> = {
    critical: new Set(),
    normal: new Set(),
    bulk: new Set(),
  };

  return {
    most,
    hasRoom(lane, wake) {
      if (open < laneSlots(lane, most)) return true;
      waiting[lane].add(wake);
      closeOne();
      return false;
    },
    opened() {
      open += 1;
    },
    ended() {
      open -= 1;
      for (const lane of HIGHEST_FIRST) {
        for (const wake of waiting[lane]) {
          if (open >= laneSlots(lane, most)) break;
          waiting[lane].delete(wake);
          // What it needs it takes at once; where it needs none any more, the next is woken.
          wake();
        }
      }
    },
    rests(link, leave) {
      idle.delete(link);
      idle.set(link, leave);
      if (HIGHEST_FIRST.some((lane) => waiting[lane].size > 0)) closeOne();
    },
    restsNoMore(link) {
      idle.delete(link);
      leaving.delete(link);
    },
  };

  /** One for each path that waits. */
  function closeOne(): void {
    const wanted = HIGHEST_FIRST.reduce((sum, lane) => sum + waiting[lane].size, 0);
    const [oldest] = idle;
    if (oldest === undefined || leaving.size >= wanted) return;
    const [link, leave] = oldest;
    idle.delete(link);
    leaving.add(link);
    leave();
  }
}
