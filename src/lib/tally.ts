/** Counts by name; names with zero are removed. */
export interface Tally {
  add(name: string, by: number): void;
  /** 0 for a name that was not counted. */
  of(name: string): number;
}

export function createTally(): Tally {
  const counts = new Map<string, number>();
  return {
    add(name, by) {
      const count = (counts.get(name) ?? 0) + by;
      if (count === 0) counts.delete(name);
      else counts.set(name, count);
    },
    of: (name) => counts.get(name) ?? 0,
  };
}
