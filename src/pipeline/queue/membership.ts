/**
 * This process as one of several nodes on one store: it stores a heartbeat, notices nodes that stop, reclaims their
 * rows, and holds leases on what only one node may do.
 *
 *   alive ──no heartbeat stored for `fenceMs`──► in doubt (begins nothing) ──heartbeat stored──► alive
 *     └──────────── others ended its epoch (`deadMs`) ────────────────► fenced: a new epoch, nothing of the old is sent
 *
 * A node is judged only by its heartbeat: how long it did not change on the observer's own monotonic clock, added up
 * from look to look, so that neither a clock that jumps nor a pause of the observer ends a living node. One heartbeat
 * renews all leases of a node. A node that cannot store it gives its leases up before others may take them: after two
 * thirds of `leaseMs` it begins nothing new under them, and a fifth later it aborts the rest.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Service } from '../../lib/loop.ts';
import type { NodeLease } from '../../model/node.ts';
import type { NodeAbout, NodeBeat, NodeStore } from '../../store/topics/nodes.ts';

/** Times in ms on this node's monotonic clock. */
export interface NodeTimes {
  /** Interval of the heartbeat. */
  beatMs: number;
  /** A lease is free if its holder's heartbeat has not changed for this time. */
  leaseMs: number;
  /** A node that could not store its heartbeat for this time starts nothing new. */
  fenceMs: number;
  /** The rows of a node are reclaimed if its heartbeat has not changed for this time. */
  deadMs: number;
}

/** The times of a server: what a killed node had is taken over within 30 s, with the beats and steps in between. */
export const NODE_TIMES: NodeTimes = { beatMs: 3_000, leaseMs: 12_000, fenceMs: 12_000, deadMs: 21_000 };

/** `asking`: not known yet · `held` by this node · `elsewhere`: by another node. */
export type LeaseState = 'asking' | 'held' | 'elsewhere';

/** A lease on something that only one node does. */
export interface Lease {
  state(): LeaseState;
  /** It is no longer needed. */
  end(): void;
}

/** The user of a lease. */
export interface LeaseListener {
  /** The state changed. `graceMs`: when a lease is lost, everything begun under it must have ended by then. */
  changed(state: LeaseState, graceMs: number): void;
}

/** This node among the others on its store. Heartbeats are stored between `start` and `stop`. */
export interface Membership extends Service, NodeLease {
  /** Requests a lease from now on; the listener is called when it is known who has it. */
  want(name: string, listener: LeaseListener): Lease;
  /** Calls the listener if this node has a new epoch because others ended the old one. */
  onFenced(listener: () => void): void;
  /** Calls the listener when rows of other nodes were reclaimed. */
  onReclaimed(listener: () => void): void;
  /**
   * Awaited with every heartbeat, and before new leases count as held: reads again what other nodes may have changed.
   */
  onRefresh(refresh: (got: readonly string[]) => Promise<void>): void;
  /** Names of the leases held now. */
  held(): readonly string[];
  /** Other living nodes, as last seen. */
  others(): readonly NodeBeat[];
  /** How often this process had to begin a new epoch. */
  readonly fencings: number;
}

interface Wanted {
  state: LeaseState;
  listeners: Set<LeaseListener>;
}

interface Seen extends NodeBeat {
  quietMs: number;
  seenMs: number;
}

const RECLAIM_ROWS = 2_000;
/** A node that waits for a lease, or could not store its heartbeat, looks this many times as often. */
const HURRY = 5;

interface Deps {
  store: Pick<NodeStore, 'beginEpoch' | 'heartbeat' | 'endEpoch' | 'reclaim' | 'takeLeases' | 'giveLeases'>;
  clock: Clock;
  log: Logger;
}

interface Options {
  /** Stable name of this node; no two running processes have the same. */
  nodeId: string;
  about: NodeAbout;
  /** Sources whose limits are kept by a lease, so other nodes may use them too. */
  sharedSources: ReadonlySet<string>;
  times?: NodeTimes;
}

