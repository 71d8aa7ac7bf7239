/**
 * Nodes of one instance: processes that share a store, what each has leased, and how one takes over from another. Part
 * of the Store (`../store.ts` has the promises of all its operations).
 *
 * A node is identified by its epoch, unique per start. It shows that it is alive by incrementing its heartbeat; no
 * clocks are compared. A node that saw a heartbeat unchanged for long enough may end that epoch, or take its leases,
 * but only while the heartbeat is still the one it saw: both are transactions on the same row, so a node that was
 * merely slow keeps its rights. An epoch that has ended claims nothing more; what it still has leased can be settled
 * until another node reclaims it.
 */

/** What is shown of a node. */
export interface NodeAbout {
  host: string;
  pid: number;
  /** Of the program. */
  version: string;
  roles: readonly string[];
  /** Ids of the sources that it uses. */
  sources: readonly string[];
  /** Digests of what all nodes should have alike in their configuration, by key; empty if it was not told. */
  settings: Readonly<Record<string, string>>;
}

/** A node and its heartbeat. */
export interface NodeBeat {
  epoch: number;
  beat: number;
}

/** A node whose epoch has not been ended. */
export interface LivingNode extends NodeBeat {
  nodeId: string;
  version: string;
  sources: readonly string[];
  /** How many it has. */
  leases: number;
}

/** A node as shown to the operator. */
export interface NodeRow extends NodeAbout, NodeBeat {
  nodeId: string;
  /** Up to which number its program knows the schema; 0 = it was not told. */
  schemaNumber: number;
  startedAt: number;
  /** By its own clock. */
  heartbeatAt: number;
  /** null = it is alive, or nobody has noticed yet. */
  endedAt: number | null;
  /** It did not end its epoch by itself: others did, or its next run. */
  lost: boolean;
  /** Recipients under its lease. */
  sending: number;
  /** Names of its leases, in order, at most 1000. */
  leases: readonly string[];
}

/** The answer to a heartbeat. */
export type Heartbeat =
  /**
   * `leases`: those it has now; `asked`: of these, the ones that another node waits for, and its epoch; `now`: the time
   * of the data, which is that of the instance.
   */
  | {
      kind: 'alive';
      others: readonly LivingNode[];
      leases: readonly string[];
      asked: readonly { name: string; by: number }[];
      now: number;
    }
  /** Others ended its epoch and own what it had. It needs a new epoch. */
  | { kind: 'ended' }
  /**
   * It began before another server took over, whose data may lack the last moments. Nothing is leased to it any more,
   * and every further heartbeat of it is answered so. It needs a new epoch.
   */
  | { kind: 'taken-over' };

/** Operations on nodes and leases. */
export interface NodeStore {
  /**
   * Starts a node: a new epoch greater than all before. Epochs that cannot be alive any more end: all others if the
   * caller is `alone` with the store, otherwise earlier ones of the same `nodeId`. With `chance` (0 up to 1) it is
   * made of that and the time where this is greater still: no other start gets it, even if the data lose this one.
   * Synced.
   */
  beginEpoch(params: {
    nodeId: string;
    now: number;
    alone?: boolean;
    chance?: number;
    about?: NodeAbout;
  }): Promise<number>;
  /** Increments the heartbeat of an epoch, which renews all its leases. */
  heartbeat(params: { epoch: number; now: number }): Promise<Heartbeat>;
  /**
   * Ends an epoch, with its leases; if `beat` is given, only if that is still its heartbeat. false: it is still alive,
   * or had ended before. Synced.
   */
  endEpoch(params: { epoch: number; beat?: number; now: number }): Promise<boolean>;
  /**
   * Releases every row and call leased under an ended epoch, due at `now`; reclaimed deliveries are marked
   * mayBeDuplicate. At most `limit` rows per call; returns how many were reclaimed.
   */
  reclaim(params: { now: number; limit: number }): Promise<number>;
  /**
   * Releases, as `reclaim` does, rows and calls that are leased to a living epoch since before `olderThan` although its
   * node does not have them (`held` are those that it has): the answer to their claim or commit was lost. At most
   * `limit` rows per call; returns how many were released.
   */
  strays(params: {
    epoch: number;
    held: { deliveries: readonly number[]; calls: readonly number[] };
    olderThan: number;
    now: number;
    limit: number;
  }): Promise<number>;
  /**
   * Takes those of the named leases that nobody has, that an ended epoch had, or whose holder is one of `quiet` with
   * the heartbeat given there; returns which of the names the epoch has afterwards, in the given order. An ended epoch
   * gets none. The others are asked for: their holder is told of one node that waits, of several the one with the fewest
   * leases.
   */
  takeLeases(params: {
    epoch: number;
    names: readonly string[];
    quiet: readonly NodeBeat[];
    now: number;
  }): Promise<readonly string[]>;
  /** Gives a lease of an epoch to another one; false: it has not got it, or the other one has ended. */
  passLease(params: { epoch: number; name: string; to: number; now: number }): Promise<boolean>;
  /** Releases leases of an epoch, all if no names are given. Those of others are left alone. */
  giveLeases(params: { epoch: number; names?: readonly string[] }): Promise<void>;
  /** Living nodes, then the last ones that ended, newest first; at most `limit`. */
  listNodes(params: { limit: number }): Promise<readonly NodeRow[]>;
}
