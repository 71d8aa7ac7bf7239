/**
 * Connections that several paths share: all of the process, so that mail to many sites does not use up the files that it may
 * open, or its memory; and those to one address (address-connections.ts). Where all are in use, the one that has been idle longest
 * is closed for a path that needs one.
 */
import type { ConnectionTotal } from './limits.ts';

export function createConnectionTotal(most: number): ConnectionTotal {
  let open = 0;
  /** Asked to close for others, and still open. */
  const leaving = new Set<object>();
  /** In the order in which they became idle. */
  const idle = new Map<object, () => void>();
  /** Paths with what each may open, in the order in which they came: with critical mail, and the others. They take turns. */
  const urgent = new Map<() => void, number>();
  const others = new Map<() => void, number>();
  let lastWasUrgent = false;

  return {
    most,
    isFull: (allowed = most) => open >= allowed,
    isUnused: () => open === 0,
    wait(isUrgent, wake, allowed = most) {
      if (isUrgent) others.delete(wake);
      if (!urgent.has(wake)) (isUrgent ? urgent : others).set(wake, allowed);
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
    const critical = firstOf(urgent);
    const other = firstOf(others);
    const isUrgent = critical !== undefined && (other === undefined || !lastWasUrgent);
    const wake = isUrgent ? critical : other;
    if (wake === undefined) return undefined;
    (isUrgent ? urgent : others).delete(wake);
    lastWasUrgent = isUrgent;
    return wake;
  }

  function firstOf(waiting: ReadonlyMap<() => void, number>): (() => void) | undefined {
    for (const [wake, allowed] of waiting) if (open < allowed) return wake;
    return undefined;
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