/** Begins this node's epoch; heartbeats begin with `start`. */
export async function openMembership({ store, clock, log }: Deps, options: Options): Promise<Membership> {
  const { beatMs, leaseMs, fenceMs, deadMs } = options.times ?? NODE_TIMES;
  const { nodeId, about } = options;
  const doubtMs = (leaseMs * 2) / 3;
  const wanted = new Map<string, Wanted>();
  const seen = new Map<number, Seen>();
  const warned = new Set<string>();
  let confirmedMs = clock.monotonicMs();
  let epoch = await store.beginEpoch({ nodeId, now: clock.now(), about });
  let fencings = 0;
  let running = false;
  let failing = false;
  let timer: Timer | null = null;
  let doubtTimer: Timer | null = null;
  let working: Promise<void> = Promise.resolve();
  let again = false;
  let busy = false;
  let fenced: () => void = () => {};
  let reclaimed: () => void = () => {};
  let refresh: (got: readonly string[]) => Promise<void> = async () => {};

  return {
    get epoch() {
      return epoch;
    },
    get valid() {
      return clock.monotonicMs() - confirmedMs < fenceMs;
    },
    get fencings() {
      return fencings;
    },
    want(name, listener) {
      const known = wanted.get(name) ?? { state: 'asking', listeners: new Set() };
      wanted.set(name, known);
      known.listeners.add(listener);
      if (known.state !== 'held') lookSoon();
      return {
        state: () => (known.state === 'held' && inDoubt() ? 'asking' : known.state),
        end() {
          known.listeners.delete(listener);
          if (known.listeners.size > 0 || wanted.get(name) !== known) return;
          wanted.delete(name);
          // If this fails, the lease is released with the next heartbeat.
          if (known.state === 'held') store.giveLeases({ epoch, names: [name] }).catch(() => undefined);
        },
      };
    },
    onFenced(listener) {
      fenced = listener;
    },
    onReclaimed(listener) {
      reclaimed = listener;
    },
    onRefresh(listener) {
      refresh = listener;
    },
    held: () => [...wanted].flatMap(([name, { state }]) => (state === 'held' ? [name] : [])),
    others: () => [...seen.values()].map((other) => ({ epoch: other.epoch, beat: other.beat })),
    async start() {
      running = true;
      confirmed(clock.monotonicMs());
      lookSoon();
    },
    async stop() {
      running = false;
      timer?.cancel();
      doubtTimer?.cancel();
      await working;
      // This releases all leases, so other nodes need not wait until this node counts as dead.
      await store.endEpoch({ epoch, now: clock.now() }).catch((err: unknown) => {
        log.warn({ err }, 'this node could not say that it stops; others notice by its silence');
      });
    },
  };

  // ── when ────────────────────────────────────────────────────────────────────────────────────────────────

  function lookSoon(): void {
    if (!running) return;
    if (busy) again = true;
    else round();
  }

  function round(): void {
    timer?.cancel();
    busy = true;
    again = false;
    working = look()
      .then(
        () => {
          if (failing) log.info({}, 'this node could say again that it lives');
          failing = false;
        },
        (err: unknown) => {
          if (!failing) log.warn({ err }, 'this node cannot say that it lives');
          failing = true;
        },
      )
      .then(() => {
        busy = false;
        if (!running) return;
        const inHurry = failing || [...wanted.values()].some(({ state }) => state !== 'held');
        if (again && !failing) round();
        else timer = clock.setTimer(inHurry ? beatMs / HURRY : beatMs, round);
      });
  }

  // ── what ────────────────────────────────────────────────────────────────────────────────────────────────

  async function look(): Promise<void> {
    const askedMs = clock.monotonicMs();
    const answer = await store.heartbeat({ epoch, now: clock.now() });
    if (answer.kind === 'ended') return beginAgain();
    confirmed(askedMs);
    watch(answer.others);
    follow(answer.leases);
    await refresh([]);
    const dead = quietFor(deadMs);
    for (const other of dead) {
      const ended = await store.endEpoch({ ...other, now: clock.now() });
      if (ended) log.warn({ epoch: other.epoch }, 'a node has gone silent; what it held is taken back');
    }
    await takeBack();
    await ask();
  }

  /** Other nodes considered this node dead: everything that it had claimed is theirs. */
  async function beginAgain(): Promise<void> {
    confirmedMs = Number.NEGATIVE_INFINITY;
    for (const name of wanted.keys()) set(name, 'asking', 0);
    const askedMs = clock.monotonicMs();
    const ended = epoch;
    epoch = await store.beginEpoch({ nodeId, now: clock.now(), about });
    fencings += 1;
    log.warn({ epoch, ended }, 'other nodes took this one for dead; it begins anew');
    confirmed(askedMs);
    fenced();
    again = true;
  }

  /** Other nodes may be about to take this node's leases. */
  function inDoubt(): boolean {
    return clock.monotonicMs() - confirmedMs >= doubtMs;
  }

  function confirmed(atMs: number): void {
    confirmedMs = atMs;
    doubtTimer?.cancel();
    // Counted from before the heartbeat was stored, so from before anybody could see it.
    doubtTimer = clock.setTimer(Math.max(0, atMs + doubtMs - clock.monotonicMs()), () => {
      // After a pause of this process there may be no time left.
      const graceMs = Math.max(0, doubtMs + leaseMs / 5 - (clock.monotonicMs() - confirmedMs));
      for (const [name, { state }] of wanted) if (state === 'held') set(name, 'asking', graceMs);
    });
  }

  function watch(others: readonly (NodeBeat & { nodeId: string; sources: readonly string[] })[]): void {
    const nowMs = clock.monotonicMs();
    const living = new Set(others.map((other) => other.epoch));
    for (const known of seen.keys()) if (!living.has(known)) seen.delete(known);
    for (const other of others) {
      const known = seen.get(other.epoch);
      // While this node was paused itself, it did not see the heartbeats of others.
      const sinceMs = known === undefined ? 0 : Math.min(nowMs - known.seenMs, 2 * beatMs);
      const quietMs = known?.beat === other.beat ? known.quietMs + sinceMs : 0;
      seen.set(other.epoch, { epoch: other.epoch, beat: other.beat, quietMs, seenMs: nowMs });
      const twice = other.sources.filter(
        (id) => about.sources.includes(id) && !options.sharedSources.has(id),
      );
      for (const source of twice) {
        if (warned.has(source)) continue;
        warned.add(source);
        log.warn(
          { source, node: other.nodeId },
          'another node sends from this source too, and it is not marked shared: its limits are kept twice',
        );
      }
    }
  }

  function quietFor(ms: number): NodeBeat[] {
    return [...seen.values()]
      .filter(({ quietMs }) => quietMs >= ms)
      .map((other) => ({ epoch: other.epoch, beat: other.beat }));
  }

  async function takeBack(): Promise<void> {
    let rows = 0;
    for (let n = -1; n !== 0; rows += n) n = await store.reclaim({ now: clock.now(), limit: RECLAIM_ROWS });
    if (rows === 0) return;
    log.warn({ rows }, 'took back what nodes held that are gone');
    reclaimed();
  }

  // ── leases ──────────────────────────────────────────────────────────────────────────────────────────────

  /**
   * Compares with the leases in the store. A lease that this node got back counts as a new one, because things may have
   * changed.
   */
  function follow(leases: readonly string[]): void {
    const held = new Set(leases);
    for (const [name, { state }] of wanted) if (state === 'held' && !held.has(name)) set(name, 'asking', 0);
    // The user that asked for it has ended meanwhile.
    const unwanted = leases.filter((name) => !wanted.has(name));
    if (unwanted.length > 0) store.giveLeases({ epoch, names: unwanted }).catch(() => undefined);
  }

  async function ask(): Promise<void> {
    const names = [...wanted].flatMap(([name, { state }]) => (state === 'held' ? [] : [name]));
    if (names.length === 0) return;
    const mine = epoch;
    const got = new Set(
      await store.takeLeases({ epoch: mine, names, quiet: quietFor(leaseMs), now: clock.now() }),
    );
    // What the former holder observed and stored applies from the first message on.
    if (got.size > 0) await refresh([...got]);
    for (const name of names) set(name, got.has(name) ? 'held' : 'elsewhere', 0);
  }

  function set(name: string, state: LeaseState, graceMs: number): void {
    const known = wanted.get(name);
    if (known === undefined || known.state === state) return;
    known.state = state;
    for (const listener of known.listeners) listener.changed(state, graceMs);
  }
}
