/** The instance as a whole. Part of the Store (`../store.ts` has the promises of all its operations). */

/** How a database server removes old versions of rows, which it keeps for whoever may still read them. */
export interface DatabaseUpkeep {
  /** It removes them by itself (autovacuum). */
  automatic: boolean;
  /** Estimates, of the tables that have many old versions for their rows: most rows are written once. */
  oldRows: number;
  rows: number;
  /** What has kept old versions the longest, as the subject of a sentence; null = nothing, or it may not be seen. */
  keptBy: string | null;
  /** A transaction that has written and not ended for `heldMs`: events wait for its end. As `keptBy`; null = none. */
  eventsHeldBy: string | null;
  /** How much of the numbers of transactions is used, after which the server refuses all writes: 0 to 1. */
  numbersUsed: number;
  /** The replication slot for which it keeps the most of its log, if nothing limits that, and how much; null = none. */
  logKeptBy: string | null;
  logKeptBytes: number;
}

export interface InstanceStore {
  /** The instance's id (`urn:postrider:<uuid>` without the prefix); stored from `proposedId` at the first call. */
  instanceId(params: { proposedId: string }): Promise<string>;
  /** null: this database needs no such upkeep. */
  databaseUpkeep(params: { heldMs: number }): Promise<DatabaseUpkeep | null>;
}
