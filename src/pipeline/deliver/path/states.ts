/**
 * The only owner of each path's state: whether mail may be sent on it, why not, and until when. Takes failures, leases
 * and overrides; answers the queue's gate from memory, also for sites without a `Path` object (stored, suspended).
 *
 *   closed ──trip──► open(until) ──time, tryNow──► half-open ──success──► closed
 *                       ▲                              │
 *                       └────────────trip──────────────┘   each time for longer
 *
 * These are the states of its circuit breaker, in which closed means working. A path is *blocked* while its breaker is
 * open, it is suspended (by an override that a reply or a person set), or another node sends. Every change is announced
 * once, when mail stops or may be sent again. Timers use the monotonic clock.
 */
import type { Clock, Timer } from '../../../lib/clock.ts';
import { pathReason, reasonSentence } from '../../../model/wait-reason.ts';
import type {
  PathMemory,
  PathState as Remembered,
  RememberedPath,
} from '../../../policy/limits/shaping/path-memory.ts';
import { type Override, type Overrides, pathKey, siteOfPath } from '../../../policy/limits/shaping/types.ts';
import type { KeptBack } from '../../queue/gate.ts';
import type { BreakerState } from './state.ts';

/** Why nothing is sent on a path now. */
export interface Block extends KeptBack {
  kind: 'breaker' | 'suspended' | 'lease' | 'no-node';
  /** The reason without the name of what it concerns. */
  why: string;
}

/** Measurements of a path that are stored with its state. */
export type Measures = Pick<Remembered, 'concurrency' | 'day' | 'sent' | 'sentBefore'>;

/** The state of one path. */
export interface PathState {
  readonly source: string;
  readonly site: string;
  /** null: mail may be sent, in half-open one message at a time. */
  blocked(): Block | null;
  breaker(): BreakerState;
  /** Consecutive failures. */
  failures(): number;
  /** The reason of the last failure; '' after a success. */
  reason(): string;
  /** The `cause` of the last failure; '' = it was before the start, or there was none since the last success. */
  cause(): string;
  /** It failed: nothing is sent until the given time. */
  trip(until: number, why: PathFailure): void;
  /** A final reply came. Returns true if that ended a failure. */
  succeeded(): boolean;
  /** Critical mail waits: the path is tried again one minute after it failed. */
  urgent(): void;
  /**
   * Only another node may send, which runs (`served`) or not. Checked again after a minute, in case no change is reported.
   */
  elsewhere(served: boolean): void;
  /** This node sends, or it is not known which one does. */
  notElsewhere(): void;
  /** What is stored of it, or null. What was observed of another route is left out. */
  recall(): RememberedPath | null;
  /** Stores the state and the measurements. */
  remember(): void;
  /** From now on its `Path` provides the measurements. */
  attach(measures: () => Measures): void;
  /** Its `Path` is no longer used. */
  detach(): void;
}

/** Why a breaker opens. */
interface PathFailure {
  /** Shown for all waiting mail. */
  reason: string;
  /** The name in `rule` of overrides. */
  cause: string;
  /** The receiver named the time; otherwise the pause is our own, and a restart ends it. */
  asked: boolean;
}

export interface PathStates {
  /** By `pathKey`. null: mail may be sent. */
  blocked(name: string): Block | null;
  /** Critical mail waits for it. */
  urgent(name: string): void;
  /**
   * The state of one path, loaded if stored, for the `Path` that uses it until `detach`. If the stored `fingerprint` of
   * its route differs from the given one, the stored state was that of another route and is dropped.
   */
  of(source: string, site: string, fingerprint?: string): PathState;
  /** The blocked ones. */
  list(): readonly PathState[];
  /** One message may test the path, whatever blocks it. Returns false if nothing does, or another node sends. */
  tryNow(name: string): boolean;
  /**
   * To be called for every change of overrides. `byHand`: a person ended it, which also ends other effects of the same
   * reply.
   */
  overrideChanged(override: Pick<Override, 'scope' | 'key' | 'param' | 'rule'>, byHand: boolean): void;
  /** Calls the listener with the name of a path whose route has changed: what was observed was about the old one. */
  onOutdated(listener: (name: string) => void): void;
  /** Calls the listener with the name of a path that is blocked or may be used again. */
  onChange(listener: (name: string) => void): void;
  stop(): void;
}

interface Entry {
  name: string;
  source: string;
  site: string;
  blocked: Block | null;
  /** Nothing is sent until then; null = it has not failed, or its time is over. */
  until: number | null;
  /** The same on the monotonic clock, so that setting the wall clock changes nothing. */
  untilMs: number;
  /** When it failed. */
  failedAt: number;
  failures: number;
  reason: string;
  cause: string;
  asked: boolean;
  fingerprint: string;
  halfOpen: boolean;
  elsewhereUntilMs: number | null;
  /** The node that may send runs. */
  served: boolean;
  timer: Timer | null;
  measures: () => Measures;
  attached: boolean;
}

