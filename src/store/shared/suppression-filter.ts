/**
 * Remembers which sender domains have suppressions, so that acceptance for all others needs no query. Names are loaded
 * by a given function; a write of suppressions calls `changed` before and after, and what was loaded in between is
 * dropped.
 */
export interface SuppressionFilter {
  /** Whether the domain may have entries; loads the names if necessary. */
  mayHave(domain: string): Promise<boolean>;
  /** true or false at once, null if `mayHave` must be called. */
  known(domain: string): boolean | null;
  /** To be called when a write of suppressions begins, and again when it ends. */
  changed(): void;
}

/** An empty filter. Failures of `load` are passed to the caller. */
export function createSuppressionFilter(load: () => Promise<readonly string[]>): SuppressionFilter {
  let names: ReadonlySet<string> | null = null;
  let loading: Promise<ReadonlySet<string>> | null = null;

  function ask(): Promise<ReadonlySet<string>> {
    const mine = load().then(
      (loaded) => {
        const set = new Set(loaded);
        // Unless there was a write meanwhile; those that wait here asked before that write ended.
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
