/**
 * This process as one of several nodes on one store: it stores a heartbeat, notices nodes that stop, and reclaims their
 * rows.
 *
 *   alive ──no heartbeat stored for `doubtMs`──► in doubt (begins nothing) ──heartbeat stored──► alive
 *     └──────────── others ended its epoch (`deadMs`) ────────────────► a new epoch: nothing of the old is sent
 *
 * How other nodes are judged is in other-nodes.ts. One heartbeat renews all leases of a node (leases.ts). Those of a node
 * that cannot store it lapse before others may take them: after two thirds of `leaseMs` it begins nothing new under them,
 * and a fifth later it aborts the rest.
 */
import type { Clock, Timer } from '../../lib/clock.ts';
import type { LogFields, Logger } from '../../lib/log.ts';
import type { Random } from '../../lib/random.ts';
import type { Service } from '../../lib/service.ts';
import { createReruns } from '../../lib/shared-work.ts';
import type { NodeLease } from '../../model/node.ts';
import type { NodeAbout, NodeBeat, NodeStore } from '../../store/topics/nodes.ts';
import { createLeases, type Leases } from './leases.ts';
import { createOtherNodes } from './other-nodes.ts';

/** Times in ms on this node's monotonic clock. */
export interface NodeTimes {
  /** Interval of the heartbeat. */
  beatMs: number;
  /** A lease is free if its holder's heartbeat has not changed for this time. */
  leaseMs: number;
  /** A node that could not store its heartbeat for this time is in doubt: it starts nothing new. */
  doubtMs: number;
  /** The rows of a node are reclaimed if its heartbeat has not changed for this time. */
  deadMs: number;
  /** A row leased to a node for longer than this, although the node does not have it, is released. */
  strayMs: number;
}

/** The times of a server: what a killed node had is taken over within 30 s, with the beats and steps in between. */
export const NODE_TIMES: NodeTimes = {
  beatMs: 3_000,
  leaseMs: 12_000,
  doubtMs: 12_000,
  deadMs: 21_000,
  strayMs: 60_000,
};

/** This node among the others on its store. Heartbeats are stored between `start` and `stop`. */
export interface Membership extends Service, NodeLease, Pick<Leases, 'want' | 'held'> {
  /** Calls the listener if this node has a new epoch because others ended the old one. */
  onNewEpoch(listener: () => void): void;
  /** Calls the listener when rows of other nodes were reclaimed. */
  onReclaimed(listener: () => void): void;
  /**
   * Awaited with every heartbeat, and before new leases count as held: reads again what other nodes may have changed.
   */
  onRefresh(refresh: (got: readonly string[]) => Promise<void>): void;
  /** Whether another living node sends from a source, as last seen. */
  serves(source: string): boolean;
  /** Other living nodes, as last seen. */
  others(): readonly NodeBeat[];
  readonly about: NodeAbout;
  /** How often this process had to begin a new epoch. */
  readonly newEpochs: number;
}

const RECLAIM_ROWS = 2_000;
/** A node that waits for a lease, or could not store its heartbeat, looks this many times as often. */
const HURRY = 5;

/** A clock that differs more from that of the database is a fault. */
const MOST_SKEW_MS = 60_000;
/** As many nodes as one look for a name reads: living ones, then those that ended last. */
const MAX_SHOWN = 1_000;

