/**
 * Work that runs once for all who ask for it meanwhile, such as reading a row: where the store is slow, a read for each
 * of them would keep it slow.
 */
export interface SharedWork<Result> {
  /**
   * The result of the work under way for `key`, otherwise of `work`, which starts now. `keep` gets the result, for a cache,
   * unless it was forgotten.
   */
  of(key: string, work: () => Promise<Result>, keep?: (result: Result) => void): Promise<Result>;
  /**
   * What is under way for `key`, or for all without one, may have seen the state before a change: it is not kept, and who
   * asks from now on gets new work.
   */
  forget(key?: string): void;
}

export function createSharedWork<Result>(): SharedWork<Result> {
  const underWay = new Map<string, Promise<Result>>();
  return {
    of(key, work, keep) {
      const known = underWay.get(key);
      if (known !== undefined) return known;
      const isCurrent = (): boolean => underWay.get(key) === run;
      const run = work()
        .then((result) => {
          if (isCurrent()) keep?.(result);
          return result;
        })
        .finally(() => {
          if (isCurrent()) underWay.delete(key);
        });
      underWay.set(key, run);
      return run;
    },
    forget(key) {
      if (key === undefined) underWay.clear();
      else underWay.delete(key);
    },
  };
}
