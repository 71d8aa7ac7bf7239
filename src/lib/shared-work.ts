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

/** Work of which one run goes on at a time, and which may miss what changes during a run. */
export interface Reruns {
  /** Begins a run, at once, or after the one under way: one run for all who ask during it. */
  ask(): void;
  /** Resolves when nothing runs any more and no run was asked for. */
  ended(): Promise<void>;
}

/** `work` must not reject. */
export function createReruns(work: () => Promise<void>): Reruns {
  let running: Promise<void> | null = null;
  let again = false;

  /** Clears `running` in the turn in which it looks for the last time: who asks then starts it anew. */
  async function run(): Promise<void> {
    try {
      do {
        again = false;
        await work();
      } while (again);
    } finally {
      running = null;
    }
  }

  return {
    ask() {
      again = true;
      running ??= run();
    },
    async ended() {
      await running;
    },
  };
}
