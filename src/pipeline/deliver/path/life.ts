/**
 * What of one path is running, and whether it continues: a path that is stopping gives its work back instead of passing
 * it on.
 */
export interface Life {
  readonly stopping: boolean;
  /** Running transactions. */
  readonly inFlight: number;
}
