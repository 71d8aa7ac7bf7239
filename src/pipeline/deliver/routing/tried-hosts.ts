/**
 * Which addresses of a path were met in vain, so that the next attempt goes on with the others: a domain whose first
 * hosts answer and refuse us is not asked by ever the same two. Given what failed and what opened; remembers until
 * something opens, or until all of what there is has had its turn. One that takes connections and loses messages comes
 * last for a time, whatever opens. In memory, bounded.
 */

import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';

/** An address as an attempt meets it. */
interface Met {
  address: string;
  port: number;
}

/** The addresses of one path that were met in vain. */
export interface TriedHosts {
  has(met: Met): boolean;
  failed(met: Met): void;
  /** What DNS or the operator names at this time. */
  offered(all: readonly Met[]): void;
  /** It loses messages: for a time it comes last. False where nothing else is left. */
  avoid(met: Met): boolean;
  /** Something opened, or everybody had a turn: it begins with the best again. */
  clear(): void;
}

const MOST = 256;
const AVOIDED_MS = 10 * 60_000;

/** One for each path. */
export function createTriedHosts(clock: Pick<Clock, 'monotonicMs'>): TriedHosts {
  const tried = new BoundedMap<string, true>(MOST);
  const avoidedUntil = new BoundedMap<string, number>(MOST);
  let known: readonly Met[] = [];

  const isAvoided = (key: string): boolean =>
    avoidedUntil.size > 0 && (avoidedUntil.get(key) ?? 0) > clock.monotonicMs();

  return {
    has(met) {
      if (tried.size === 0 && avoidedUntil.size === 0) return false;
      const key = keyOf(met);
      return tried.has(key) || isAvoided(key);
    },
    offered(all) {
      known = all;
    },
    avoid(met) {
      const key = keyOf(met);
      avoidedUntil.set(key, clock.monotonicMs() + AVOIDED_MS);
      return known.some((other) => keyOf(other) !== key && !isAvoided(keyOf(other)));
    },
    failed(met) {
      tried.set(keyOf(met), true);
    },
    clear: () => tried.clear(),
  };
}

/** In the order given, but those that were tried come last. */
export function untriedFirst<Item extends Met>(
  items: readonly Item[],
  tried: Pick<TriedHosts, 'has'>,
): readonly Item[] {
  const later = items.filter((item) => tried.has(item));
  return later.length === 0 ? items : [...items.filter((item) => !tried.has(item)), ...later];
}

function keyOf({ address, port }: Met): string {
  return `${address}:${port}`;
}
