/**
 * Nodes of one instance: processes that share a store, what each holds, and how one takes over from another. Part of the
 * Store (`../store.ts` says what all its operations promise).
 *
 * A node is known by its epoch, unique per start. It says that it lives by counting its beat up; nobody's clock is
 * compared with another's. Whoever saw a beat stand still for long enough may end that epoch, or take its leases, but
 * only while the beat is still the one that was seen: both are one transaction, so a node that was merely slow wins.
 * An epoch that has ended claims nothing more; what it still holds can be settled until somebody has taken it back.
 */

/** What people are told of a node. */
export interface NodeAbout {
  host: string;
  pid: number;
  roles: readonly string[];
  /** Ids of the egress sources it serves. */
  sources: readonly string[];
}

/** A node and how often it has said that it lives. */
export interface NodeBeat {
  epoch: number;
  beat: number;
}

/** A node whose epoch nobody has ended. */
export interface LivingNode extends NodeBeat {
  nodeId: string;
  sources: readonly string[];
}

/** A node as the operator is shown it. */
export interface NodeRow extends NodeAbout, NodeBeat {
  nodeId: string;
  startedAt: number;
  /** By its own clock. */
  heartbeatAt: number;
  /** null = it lives, or nobody has noticed yet. */
  endedAt: number | null;
  /** Recipients under its lease. */
  sending: number;
  /** Names of its leases, in order, at most 1000. */
  leases: readonly string[];
}

/** What a node hears when it says that it lives. */
export type Heartbeat =
  /** `leases`: those it holds now. */
  | { kind: 'alive'; others: readonly LivingNode[]; leases: readonly string[] }
  /** Others hold it for dead: what it had is theirs. It needs a new epoch. */
  | { kind: 'ended' };

/** Operations on nodes and leases. */
export interface NodeStore {
  /**
   * Starts a node: a new epoch greater than all before. Epochs that cannot live any more end: all others where the caller
   * is `alone` with the store, else earlier ones of the same `nodeId`. Synced.
   */
  beginEpoch(params: { nodeId: string; now: number; alone?: boolean; about?: NodeAbout }): Promise<number>;
  /** Counts the beat of an epoch up, which renews all its leases. */
  heartbeat(params: { epoch: number; now: number }): Promise<Heartbeat>;
  /**
   * Ends an epoch, with its leases; where `beat` is given only if that is still its beat. false: it lives on, or had
   * ended before. Synced.
   */
  endEpoch(params: { epoch: number; beat?: number; now: number }): Promise<boolean>;
  /**
   * Gives every row and call leased under an epoch that has ended back to the queue, due at `now`; reclaimed deliveries
   * are marked mayBeDuplicate. At most `limit` rows a call; returns how many were reclaimed.
   */
  reclaim(params: { now: number; limit: number }): Promise<number>;
  /**
   * Takes those of the named leases that nobody holds, that a dead epoch held, or whose holder is one of `quiet` with
   * the beat given there; says which of the names the epoch holds afterwards, in the order asked. An epoch that has
   * ended gets none.
   */
  takeLeases(params: {
    epoch: number;
    names: readonly string[];
    quiet: readonly NodeBeat[];
    now: number;
  }): Promise<readonly string[]>;
  /** Gives leases of an epoch up, all where no names are given. Others' are left alone. */
  giveLeases(params: { epoch: number; names?: readonly string[] }): Promise<void>;
  /** Living nodes, then the last ones that ended, newest first; at most `limit`. */
  listNodes(params: { limit: number }): Promise<readonly NodeRow[]>;
}
