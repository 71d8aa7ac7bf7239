/** The instance's own identity. Part of the Store (`../store.ts` says what all its operations promise). */

export interface InstanceStore {
  /** The instance's id (`urn:postrider:<uuid>` without the prefix); stored from `proposedId` at the first call. */
  instanceId(params: { proposedId: string }): Promise<string>;
}
