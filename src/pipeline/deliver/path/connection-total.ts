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
      closeOne();
    },
    restsNoMore(link) {
      idle.delete(link);
      leaving.delete(link);
    },
  };

  /** One for each path that waits, if any is idle. */
  function closeOne(): void {
    const { critical, normal, bulk } = waiting;
    if (leaving.size >= critical.size + normal.size + bulk.size) return;
    const [oldest] = idle;
    if (oldest === undefined) return;
    const [link, leave] = oldest;
    idle.delete(link);
    leaving.add(link);
    leave();
  }
}
