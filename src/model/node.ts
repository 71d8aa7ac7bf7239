/** A node: one start of a process that works on the instance's store, known by its epoch. */

/** Under what a node claims work. Both may change at any moment but between two lines of code. */
export interface NodeLease {
  /** Of what is claimed from now on. What was claimed before knows the epoch it was claimed under. */
  readonly epoch: number;
  /** false: others may hold this node for dead, so nothing new may be begun. */
  readonly valid: boolean;
}

/** The lease of a node that nobody can take over from while it lives. */
export function soleLease(epoch: number): NodeLease {
  return { epoch, valid: true };
}
