/** Warm-up of new sources at each provider. Part of the Store (`../store.ts` has the promises of all its operations). */

/** Written and read as a whole; `policy/limits/warmup/budget.ts` defines the members. */
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
  /** Id of the source. */
  source: string;
  provider: string;
  state: StoredWarmup;
}

export interface WarmupStore {
  /** In no order. */
  listWarmups(): Promise<readonly WarmupRow[]>;
  /**
   * Replaces the stored state of the source and provider. Synced: what it reserves must not be reserved again. false,
   * and nothing is stored, if the writer's epoch has ended, because its successor has stored a newer one.
   */
  saveWarmup(params: WarmupRow & { epoch: number }): Promise<boolean>;
}
