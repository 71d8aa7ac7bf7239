/** The instance's own identity and its nodes' epochs. Part of the Store (`../store.ts` says what all its operations promise). */

export interface InstanceStore {
  /** The instance's id (`urn:postrider:<uuid>` without the prefix); stored from `proposedId` at the first call. */
  instanceId(params: { proposedId: string }): Promise<string>;
  /** Starts a node: a new epoch greater than all before. */
  beginEpoch(params: { nodeId: string; now: number }): Promise<number>;
  /**
   * Gives every row and call leased under an epoch older than `epoch` back to the queue, due at `now`; reclaimed
   * deliveries are marked mayBeDuplicate. At most `limit` rows a call; returns how many were reclaimed.
   */
  reclaim(params: { epoch: number; now: number; limit: number }): Promise<number>;
}
