/**
 * All connections of the process to far ends. Mail to many sites at once would otherwise use up the files that the process may
 * open, or its memory. Where all are in use, the one that has been idle longest is closed for a path that needs one.
 */
import type { ConnectionTotal } from './limits.ts';

export function createConnectionTotal(most: number): ConnectionTotal {
  let open = 0;
  /** Asked to close for others, and still open. */
  const leaving = new Set<object>();
  /** In the order in which they became idle. */
  const idle = new Map<object, () => void>();
  /** Paths, in the order in which they came: with critical mail, and the others. They take turns. */
  const urgent = new Set<() => void>();
  const others = new Set<() => void>();
  let lastWasUrgent = false;

  return {
    most,
    isFull: () => open >= most,
    wait(isUrgent, wake) {
      if (isUrgent) others.delete(wake);
      if (!urgent.has(wake)) (isUrgent ? urgent : others).add(wake);
      closeIdle();
    },
    opened() {
      open += 1;
    },
    ended() {
      open -= 1;
      // What a path needs it takes at once; where it needs none any more, the next is woken.
      for (let wake = next(); wake !== undefined; wake = next()) wake();
      closeIdle();
    },
    rests(link, leave) {
      idle.delete(link);
      idle.set(link, leave);
      closeIdle();
    },
    restsNoMore(link) {
      idle.delete(link);
      leaving.delete(link);
    },
  };

  /** The path whose turn it is, if there is a connection for it. */
  function next(): (() => void) | undefined {
    if (open >= most) return undefined;
    const isUrgent = urgent.size > 0 && (others.size === 0 || !lastWasUrgent);
    const from = isUrgent ? urgent : others;
    const [wake] = from;
    if (wake === undefined) return undefined;
    from.delete(wake);
    lastWasUrgent = isUrgent;
    return wake;
  }

  /** One for each path that waits, as far as there are any. */
  function closeIdle(): void {
    for (const [link, leave] of idle) {
      if (leaving.size >= urgent.size + others.size) return;
      idle.delete(link);
      leaving.add(link);
      leave();
    }
  }
}
