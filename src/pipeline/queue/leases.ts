/**
 * The leases of this node, on what only one node may do. It asks for those that its users want and keeps them as long as
 * they do; those that other nodes wait for it passes on, until the numbers differ by one at most. The heartbeat renews
 * them (membership.ts), which says when they are lost.
 */
import type { Clock } from '../../lib/clock.ts';
import type { Heartbeat, NodeStore } from '../../store/topics/nodes.ts';
import type { OtherNodes } from './other-nodes.ts';

/** `asking`: not known yet · `held` by this node · `elsewhere`: by another node · `absent`: only for a node that is not running. */
export type LeaseState = 'asking' | 'held' | 'elsewhere' | 'absent';

/** A lease on something that only one node does. */
export interface Lease {
  state(): LeaseState;
  /** It is no longer needed. */
  end(): void;
}

/** The user of a lease. */
export interface LeaseListener {
  /**
   * The state changed. `graceMs`: when a lease is lost, everything begun under it must have ended by then; null: it is
   * passed to another node when that has ended.
   */
  changed(state: LeaseState, graceMs: number | null): void;
  /** Resolves when nothing that was begun under the lease goes on. A lease whose users cannot tell is never passed. */
  cleared?(): Promise<void>;
}

export interface Leases {
  /** Requests a lease from now on; the listener is called when it is known who has it. */
  want(name: string, listener: LeaseListener): Lease;
  /** Names of the leases held now. */
  held(): readonly string[];
  /** Some are wanted and not held. */
  areAwaited(): boolean;
  /** A heartbeat was answered. `heldThen`: those held when it was sent. */
  answered(answer: Alive, heldThen: readonly string[]): void;
  /** Asks for those that are wanted and not held. */
  ask(): Promise<void>;
  /** The epoch that had them has ended. */
  loseAll(): void;
  /** Others may take them after `graceMs`. */
  lapse(graceMs: number): void;
}

type Alive = Extract<Heartbeat, { kind: 'alive' }>;

interface Wanted {
  state: LeaseState;
  listeners: Set<LeaseListener>;
  /** It is not passed to another node before. */
  staysUntilMs: number;
}

/** A lease under which something took longer than `leaseMs` to end is not passed for this many times as long. */
const STAYS = 50;

