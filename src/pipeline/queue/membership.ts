/**
 * This process as one of several nodes on one store: it says that it lives, notices who does not, takes
 * over what they held, and holds leases on what only one node may do at a time.
 *
 *   alive ──no beat stored for `fenceMs`──► in doubt (begins nothing) ──beat stored──► alive
 *     └──────────── others ended its epoch (`deadMs`) ────────────────► fenced: a new epoch, nothing of the old is sent
 *
 * A node is judged by its beat alone: how long it stood still on the observer's own monotonic clock, counted from look
 * to look, so that neither a clock that jumps nor an observer that was paused ends a node that lives. The same beat
 * renews all leases of a node. Whoever cannot store one gives its leases up before others may take them: after two
 * thirds of `leaseMs` nothing new is begun under them, and a fifth later what is left is broken off.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { Service } from '../../lib/loop.ts';
import type { NodeLease } from '../../model/node.ts';
import type { NodeAbout, NodeBeat, NodeStore } from '../../store/topics/nodes.ts';

/** How long what takes, ms on this node's monotonic clock. */
export interface NodeTimes {
  /** How often the node says that it lives. */
  beatMs: number;
  /** A lease is free once its holder's beat stood still for so long. */
  leaseMs: number;
  /** Nothing new is begun once so long no beat could be stored. */
  fenceMs: number;
  /** What a node held is taken back once its beat stood still for so long. */
  deadMs: number;
}

/** What a server goes by. */
export const NODE_TIMES: NodeTimes = { beatMs: 5_000, leaseMs: 15_000, fenceMs: 15_000, deadMs: 30_000 };

/** `asking` nobody knows yet · `held` by this node · `elsewhere` by another one. */
export type LeaseState = 'asking' | 'held' | 'elsewhere';

/** What this node wants to do alone. */
export interface Lease {
  state(): LeaseState;
  /** It is not wanted any more. */
  end(): void;
}

/** Whoever wants a lease. */
export interface LeaseListener {
  /** The state is another one. `graceMs`: what was begun under a lease that is lost must be over by then. */
  changed(state: LeaseState, graceMs: number): void;
}

/** This node among the others of its store. Beats between `start` and `stop`. */
export interface Membership extends Service, NodeLease {
  /** Wants a lease from now on; the listener is told as soon as it is known who has it. */
  want(name: string, listener: LeaseListener): Lease;
  /** Called where this node has a new epoch because others ended the old one. */
  onFenced(listener: () => void): void;
  /** Called where rows of other nodes were taken back. */
  onReclaimed(listener: () => void): void;
  /**
   * Awaited with every beat, and before leases that were got count as held: what other nodes may have changed is read
   * again.
   */
  onRefresh(refresh: (got: readonly string[]) => Promise<void>): void;
  /** Names of the leases held now. */
  held(): readonly string[];
  /** Other nodes that live, as last seen. */
  others(): readonly NodeBeat[];
  /** Times this process had to begin a new epoch. */
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
/** A node that waits for a lease, or could not store its beat, looks so many times as often. */
const HURRY = 5;

interface Deps {
  store: Pick<NodeStore, 'beginEpoch' | 'heartbeat' | 'endEpoch' | 'reclaim' | 'takeLeases' | 'giveLeases'>;
  clock: Clock;
  log: Logger;
}

interface Options {
  /** Stable name of this node; no two processes have the same at a time. */
  nodeId: string;
  about: NodeAbout;
  /** Sources whose limits are kept by a lease: that others serve them too is as it should be. */
  sharedSources: ReadonlySet<string>;
  times?: NodeTimes;
}

/** Begins this node's epoch; the beat starts with `start`. */
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
          // Not given up now, it is with the next beat.
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
      // All leases go with it, so that others need not wait for this node to look dead.
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

  /** Others took this node for dead: whatever it was doing is theirs. */
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

  /** Others may be about to take this node's leases. */
  function inDoubt(): boolean {
    return clock.monotonicMs() - confirmedMs >= doubtMs;
  }

  function confirmed(atMs: number): void {
    confirmedMs = atMs;
    doubtTimer?.cancel();
    // Counted from before the beat was stored, which is before anybody saw it.
    doubtTimer = clock.setTimer(Math.max(0, atMs + doubtMs - clock.monotonicMs()), () => {
      // After a pause of this process nothing may be left of it.
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
      // Paused itself, this node saw nothing of what the others did meanwhile.
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

  /** What the store says that this node holds. What it got back it asks for like anything else: it may have changed. */
  function follow(leases: readonly string[]): void {
    const held = new Set(leases);
    for (const [name, { state }] of wanted) if (state === 'held' && !held.has(name)) set(name, 'asking', 0);
    // Got for somebody who has gone away meanwhile.
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
    // What the former holder learned and stored counts from the first message on.
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
