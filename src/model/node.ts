/** A node: one run of a process on the store, identified by its epoch. */

/** The lease under which a node claims work. Both members may change at any await. */
export interface NodeLease {
  /** For new claims. A row that was claimed before stores the epoch of its claim. */
  readonly epoch: number;
  /** false: other nodes may consider this node dead, so it must not begin anything new. */
  readonly valid: boolean;
  /** What the operator should know of this node; null = nothing. */
  readonly trouble: string | null;
}

/** The lease of the only node, which nobody can take over while it runs. */
export function soleLease(epoch: number): NodeLease {
  return { epoch, valid: true, trouble: null };
}

/** Of digests of settings by key: the keys whose values differ. A key that one of them does not know is left out. */
export function differingSettings(
  one: Readonly<Record<string, string>>,
  other: Readonly<Record<string, string>>,
): string[] {
  return Object.keys(one).filter((name) => other[name] !== undefined && other[name] !== one[name]);
}
