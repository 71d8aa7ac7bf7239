/** Warm-up of new sources at each provider. Part of the Store (`../store.ts` says what all its operations promise). */

/** Written and read as one; the fields' meaning is the warm-up's own (`policy/limits/warmup/budget.ts`). */
export interface StoredWarmup {
  level: number;
  day: number;
  used: number;
  deferred: number;
  blocked: number;
  lastUsedAt: number;
  paceAt: number;
  quarters: (readonly [quarter: number, count: number])[];
}

export interface WarmupRow {
  /** Id of the egress source. */
  source: string;
  provider: string;
  state: StoredWarmup;
}

export interface WarmupStore {
  /** In no promised order. */
  listWarmups(): Promise<readonly WarmupRow[]>;
  /**
   * Replaces what is stored for the source and provider. Synced: what it reserves must not be reserved again. false, and
   * nothing is stored, where the writer's epoch has ended: what its successor stored since is newer.
   */
  saveWarmup(params: WarmupRow & { epoch: number }): Promise<boolean>;
}
