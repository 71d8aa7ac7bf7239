/**
 * Divides a number of concurrent calls fairly: a domain with some running calls may start another only if more places
 * are free than it already has. A single domain gets half of all places, a second one half of the rest, and the last
 * place goes to one that has none, so no domain's calls block those of others.
 */
import { createTally } from '../../lib/tally.ts';

export interface Places {
  mayTake(domain: string): boolean;
  take(domain: string): void;
  giveBack(domain: string): void;
  /** Free places. */
  free(): number;
}

/** `count` places, all free. */
export function createPlaces(count: number): Places {
  const held = createTally();
  let free = count;
  return {
    mayTake: (domain) => held.of(domain) < free,
    take(domain) {
      held.add(domain, 1);
      free -= 1;
    },
    giveBack(domain) {
      held.add(domain, -1);
      free += 1;
    },
    free: () => free,
  };
}
