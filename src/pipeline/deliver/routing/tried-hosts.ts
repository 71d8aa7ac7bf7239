/**
 * Which addresses of a path were tried without success, so that the next attempt continues with the others; otherwise a
 * domain with many hosts would always be asked by the same two. Cleared when a connection opens, or when all addresses
 * were tried. An address that is silent, or accepts connections and loses messages, comes last for a time in any case. In
 * memory, limited.
 */

import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';

/** An address of an attempt. */
interface Met {
  address: string;
  port: number;
}

/** The addresses of one path that were tried without success. */
export interface TriedHosts {
  has(met: Met): boolean;
  failed(met: Met): void;
  /** All addresses that currently exist. */
  offered(all: readonly Met[]): void;
  /** It is silent, or loses messages: for a time it comes last. Returns false if there is no other. */
  avoid(met: Met): boolean;
  /** A connection opened, or all were tried: the next attempt starts with the best again. */
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

/** In the given order, but those that were tried come last. */
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
