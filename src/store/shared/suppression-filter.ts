/**
 * Which sender domains have suppressions at all, remembered beside the callers, so that acceptance for all others asks
 * no thread and no table. Given a way to load the names; whoever writes suppressions says so before and after, and what
 * was loaded in between is thrown away.
 */
export interface SuppressionFilter {
  /** Whether the domain may have entries; loads the names where they are not known. */
  mayHave(domain: string): Promise<boolean>;
  /** true or false without waiting, null where `mayHave` has to be asked. */
  known(domain: string): boolean | null;
  /** To be called when a write of suppressions is handed over, and again when it is done. */
  changed(): void;
}

/** A filter that knows nothing yet. Failures of `load` pass through to whoever asked. */
export function createSuppressionFilter(load: () => Promise<readonly string[]>): SuppressionFilter {
  let names: ReadonlySet<string> | null = null;
  let loading: Promise<ReadonlySet<string>> | null = null;

  function ask(): Promise<ReadonlySet<string>> {
    const mine = load().then(
      (loaded) => {
        const set = new Set(loaded);
        // Unless a write went by meanwhile; whoever waits here asked before that write was done.
        if (loading === mine) {
          names = set;
          loading = null;
        }
        return set;
      },
      (error: unknown) => {
        if (loading === mine) loading = null;
        throw error;
      },
    );
    return mine;
  }

  return {
    known: (domain) => (names === null ? null : names.has(domain)),
    async mayHave(domain) {
      if (names !== null) return names.has(domain);
      loading ??= ask();
      return (await loading).has(domain);
    },
    changed() {
      names = null;
      loading = null;
    },
  };
}
