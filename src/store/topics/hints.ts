/**
 * Hints: what other stores on the same data have changed, sent soon after their commits. Part of the Store
 * (`../store.ts` has the promises of all its operations). A hint may be lost, late or repeated: it only saves waiting
 * for the next search.
 */

/** What has changed elsewhere. */
export interface Hint {
  /** Queues that may have rows to claim; 'all' = any. */
  queues: readonly number[] | 'all';
  /** Webhook calls may be due. */
  calls: boolean;
  /** What nodes keep in memory: holds, overrides, sandbox rules, domains, tokens, people. */
  settings: boolean;
  /** Suppressions were changed that `onSuppressed` does not tell: there were too many, or what was told was lost. */
  suppressions: boolean;
}

export interface HintStore {
  /**
   * Calls the listener with hints of other stores until the returned function is called; never with this store's own.
   */
  onHint(listener: (hint: Hint) => void): () => void;
  /** Whether hints of other stores arrive at present. If not, search for their changes more often. */
  hearsHints(): boolean;
}
