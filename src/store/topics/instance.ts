/** The identity of the instance. Part of the Store (`../store.ts` has the promises of all its operations). */

export interface InstanceStore {
  /** The instance's id (`urn:postrider:<uuid>` without the prefix); stored from `proposedId` at the first call. */
  instanceId(params: { proposedId: string }): Promise<string>;
}