export function createLeases(
  deps: {
    store: Pick<NodeStore, 'takeLeases' | 'passLease' | 'giveLeases'>;
    clock: Clock;
    others: Pick<OtherNodes, 'isAwake' | 'quietFor'>;
    epoch(): number;
    /** Others may be about to take the leases of this node. */
    haveLapsed(): boolean;
    /** Sends a heartbeat now, and asks. */
    lookSoon(): void;
    /** Awaited before new leases count as held. */
    refresh(got: readonly string[]): Promise<void>;
  },
  leaseMs: number,
): Leases {
  const { store, clock, others, epoch } = deps;
  const wanted = new Map<string, Wanted>();
  /** Leases that are being passed, by name: the epoch that gets each. */
  const passing = new Map<string, number>();

  return {
    want(name, listener) {
      const known = wanted.get(name) ?? { state: 'asking', listeners: new Set(), staysUntilMs: 0 };
      wanted.set(name, known);
      known.listeners.add(listener);
      if (known.state !== 'held') deps.lookSoon();
      return {
        state: () => (known.state === 'held' && deps.haveLapsed() ? 'asking' : known.state),
        end() {
          known.listeners.delete(listener);
          if (known.listeners.size > 0 || wanted.get(name) !== known) return;
          wanted.delete(name);
          // If this fails, the lease is released with the next heartbeat.
          if (known.state === 'held')
            store.giveLeases({ epoch: epoch(), names: [name] }).catch(() => undefined);
        },
      };
    },
    held,
    areAwaited: () => [...wanted.values()].some(({ state }) => state !== 'held'),
    answered(answer, heldThen) {
      compareHeld(answer.leases, new Set(heldThen));
      balance(answer);
    },
    ask,
    loseAll() {
      for (const name of wanted.keys()) set(name, 'asking', 0);
    },
    lapse(graceMs) {
      for (const [name, { state, listeners }] of wanted) {
        if (state === 'held') set(name, 'asking', graceMs);
        else if (passing.has(name)) for (const listener of listeners) listener.changed(state, graceMs);
      }
    },
  };

  function held(): string[] {
    return [...wanted].flatMap(([name, { state }]) => (state === 'held' ? [name] : []));
  }

  /**
   * Compares those held when the store was asked with its leases. A lease that this node got back counts as a new one, because
   * things may have changed.
   */
  function compareHeld(leases: readonly string[], heldThen: ReadonlySet<string>): void {
    const stored = new Set(leases);
    for (const name of held()) if (heldThen.has(name) && !stored.has(name)) set(name, 'asking', 0);
    // The user that asked for it has ended meanwhile.
    const unwanted = leases.filter((name) => !wanted.has(name));
    if (unwanted.length > 0) store.giveLeases({ epoch: epoch(), names: unwanted }).catch(() => undefined);
  }

  async function ask(): Promise<void> {
    const names = [...wanted].flatMap(([name, { state }]) =>
      state === 'held' || passing.has(name) ? [] : [name],
    );
    if (names.length === 0) return;
    const mine = epoch();
    const got = new Set(
      await store.takeLeases({ epoch: mine, names, quiet: others.quietFor(leaseMs), now: clock.now() }),
    );
    // What the former holder observed and stored applies from the first message on.
    if (got.size > 0) await deps.refresh([...got]);
    // Those of an epoch that was ended meanwhile.
    if (mine !== epoch()) return;
    for (const name of names) set(name, got.has(name) ? 'held' : 'elsewhere', 0);
  }

  /** Leases that other nodes wait for are passed to those that have fewer, until the numbers differ by one at most. */
  function balance({ others: living, leases, asked }: Alive): void {
    const numbers = new Map(living.map((other) => [other.epoch, other.leases]));
    for (const to of passing.values()) numbers.set(to, (numbers.get(to) ?? 0) + 1);
    let own = leases.length - passing.size;
    for (const { name, by } of asked) {
      const theirs = numbers.get(by) ?? own;
      const known = wanted.get(name);
      if (own - theirs < 2 || known?.state !== 'held' || clock.monotonicMs() < known.staysUntilMs) continue;
      if (!others.isAwake(by)) continue;
      const waits = [...known.listeners].flatMap(({ cleared }) => cleared ?? []);
      if (waits.length < known.listeners.size) continue;
      own -= 1;
      numbers.set(by, theirs + 1);
      passing.set(name, by);
      void pass(name, by, known, waits);
    }
  }

  /** Nothing begins under it any more, and when what runs has ended, the other node has it. */
  async function pass(
    name: string,
    to: number,
    known: Wanted,
    waits: readonly (() => Promise<void>)[],
  ): Promise<void> {
    const mine = epoch();
    set(name, 'elsewhere', null);
    const late = Promise.withResolvers<boolean>();
    const timer = clock.setTimer(leaseMs, () => late.resolve(false));
    const ended = Promise.all(waits.map((wait) => wait())).then(() => true);
    const mayGo = await Promise.race([ended, late.promise]);
    timer.cancel();
    if (!mayGo) known.staysUntilMs = clock.monotonicMs() + STAYS * leaseMs;
    // If this fails, the node keeps what it has.
    else await store.passLease({ epoch: mine, name, to, now: clock.now() }).catch(() => undefined);
    passing.delete(name);
    deps.lookSoon();
  }

  function set(name: string, state: LeaseState, graceMs: number | null): void {
    const known = wanted.get(name);
    if (known === undefined || known.state === state) return;
    known.state = state;
    for (const listener of known.listeners) listener.changed(state, graceMs);
  }
}
