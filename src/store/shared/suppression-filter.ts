/**
 * Remembers which sender domains have suppressions, so that acceptance for all others needs no query. Names are loaded
 * by a given function; a write of suppressions calls `changed` before and after, and what was loaded in between is
 * dropped.
 */
import { createSharedWork } from '../../lib/shared-work.ts';

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
  const loading = createSharedWork<ReadonlySet<string>>();
  return {
    known: (domain) => (names === null ? null : names.has(domain)),
    async mayHave(domain) {
      const keep = (loaded: ReadonlySet<string>): void => {
        names = loaded;
      };
      return (names ?? (await loading.of('names', async () => new Set(await load()), keep))).has(domain);
    },
    changed() {
      names = null;
      // Those that wait asked before the write ended.
      loading.forget();
    },
  };
}
