/**
 * Places for calls, shared by tenants: whoever holds some takes a further one only while more are left than it holds. One
 * alone gets half, a second half of the rest, and whoever holds none takes the last one: no tenant's calls keep another's out.
 */
export interface Places {
  mayTake(tenant: string): boolean;
  take(tenant: string): void;
  giveBack(tenant: string): void;
  /** Places that nobody holds. */
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