interface Deps {
  store: Pick<
    NodeStore,
    | 'beginEpoch'
    | 'heartbeat'
    | 'endEpoch'
    | 'reclaim'
    | 'takeLeases'
    | 'passLease'
    | 'giveLeases'
    | 'listNodes'
  >;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Adjusts `clock` to that of the store, which all nodes follow. Returns how far the clock of this machine is behind it. */
  follow?(differenceMs: number, atOnce?: boolean): number;
  /** How long a heartbeat took, so that a slow store is noticed where no mail is stored. */
  beatTook?(durationMs: number): void;
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
export async function openMembership(deps: Deps, options: Options): Promise<Membership> {
  const { store, clock, log, beatTook } = deps;
  const { beatMs, leaseMs, doubtMs, deadMs } = options.times ?? NODE_TIMES;
  const { nodeId, about, sharedSources } = options;
  const lapseMs = (leaseMs * 2) / 3;
  const others = createOtherNodes({ clock, log }, about, { beatMs, sharedSources });
  let confirmedMs = clock.monotonicMs();
  /** How far the clock of this machine is behind that of the store. */
  let skewMs = 0;
  /** The clock has been set by that of the store. */
  let isTimed = false;
  /** An epoch of this process may have begun, although the answer was lost. */
  let isUnsure = false;
  let epoch = await begin();
  let newEpochs = 0;
  let running = false;
  let failing = false;
  let timer: Timer | null = null;
  let lapseTimer: Timer | null = null;
  let working: Promise<void> = Promise.resolve();
  let again = false;
  let busy = false;
  let untended = false;
  /**
   * Separate from the heartbeat, because it waits behind other work of the store: a living node must not be silent for
   * that long.
   */
  const tending = createReruns(async () => {
    if (!running) return;
    try {
      await lookAfterOthers();
      untended = false;
    } catch (err) {
      if (!untended)
        log.warn({ err }, 'what other nodes left, and leases, cannot be looked after now; tried again');
      untended = true;
    }
  });
  let begunAnew: () => void = () => {};
  let reclaimed: () => void = () => {};
  let refresh: (got: readonly string[]) => Promise<void> = async () => {};
  const leases = createLeases(
    {
      ...{ store, clock, others, haveLapsed, lookSoon },
      epoch: () => epoch,
      refresh: (got) => refresh(got),
    },
    leaseMs,
  );

  return {
    about,
    get epoch() {
      return epoch;
    },
    get valid() {
      return clock.monotonicMs() - confirmedMs < doubtMs;
    },
    get trouble() {
      if (clock.monotonicMs() - confirmedMs >= doubtMs)
        return 'it cannot say that it lives, and sends nothing';
      return Math.abs(skewMs) > MOST_SKEW_MS ? skewText() : null;
    },
    get newEpochs() {
      return newEpochs;
    },
    onNewEpoch(listener) {
      begunAnew = listener;
    },
    onReclaimed(listener) {
      reclaimed = listener;
    },
    onRefresh(listener) {
      refresh = listener;
    },
    want: leases.want,
    held: leases.held,
    serves: others.serves,
    others: others.all,
    async start() {
      running = true;
      confirmed(clock.monotonicMs());
      lookSoon();
      // From here on `clock` shows the time of the instance.
      await working;
      await tending.ended();
    },
    async stop() {
      running = false;
      timer?.cancel();
      lapseTimer?.cancel();
      await working;
      await tending.ended();
      // This releases all leases, so other nodes need not wait until this node counts as dead.
      await store.endEpoch({ epoch, now: clock.now() }).catch((err: unknown) => {
        log.warn({ err }, 'this node could not say that it stops; others notice by its silence');
      });
    },
  };

  // ── timers ──────────────────────────────────────────────────────────────────────────────────────────────

  function lookSoon(): void {
    if (!running) return;
    if (busy) again = true;
    else round();
  }

  function round(): void {
    timer?.cancel();
    busy = true;
    again = false;
    working = beat()
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
        if (!failing) tending.ask();
        const inHurry = failing || leases.areAwaited();
        if (again && !failing) round();
        else timer = clock.setTimer(inHurry ? beatMs / HURRY : beatMs, round);
      });
  }

  // ── heartbeat ───────────────────────────────────────────────────────────────────────────────────────────

  async function beat(): Promise<void> {
    const heldThen = leases.held();
    const askedMs = clock.monotonicMs();
    const asked = clock.now();
    const answer = await store.heartbeat({ epoch, now: asked });
    beatTook?.(clock.monotonicMs() - askedMs);
    if (answer.kind === 'ended') return beginAgain(null);
    if (answer.kind === 'taken-over')
      return beginAgain(
        'another server has taken over the database; this node begins anew. Unless commits waited for it, the last messages and outcomes are missing there',
      );
    keepTime(asked, answer.now);
    confirmed(askedMs);
    others.saw(answer.others);
    leases.answered(answer, heldThen);
  }

  async function lookAfterOthers(): Promise<void> {
    await refresh([]);
    for (const other of others.quietFor(deadMs)) {
      const ended = await store.endEpoch({ ...other, now: clock.now() });
      if (ended) log.warn(await aboutNode(other.epoch), 'a node has gone silent; what it held is taken back');
    }
    await takeBack();
    await leases.ask();
  }

  /** Which node it was, for the log: its epoch at least. */
  async function aboutNode(epoch: number): Promise<LogFields> {
    const rows = await store.listNodes({ limit: MAX_SHOWN }).catch(() => []);
    const row = rows.find((one) => one.epoch === epoch);
    if (row === undefined) return { epoch };
    const { host, pid, nodeId, heartbeatAt } = row;
    return { epoch, host, pid, nodeId, heartbeatAt: new Date(heartbeatAt).toISOString() };
  }

  /** `isAlone`: no other epoch of this process can have begun between the two. */
  async function tellWhyEnded(ended: number, begun: number, isAlone: boolean): Promise<void> {
    const rows = isAlone ? await store.listNodes({ limit: MAX_SHOWN }).catch(() => []) : [];
    const twin = rows.find((row) => row.nodeId === nodeId && row.epoch > ended && row.epoch < begun);
    log.warn(
      { epoch: begun, ended },
      twin === undefined
        ? 'other nodes considered this one dead; it starts again'
        : `another process started as this node (pid ${twin.pid} at ${twin.host}), for example with a copy of its data folder. This one starts again, and they end each other while both run. Delete node-id in the copy before you start it again`,
    );
  }

  async function begin(): Promise<number> {
    isUnsure = true;
    const begun = await store.beginEpoch({ nodeId, now: clock.now(), chance: deps.random.float(), about });
    isUnsure = false;
    return begun;
  }

  /** The time that the answer took is not counted. */
  function keepTime(asked: number, there: number): void {
    const was = skewMs;
    const behindMs = there < asked ? there - asked : Math.max(0, there - clock.now());
    skewMs = deps.follow?.(behindMs, !isTimed) ?? behindMs;
    isTimed = true;
    if (Math.abs(skewMs) > MOST_SKEW_MS && Math.abs(was) <= MOST_SKEW_MS) log.error({ skewMs }, skewText());
  }

  function skewText(): string {
    const seconds = Math.round(Math.abs(skewMs) / 1000);
    return `the clocks of this machine and of the database differ by ${seconds} seconds (that of the database is ${skewMs > 0 ? 'ahead' : 'behind'}); have both set by NTP`;
  }

  /** What this node had claimed may belong to others, or be claimed no more. `why`: null = its epoch was ended by others. */
  async function beginAgain(why: string | null): Promise<void> {
    confirmedMs = Number.NEGATIVE_INFINITY;
    leases.loseAll();
    const askedMs = clock.monotonicMs();
    const [ended, isAlone] = [epoch, !isUnsure];
    epoch = await begin();
    newEpochs += 1;
    if (why === null) void tellWhyEnded(ended, epoch, isAlone);
    else log.warn({ epoch, ended }, why);
    confirmed(askedMs);
    begunAnew();
    again = true;
  }

  /** This node's leases: others may be about to take them. */
  function haveLapsed(): boolean {
    return clock.monotonicMs() - confirmedMs >= lapseMs;
  }

  function confirmed(atMs: number): void {
    confirmedMs = atMs;
    lapseTimer?.cancel();
    // Counted from before the heartbeat was stored, so from before anybody could see it.
    lapseTimer = clock.setTimer(Math.max(0, atMs + lapseMs - clock.monotonicMs()), () => {
      // After a pause of this process there may be no time left.
      const graceMs = Math.max(0, lapseMs + leaseMs / 5 - (clock.monotonicMs() - confirmedMs));
      leases.lapse(graceMs);
    });
  }

  async function takeBack(): Promise<void> {
    let rows = 0;
    for (let n = -1; n !== 0; rows += n) n = await store.reclaim({ now: clock.now(), limit: RECLAIM_ROWS });
    if (rows === 0) return;
    log.warn({ rows }, 'took back what nodes held that are gone');
    reclaimed();
  }
}
