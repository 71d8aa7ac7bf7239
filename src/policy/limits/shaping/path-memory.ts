/**
 * The stored state of each path, kept over a restart: how often it failed, how many connections it can use, and until
 * when it is blocked if the receiver asked for that. Our own pause ends with the process: after a restart a failed site
 * is tried with one message, because the operator has often just corrected the problem. Changes are written in the
 * background and loaded at the start.
 */
import { BoundedMap } from '../../../lib/bounded-map.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Logger } from '../../../lib/log.ts';
import { createWriteBehind } from '../../../lib/write-behind.ts';
import type { NodeLease } from '../../../model/node.ts';
import type { LimitStore, StoredPathChange, StoredPathState } from '../../../store/topics/limits.ts';
import { pathKey } from './types.ts';

export type PathState = Omit<StoredPathState, 'key' | 'updatedAt'>;

/** `updatedAt`: when this state was last confirmed, to an hour. */
export type RememberedPath = PathState & { updatedAt: number };

export interface PathMemory {
  /** Reads the stored states: before use, and again if other processes change them too. */
  load(): Promise<void>;
  /** The state of a path, or null. A block that has ended is left out. */
  recall(source: string, site: string): RememberedPath | null;
  /** Every path that is blocked now. */
  blocked(): readonly RememberedPath[];
  /** The path has changed. To be called for changes, not for each message. */
  remember(state: PathState): void;
  /** Stores what is not stored yet. */
  flush(): Promise<boolean>;
}

const MAX_PATHS = 20_000;
/** An unchanged path is stored again after this time, because its last success is used later. */
const SAID_AGAIN_MS = 3_600_000;

/** Empty until `load`. */
export function createPathMemory(deps: {
  store: Pick<LimitStore, 'putPathStates' | 'listPathStates' | 'addPathChanges'>;
  node: NodeLease;
  clock: Clock;
  log: Logger;
}): PathMemory {
  const { store, node, clock, log } = deps;
  const known = new BoundedMap<string, RememberedPath>(MAX_PATHS);
  /** Each is written once, together with what arrives meanwhile. */
  const changes = createWriteBehind<StoredPathChange>(
    clock,
    (list) => store.addPathChanges({ changes: list }),
    (err) => log.warn({ err }, 'the history of paths cannot be stored yet'),
  );
  let lastChange = 0;
  const behind = createWriteBehind<StoredPathState & { epoch: number }>(
    clock,
    (states) => store.putPathStates({ states }),
    (err) => log.warn({ err }, 'the state of paths cannot be stored yet'),
  );

  return {
    async load() {
      const now = clock.now();
      for (const { key, ...state } of await store.listPathStates({ limit: MAX_PATHS })) {
        // The state in this process is at least as new as what it stored.
        if ((known.get(key)?.updatedAt ?? -1) < Math.min(now, state.updatedAt))
          known.set(key, asRead(state, now));
      }
    },
    recall(source, site) {
      const state = known.get(pathKey(source, site));
      return state === undefined ? null : current(state);
    },
    blocked: () => [...known.values()].map(current).filter(({ blockedUntil }) => blockedUntil !== null),
    remember(state) {
      const key = pathKey(state.source, state.site);
      const before = known.get(key);
      const updatedAt = clock.now();
      if (before !== undefined && same(before, state) && updatedAt - before.updatedAt < SAID_AGAIN_MS) return;
      noteChange(before, state, updatedAt);
      known.set(key, { ...state, updatedAt });
      behind.put(key, { ...state, key, reason: state.reason.slice(0, 512), updatedAt, epoch: node.epoch });
    },
    async flush() {
      const done = await Promise.all([behind.flush(), changes.flush()]);
      return done.every(Boolean);
    },
  };

  /** One entry when a path closes and one when it opens again, however often it was tried meanwhile. */
  function noteChange(before: RememberedPath | undefined, state: PathState, at: number): void {
    const failed = (before?.failures ?? 0) > 0;
    if (failed === state.failures > 0) return;
    const { source, site } = state;
    const until = state.failures > 0 ? (state.blockedUntil ?? at) : null;
    const reason = until === null ? null : state.reason.slice(0, 512);
    lastChange += 1;
    changes.put(String(lastChange), { source, site, at, until, reason });
  }

  function current(state: RememberedPath): RememberedPath {
    if (state.blockedUntil === null || state.blockedUntil > clock.now()) return state;
    return { ...state, blockedUntil: null, reason: '' };
  }
}

/** A time in the future was written while the clock was wrong; the duration is right. */
function asRead(state: RememberedPath, now: number): RememberedPath {
  if (!state.asked || state.blockedUntil === null)
    return { ...state, blockedUntil: null, updatedAt: Math.min(now, state.updatedAt) };
  if (state.updatedAt <= now) return state;
  return { ...state, blockedUntil: now + (state.blockedUntil - state.updatedAt), updatedAt: now };
}

function same(a: PathState, b: PathState): boolean {
  return (
    a.blockedUntil === b.blockedUntil &&
    a.reason === b.reason &&
    a.failures === b.failures &&
    a.asked === b.asked &&
    a.fingerprint === b.fingerprint &&
    a.concurrency === b.concurrency &&
    a.day === b.day &&
    a.sent === b.sent &&
    a.sentBefore === b.sentBefore
  );
}
