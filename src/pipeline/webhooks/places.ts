/**
 * Divides a number of concurrent calls fairly: a domain with some running calls may start another only if more places
 * are free than it already has. A single domain gets half of all places, a second one half of the rest, and the last
 * place goes to one that has none, so no domain's calls block those of others.
 */
export interface Places {
  mayTake(tenant: string): boolean;
  take(tenant: string): void;
  giveBack(tenant: string): void;
  /** Free places. */
  free(): number;
}

/** `count` places, all free. */
export function createPlaces(count: number): Places {
  const held = new Map<string, number>();
  let free = count;
  return {
    mayTake: (tenant) => (held.get(tenant) ?? 0) < free,
    take(tenant) {
      held.set(tenant, (held.get(tenant) ?? 0) + 1);
      free -= 1;
    },
    giveBack(tenant) {
      const left = (held.get(tenant) ?? 0) - 1;
      if (left > 0) held.set(tenant, left);
      else held.delete(tenant);
      free += 1;
    },
    free: () => free,
  };
}