/** Critical mail tests a blocked path at the latest after this time. */
const CRITICAL_PROBE_MS = 60_000;
const ELSEWHERE_MS = 60_000;
/** A suspension ends by the wall clock, which may be set, so it is checked this often. */
const SUSPENDED_LOOK_MS = 60_000;
export const ELSEWHERE = 'another node sends from this source to this site';
const NO_NODE = 'the node that sends from this source is not running';
const MAX_REASON = 512;

export function createPathStates(deps: {
  clock: Clock;
  memory: Pick<PathMemory, 'recall' | 'remember' | 'blocked'>;
  overrides: Pick<Overrides, 'suspended'> & { list(): readonly Override[] };
}): PathStates {
  const { clock, memory, overrides } = deps;
  const entries = new Map<string, Entry>();
  let changed: (name: string) => void = () => {};
  let outdated: (name: string) => void = () => {};

  for (const { source, site } of memory.blocked()) update(entryOf(source, site));
  for (const { scope, key, param } of overrides.list())
    if (scope === 'path' && param === 'suspended') update(namedEntry(key));

  return {
    blocked: (name) => entries.get(name)?.blocked ?? null,
    urgent(name) {
      const entry = entries.get(name);
      if (entry !== undefined) urgent(entry);
    },
    of(source, site, fingerprint = '') {
      const entry = entryOf(source, site);
      entry.attached = true;
      const { fingerprint: before } = entry;
      entry.fingerprint = fingerprint;
      if (!isSameRoute(before, fingerprint)) {
        entry.failures = 0;
        entry.until = null;
        entry.halfOpen = false;
        entry.reason = '';
        outdated(entry.name);
        update(entry);
      }
      return viewOf(entry);
    },
    list: () => [...entries.values()].filter(({ blocked }) => blocked !== null).map(viewOf),
    tryNow(name) {
      const entry = entries.get(name);
      if (entry === undefined) return false;
      const was = entry.blocked;
      endPause(entry);
      return was !== null && entry.blocked === null;
    },
    overrideChanged({ scope, key, param, rule }, byHand) {
      if (scope !== 'path') return;
      if (param !== 'suspended' && !entries.has(key)) return;
      const entry = namedEntry(key);
      if (byHand && (param === 'suspended' || entry.cause === rule)) endPause(entry);
      else update(entry);
    },
    onOutdated(listener) {
      outdated = listener;
    },
    onChange(listener) {
      changed = listener;
    },
    stop() {
      for (const { timer } of entries.values()) timer?.cancel();
    },
  };

  function viewOf(entry: Entry): PathState {
    return {
      source: entry.source,
      site: entry.site,
      blocked: () => entry.blocked,
      breaker(): BreakerState {
        const { until, failures, halfOpen } = entry;
        if (until !== null) return { kind: 'open', until, failures };
        return halfOpen ? { kind: 'half-open', failures } : { kind: 'closed' };
      },
      failures: () => entry.failures,
      reason: () => entry.reason,
      cause: () => entry.cause,
      trip(until, { reason, cause, asked }) {
        entry.failures += 1;
        entry.failedAt = clock.now();
        entry.reason = reason.slice(0, MAX_REASON);
        entry.cause = cause;
        entry.asked = asked;
        entry.halfOpen = false;
        setUntil(entry, until);
        remember(entry);
        update(entry);
      },
      succeeded() {
        if (entry.until !== null) {
          // The message was sent before the path failed: the pause remains, but was not one of several in a row.
          entry.failures = Math.min(1, entry.failures);
          return false;
        }
        if (!entry.halfOpen && entry.failures === 0) return false;
        entry.halfOpen = false;
        entry.failures = 0;
        entry.reason = '';
        entry.cause = '';
        remember(entry);
        return true;
      },
      urgent: () => urgent(entry),
      elsewhere(served) {
        entry.served = served;
        entry.elsewhereUntilMs = clock.monotonicMs() + ELSEWHERE_MS;
        // Whether the path works again is found out by the node that sends.
        endPause(entry);
      },
      notElsewhere() {
        entry.elsewhereUntilMs = null;
        update(entry);
      },
      recall() {
        const recalled = memory.recall(entry.source, entry.site);
        return recalled !== null && isSameRoute(recalled.fingerprint, entry.fingerprint) ? recalled : null;
      },
      remember: () => remember(entry),
      attach(measures) {
        entry.measures = measures;
      },
      detach() {
        const last = entry.measures();
        entry.attached = false;
        entry.measures = () => last;
        forget(entry);
      },
    };
  }

  // ── the entries ────────────────────────────────────────────────────────────────────────────────────────

  function namedEntry(name: string): Entry {
    const cut = name.indexOf('>');
    return entryOf(name.slice(0, Math.max(0, cut)), siteOfPath(name));
  }

  function entryOf(source: string, site: string): Entry {
    const name = pathKey(source, site);
    const known = entries.get(name);
    if (known !== undefined) return known;
    const recalled = memory.recall(source, site);
    const { concurrency = 1, day = 0, sent = 0, sentBefore = 0 } = recalled ?? {};
    const entry: Entry = {
      ...{ name, source, site, blocked: null, until: null, untilMs: 0, failedAt: clock.now() },
      failures: recalled?.failures ?? 0,
      reason: reasonSentence(recalled?.reason ?? ''),
      cause: '',
      asked: recalled?.asked ?? false,
      fingerprint: recalled?.fingerprint ?? '',
      // It failed last: one message tests it.
      halfOpen: (recalled?.failures ?? 0) > 0,
      ...{ elsewhereUntilMs: null, served: true, timer: null, attached: false },
      measures: () => ({ concurrency, day, sent, sentBefore }),
    };
    entries.set(name, entry);
    if (recalled !== null && recalled.blockedUntil !== null) {
      entry.halfOpen = false;
      setUntil(entry, recalled.blockedUntil);
    }
    return entry;
  }

  function forget(entry: Entry): void {
    if (entry.attached || entry.blocked !== null) return;
    entry.timer?.cancel();
    entries.delete(entry.name);
  }

  function remember({ source, site, until, reason, failures, asked, fingerprint, measures }: Entry): void {
    const state = { source, site, blockedUntil: until, reason, failures, asked, fingerprint };
    memory.remember({ ...state, ...measures() });
  }

  // ── what follows from them ────────────────────────────────────────────────────────────────────────────────

  function setUntil(entry: Entry, until: number): void {
    entry.until = until;
    entry.untilMs = clock.monotonicMs() + (until - clock.now());
  }

  function endPause(entry: Entry): void {
    if (entry.until !== null) {
      entry.until = null;
      entry.halfOpen = true;
    }
    update(entry);
  }

  function urgent(entry: Entry): void {
    const { until } = entry;
    if (entry.blocked?.kind !== 'breaker' || until === null) return;
    const at = Math.max(clock.now(), entry.failedAt + CRITICAL_PROBE_MS);
    if (at >= until) return;
    // The same pause ends earlier.
    setUntil(entry, at);
    update(entry);
  }

  function update(entry: Entry): void {
    const nowMs = clock.monotonicMs();
    if (entry.until !== null && entry.untilMs <= nowMs) {
      entry.until = null;
      entry.halfOpen = true;
    }
    if (entry.elsewhereUntilMs !== null && entry.elsewhereUntilMs <= nowMs) entry.elsewhereUntilMs = null;
    const was = entry.blocked;
    entry.blocked = blockNow(entry);
    watch(entry, nowMs);
    if ((was === null) === (entry.blocked === null)) return;
    changed(entry.name);
    forget(entry);
  }

  function blockNow({ name, site, until, reason, elsewhereUntilMs, served }: Entry): Block | null {
    const suspended = overrides.suspended('path', name);
    if (suspended !== null)
      return block('suspended', suspended.until, `${site} is suspended: `, suspended.why);
    if (elsewhereUntilMs !== null)
      return served ? block('lease', null, '', ELSEWHERE) : block('no-node', null, '', NO_NODE);
    return until === null ? null : block('breaker', until, '', reason);
  }

  /** Sets the timer for the first reason that ends. */
  function watch(entry: Entry, nowMs: number): void {
    entry.timer?.cancel();
    entry.timer = null;
    const { blocked, until, untilMs, elsewhereUntilMs } = entry;
    if (blocked === null) return;
    const ends: number[] = [];
    if (blocked.kind === 'suspended' && blocked.until !== null)
      ends.push(Math.min(blocked.until - clock.now(), SUSPENDED_LOOK_MS));
    if (until !== null) ends.push(untilMs - nowMs);
    if (elsewhereUntilMs !== null) ends.push(elsewhereUntilMs - nowMs);
    entry.timer = clock.setTimer(Math.max(0, Math.min(...ends)), () => update(entry));
  }
}

/** An empty fingerprint is not known. */
function isSameRoute(before: string, now: string): boolean {
  return before === '' || now === '' || before === now;
}

function block(kind: Block['kind'], until: number | null, about: string, why: string): Block {
  return { kind, until, why, reason: pathReason(`${about}${why}`) };
}
